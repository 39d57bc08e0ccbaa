# Error statistics of arrays: of two, and of scaled codes.
cdef seen_t no_elements() noexcept nogil:
    cdef seen_t seen
    memset(&seen, 0, sizeof(seen_t))
    seen.low = <float>INFINITY
    seen.high = -<float>INFINITY
    return seen


cdef tuple as_tuple(seen_t seen):
    cdef double signal = 0, noise = 0
    cdef int j
    for j in range(17):
        signal += seen.signal[j]
        noise += seen.noise[j]
    return (seen.low, seen.high, seen.error, seen.ratio, seen.flushed, seen.nan, seen.inf, signal, noise)


def compare(const float[::1] x, const float[::1] y):
    """Return the error statistics of float32 values `x` that became `y`.

    Low and high of the finite values; the largest error and relative error; how many became zero, are NaN, are Inf; the
    sums of squares of the finite values and of their errors.
    """
    cdef seen_t seen = no_elements()
    cdef lp_mode mode
    if x.shape[0] != y.shape[0] or x.shape[0] == 0 or x.shape[0] > 0x7fffffff:
        raise ValueError(f"`x` and `y` must have as many elements, from 1 to 2**31 - 1; got {x.shape[0]}, {y.shape[0]}")
    cdef Py_ssize_t n = x.shape[0]
    cdef const float *a = &x[0]
    cdef const float *b = &y[0]
    cdef bytearray first, second
    if not fits(a, 32):
        first = PyByteArray_FromStringAndSize(<const char *>a, n * sizeof(float))
        a = <const float *>PyByteArray_AS_STRING(first)
    if not fits(b, 32):
        second = PyByteArray_FromStringAndSize(<const char *>b, n * sizeof(float))
        b = <const float *>PyByteArray_AS_STRING(second)
    with nogil:
        mode = lp_mode_enter()
        compare_in_use(a, b, n, NULL, 0, 0, &seen)
        lp_mode_leave(mode)
    return as_tuple(seen)


def run_compared(
    Program load, Program program not None, Program back not None, const uint8_t[::1] src, uint8_t[::1] dst,
    Py_ssize_t n,
):
    """Convert `n` elements as `run` does on one thread, decode them again, and return what `compare` does.

    `load` makes float32 values of the source, None where it holds them; `back` makes them of the result.
    """
    cdef seen_t seen = no_elements()
    cdef lp_mode mode
    cdef const uint8_t *s
    cdef uint8_t *d
    cdef int src_bits = program.steps.src_bits
    cdef int dst_bits = program.steps.dst_bits
    cdef const steps_t *before = NULL
    if n < 1 or n > 0x7fffffff or src.shape[0] < (n * src_bits + 7) // 8 or dst.shape[0] < (n * dst_bits + 7) // 8:
        raise ValueError(f"`src` and `dst` must hold {n} elements; got {src.shape[0]} and {dst.shape[0]} bytes")
    if load is None and src_bits != 32 \
            or load is not None and (load.steps.src_bits != src_bits or load.steps.dst_bits != 32) \
            or back.steps.src_bits != dst_bits or back.steps.dst_bits != 32:
        raise ValueError("the programs must fit each other")
    for each in (load, program, back):
        if each is not None:
            check_operands(each, None)
    s = &src[0]
    d = &dst[0]
    if load is not None:
        before = &load.steps
    with nogil:
        mode = lp_mode_enter()
        convert_and_compare(before, &program.steps, &back.steps, s, d, n, &seen)
        lp_mode_leave(mode)
    return as_tuple(seen)


cdef void convert_and_compare(
    const steps_t *load, const steps_t *steps, const steps_t *back, const uint8_t *s, uint8_t *d, Py_ssize_t n,
    seen_t *seen,
) noexcept nogil:
    cdef tiles_t *tiles = thread_tiles()
    cdef bint s_fits = fits(s, steps.src_bits)
    cdef bint d_fits = fits(d, steps.dst_bits)
    cdef const float *x
    cdef const uint8_t *here
    cdef uint8_t *there
    cdef remaining_t remaining, none
    cdef Py_ssize_t tile, start, count
    none.src = none.dst = 0
    for tile in range((n + COMPARED - 1) // COMPARED):
        start = tile * COMPARED
        count = min(<Py_ssize_t>COMPARED, n - start)
        here = s + start * steps.src_bits // 8
        there = d + start * steps.dst_bits // 8
        remaining.src = n - start - count if s_fits else 0
        remaining.dst = n - start - count if d_fits else 0
        if not s_fits:  # up to 32 bits each
            memcpy(tiles.gathered, here, count * steps.src_bits // 8)
            here = <const uint8_t *>tiles.gathered
        if not d_fits:
            there = <uint8_t *>tiles.converted
        run_tiles(steps, here, there, 0, count, remaining, NULL)
        if not d_fits:
            memcpy(d + start * steps.dst_bits // 8, there, count * steps.dst_bits // 8)
        x = <const float *>here
        if load != NULL:
            x = tiles.values
            run_tiles(load, here, <uint8_t *>tiles.values, 0, count, none, NULL)
        run_tiles(back, there, <uint8_t *>tiles.again, 0, count, none, NULL)
        compare_in_use(x, tiles.again, count, NULL, 0, 0, seen)


# The entry point of the error statistics of codes that have scales.
def compare_scaled(
    Program load, Program back not None, const uint8_t[::1] src, const uint8_t[::1] codes, Py_ssize_t n,
    Operands operands not None, float low, float high,
):
    """Return the error statistics of `n` elements of `src` that became `codes`, on one thread.

    `load` makes float32 values of the source, None where it holds them; `back` makes them of codes and float32 scales.
    The tuple is what `compare` returns; the number after it counts elements whose finite quotient by the scale lies
    below `low` or above `high`, with `low` <= 0 <= `high`.
    """
    cdef seen_t seen = no_elements()
    cdef lp_mode mode
    cdef const steps_t *before = NULL
    cdef int src_bits = 32 if load is None else load.steps.src_bits
    cdef int bits = back.steps.src_bits
    if n < 1 or n > 0x7fffffff or src.shape[0] < (n * src_bits + 7) // 8 or codes.shape[0] < (n * bits + 7) // 8:
        raise ValueError(f"`src` and `codes` must hold {n} elements; got {src.shape[0]} and {codes.shape[0]} bytes")
    if load is not None and load.steps.dst_bits != 32 or back.steps.dst_bits != 32 or operands.view.scale_item != 4:
        raise ValueError("the programs and the scales must fit each other")
    if not low <= 0 <= high:
        raise ValueError(f"`low` and `high` must be a range that holds 0; got {low} and {high}")
    check_operands(back, operands)
    if load is not None:
        check_operands(load, None)
        before = &load.steps
    with nogil:
        mode = lp_mode_enter()
        compare_tiles(before, &back.steps, &src[0], &codes[0], n, &operands.view, low, high, &seen)
        lp_mode_leave(mode)
    return as_tuple(seen), seen.saturated


cdef const uint8_t *tile_of(
    const uint8_t *memory, Py_ssize_t start, Py_ssize_t count, int bits, uint64_t *tile,
) noexcept nogil:
    # Elements at the alignment of their C type: where they are, or copied to a tile.
    memory += start * bits // 8
    if fits(memory, bits):
        return memory
    memcpy(tile, memory, count * bits // 8)
    return <const uint8_t *>tile


cdef void compare_tiles(
    const steps_t *load, const steps_t *back, const uint8_t *src, const uint8_t *codes, Py_ssize_t n,
    const operands_t *operands, float low, float high, seen_t *seen,
) noexcept nogil:
    cdef tiles_t *tiles = thread_tiles()
    cdef bint runs = reads_runs(back)
    cdef int src_bits = 32 if load == NULL else load.src_bits
    cdef const uint8_t *here
    cdef const float *x
    cdef scales_t scales
    cdef place_t at
    cdef remaining_t none
    cdef Py_ssize_t tile, start, count
    none.src = none.dst = 0
    for tile in range((n + TILE - 1) // TILE):
        start = tile * TILE
        count = min(<Py_ssize_t>TILE, n - start)
        at = place_of(operands, start)
        scales = locate_scales(operands, &at, count, runs, tiles)
        here = tile_of(src, start, count, src_bits, tiles.gathered)
        x = <const float *>here
        if load != NULL:
            x = tiles.values
            run_loops(load, here, tiles.values, 0, count, none, NULL, tiles)
        here = tile_of(codes, start, count, back.src_bits, tiles.converted)
        if back.fused != NO_LOOP and not back.multiplies:
            scales.zero = scales.zero if operands.zero != NULL else NULL
            fused_scale_loops[scales.mode][back.fused](here, tiles.again, count, none, &scales, &back.params)
        else:
            run_loops(back, here, tiles.again, 0, count, none, &scales, tiles)
        compare_in_use(x, tiles.again, count, &scales, low, high, seen)
