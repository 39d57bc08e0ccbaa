# Running a program on one chunk: loop after loop, a tile at a time.

cdef struct steps_t:
    # A program as C reads it: its loops in order, their parameters, the widths at both ends.
    int count
    int loops[MAX_STEPS]
    int src_bits
    int dst_bits
    params_t params


cdef inline bint one_scale(const operands_t *operands) noexcept nogil:
    return operands == NULL or operands.length == 1 and operands.outer_step == 0


cdef void run_tiles(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, remaining_t remaining,
    const operands_t *operands,
) noexcept nogil:
    # A single loop runs over all elements at once; several run tile by tile, through two that stay in the L1 cache.
    # `first` is the index of the first element in the whole array, `remaining` counts what follows in memory.
    cdef tiles_t *tiles
    cdef scales_t scales
    cdef remaining_t after
    cdef const void *source
    cdef void *target
    cdef Py_ssize_t start, count
    cdef Py_ssize_t step = TILE
    cdef int i, loop
    if steps.count == 1 and one_scale(operands):
        step = n  # no scales have to be copied to a tile
        tiles = NULL
    else:
        tiles = thread_tiles()
    cdef bint runs = True
    for i in range(steps.count):
        if steps.loops[i] >= MAX_LOOPS and scale_loops[SCALE_RUNS][steps.loops[i] - MAX_LOOPS] == NULL:
            runs = False
    start = 0
    while start < n:
        count = min(step, n - start)
        source = src + start * steps.src_bits // 8
        if operands != NULL:
            scales = locate_scales(operands, first + start, count, runs, tiles)
        for i in range(steps.count):
            after.src = n - start - count + remaining.src if i == 0 else 0
            if i == steps.count - 1:
                target = dst + start * steps.dst_bits // 8
                after.dst = n - start - count + remaining.dst
            else:
                target = <void *>tiles.even if i % 2 == 0 else <void *>tiles.odd
                after.dst = 0
            loop = steps.loops[i] - MAX_LOOPS
            if loop < 0:
                loops[steps.loops[i]](source, target, count, after, &steps.params)
            else:
                scale_loops[scales.mode][loop](source, target, count, after, &scales, &steps.params)
            source = target
        start += count


cdef void run_chunk(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, Py_ssize_t whole,
    const operands_t *operands,
) noexcept nogil:
    cdef lp_mode mode = lp_mode_enter()
    cdef remaining_t remaining
    remaining.src = remaining.dst = whole - first - n
    src += first * steps.src_bits // 8
    dst += first * steps.dst_bits // 8
    run_tiles(steps, src, dst, first, n, remaining, operands)
    lp_mode_leave(mode)


cdef inline Py_ssize_t chunk_size(Py_ssize_t n, int n_threads) noexcept nogil:
    # Whole tiles, and every thread gets a share of an array that is smaller than a chunk for each; one thread gets all.
    cdef Py_ssize_t share = (n + n_threads - 1) // n_threads
    if n_threads <= 1:
        return n
    return min(<Py_ssize_t>CHUNK, (share + TILE - 1) // TILE * TILE)
