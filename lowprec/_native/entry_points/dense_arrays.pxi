# Running a program on dense memory, in chunks over threads. Whether its loops prefetch: not in the cache, where that is
# only work; beyond, as the first large conversion by the program, into pages that are there, finds faster. New pages
# come by the cache.

cdef extern from "memory_speed.h" nogil:
    Py_ssize_t lp_l2_size() noexcept
    int64_t lp_nanoseconds() noexcept

cdef enum:
    MEASURED_PAIRS = 8        # of chunks, with and without
    MEASURED_BYTES = 1 << 25  # of a conversion, at both ends together, from which it is measured
    LONG_ROW = 512            # elements beyond which what is prefetched lies in the same row
    HELD = 1024               # elements up to which the lock of the interpreter is kept: to let go of it takes longer

cdef int last_measured = NOT_MEASURED
cdef Py_ssize_t cached_bytes = 4 * lp_l2_size()  # up to here nothing is prefetched: the next cache is near enough

cdef Py_ssize_t measure_prefetch(
    const steps_t *steps, const uint8_t *s, uint8_t *d, const operands_t *operands, int *gain,
) noexcept nogil:
    # Convert the first chunks in turn with and without; return how many elements they had. The least times are
    # compared. A conversion that is in the cache by chance must not switch it off.
    global last_measured
    cdef int64_t least[2]
    cdef int64_t start
    cdef Py_ssize_t first = 0
    cdef int pair, half, on
    least[0] = least[1] = (<int64_t>1) << 62
    for pair in range(MEASURED_PAIRS):
        for half in range(2):
            on = (pair + half) % 2
            start = lp_nanoseconds()
            run_chunk(steps, s, d, first, CHUNK, first + CHUNK, operands, on, False)
            least[on] = min(least[on], lp_nanoseconds() - start)
            first += CHUNK
    gain[0] = last_measured = GAINS if least[1] < least[0] + least[0] // 32 else LOSES
    return first


def prefetch() -> bool | None:
    """Return whether the last program that was measured prefetches; None before the first large conversion."""
    return None if last_measured == NOT_MEASURED else last_measured == GAINS


def prefetch_from(Py_ssize_t nbytes) -> int:
    """Prefetch in conversions that read and write more than so many bytes; return what it was before."""
    global cached_bytes
    cdef Py_ssize_t before = cached_bytes
    cached_bytes = nbytes
    return before


cdef int run_dense(
    Program program, const uint8_t *s, uint8_t *d, Py_ssize_t n, Operands operands, int n_threads,
) except -1:
    cdef Py_ssize_t size, chunks, chunk, start, nbytes, columns
    cdef Py_ssize_t done = 0
    cdef int *gain
    cdef bint prefetches
    cdef bint streams
    cdef const steps_t *steps = &program.steps
    cdef const operands_t *view = NULL
    cdef layout_t src_layout, dst_layout
    check_operands(program, operands)
    if n == 0:
        return 0
    if operands is not None:
        if program.takes_reciprocals:
            operands.compute_reciprocals(n)
        view = &operands.view
    if not (fits(s, steps.src_bits) and fits(d, steps.dst_bits)):
        set_dense_layout(&src_layout, s, n, steps.src_bits)
        set_dense_layout(&dst_layout, d, n, steps.dst_bits)
        with nogil:
            run_layouts(steps, &src_layout, &dst_layout, n, view, n_threads)
        return 0
    if n <= HELD:
        run_chunk(steps, s, d, 0, n, n, view, False, False)
        return 0
    nbytes = n * (steps.src_bits + steps.dst_bits) // 8
    if program.isa is not isa_in_use:
        program.isa = isa_in_use
        memset(program.gains, NOT_MEASURED, sizeof(program.gains))
    columns = columns_of(steps, view, n)
    gain = &program.gains[0 if columns == 0 else 1 if columns <= LONG_ROW else 2]
    prefetches = nbytes > cached_bytes and gain[0] != LOSES
    streams = streams_output(steps, view, d, n)
    size = chunk_size(n, n_threads)
    with nogil:
        if gain[0] == NOT_MEASURED and nbytes >= MEASURED_BYTES and not steps.is_random and lp_has_pages(
            d, n * steps.dst_bits // 8
        ):  # a program with random numbers is made for its call
            done = measure_prefetch(steps, s, d, view, gain)
            prefetches = gain[0] == GAINS
        if size >= n:  # nothing to share: waking the others would take longer than the work
            run_chunk(steps, s, d, done, n - done, n, view, prefetches, streams)
        else:
            chunks = (n - done + size - 1) // size
            for chunk in prange(chunks, schedule="static", num_threads=min(n_threads, chunks)):
                start = done + chunk * size
                run_chunk(steps, s, d, start, min(size, n - start), n, view, prefetches, streams)
    return 0
