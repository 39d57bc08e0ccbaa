# The entry points of the error statistics: of values and what became of them, or of a conversion as it runs.

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
