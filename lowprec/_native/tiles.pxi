# One chunk through the loops of a conversion, a tile at a time where there are several.

cdef struct steps_t:
    # The loops in order, their numbers, and the widths at both ends.
    int count
    int loops[MAX_STAGES]
    int src_bits
    int dst_bits
    params_t params


cdef inline bint one_scale(const operands_t *operands) noexcept nogil:
    return operands == NULL or operands.length == 1 and operands.outer_step == 0


cdef void run_tiles(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, rest_t rest,
    const operands_t *operands,
) noexcept nogil:
    # One loop runs straight through; several run tile by tile through two buffers that stay in the L1 cache. `first`
    # is the number of the first element in the whole array, `rest` counts what stands in memory behind these.
    cdef tiles_t *tiles
    cdef beside_t found
    cdef rest_t after
    cdef const void *here
    cdef void *there
    cdef Py_ssize_t start, count
    cdef Py_ssize_t step = TILE
    cdef int i, loop
    if steps.count == 1 and one_scale(operands):
        step = n  # nothing has to be spread over a tile
        tiles = NULL
    else:
        tiles = own_tiles()
    cdef bint runs = True
    for i in range(steps.count):
        if steps.loops[i] >= MAX_LOOPS and linear[RUNS][steps.loops[i] - MAX_LOOPS] == NULL:
            runs = False
    start = 0
    while start < n:
        count = min(step, n - start)
        here = src + start * steps.src_bits // 8
        if operands != NULL:
            found = beside(operands, first + start, count, runs, tiles)
        for i in range(steps.count):
            after.src = n - start - count + rest.src if i == 0 else 0
            if i == steps.count - 1:
                there = dst + start * steps.dst_bits // 8
                after.dst = n - start - count + rest.dst
            else:
                there = <void *>tiles.even if i % 2 == 0 else <void *>tiles.odd
                after.dst = 0
            loop = steps.loops[i] - MAX_LOOPS
            if loop < 0:
                loops[steps.loops[i]](here, there, count, after, &steps.params)
            else:
                linear[found.way][loop](here, there, count, after, &found, &steps.params)
            here = there
        start += count


cdef void run_chunk(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, Py_ssize_t whole,
    const operands_t *operands,
) noexcept nogil:
    cdef lp_mode mode = lp_mode_enter()
    cdef rest_t rest
    rest.src = rest.dst = whole - first - n
    src += first * steps.src_bits // 8
    dst += first * steps.dst_bits // 8
    run_tiles(steps, src, dst, first, n, rest, operands)
    lp_mode_leave(mode)


cdef inline Py_ssize_t chunk_size(Py_ssize_t n, int n_threads) noexcept nogil:
    # Whole tiles, and every thread gets a share of an array that is smaller than a chunk for each; one thread gets all.
    cdef Py_ssize_t share = (n + n_threads - 1) // n_threads
    if n_threads <= 1:
        return n
    return min(<Py_ssize_t>CHUNK, (share + TILE - 1) // TILE * TILE)
