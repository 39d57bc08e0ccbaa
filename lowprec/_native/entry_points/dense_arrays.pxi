# Running a program on dense memory, in chunks over threads. How it is read and written is measured by the first large
# conversions by the program, into pages that are there: new pages come by the cache. Whether loops prefetch, on chunks;
# whether the output is stored past the caches, on whole calls, since until they are full caches hide what is written.

cdef extern from "memory_speed.h" nogil:
    Py_ssize_t lp_l2_size() noexcept
    int64_t lp_nanoseconds() noexcept

cdef enum:
    MEASURED_PAIRS = 8        # of chunks, with and without
    MEASURED_CALLS = 3        # in each way: in one alone, by what else the machine does, the slower one may win
    TRIED_AGAIN = 32          # calls after which one goes the other way
    MEASURED_BYTES = 1 << 25  # of a conversion, at both ends together, from which it is measured
    LONG_ROW = 512            # elements beyond which what is prefetched lies in the same row
    HELD = 1024               # elements up to which the lock of the interpreter is kept: to let go of it takes longer

cdef int last_vote = 0
cdef Py_ssize_t cached_bytes = 4 * lp_l2_size()  # up to here nothing is prefetched: the next cache is near enough

cdef Py_ssize_t measure_prefetch(
    const steps_t *steps, const uint8_t *s, uint8_t *d, const operands_t *operands, gain_t *gain,
) noexcept nogil:
    # Convert the first chunks in turn with and without; return how many elements they had. The medians are compared: a
    # chunk that is in the cache by chance, or one during which the machine did something else, decides nothing.
    global last_vote
    cdef int64_t[2][MEASURED_PAIRS] times  # in their order
    cdef int64_t time
    cdef Py_ssize_t first = 0
    cdef int pair, half, on, at
    for pair in range(MEASURED_PAIRS):
        for half in range(2):
            on = (pair + half) % 2
            time = lp_nanoseconds()
            run_chunk(steps, s, d, first, CHUNK, first + CHUNK, operands, on, False)
            time = lp_nanoseconds() - time
            at = pair
            while at > 0 and times[on][at - 1] > time:
                times[on][at] = times[on][at - 1]
                at -= 1
            times[on][at] = time
            first += CHUNK
    time = times[0][MEASURED_PAIRS // 2]
    last_vote = 1 if times[1][MEASURED_PAIRS // 2] < time + time // 32 else -1
    gain.votes += last_vote
    gain.times += 1
    return first


cdef gain_t *gain_of(Program program, const operands_t *operands, Py_ssize_t n, int n_threads) except NULL:
    cdef tuple key = (isa_in_use, n_threads)
    cdef object memory = program.gains.get(key)
    cdef Py_ssize_t columns = columns_of(&program.steps, operands, n)
    cdef int place = 0
    if memory is None:
        memory = program.gains[key] = bytearray(GAINS * sizeof(gain_t))
    if columns > 0:
        place = 2 if columns <= LONG_ROW else 3
    elif operands != NULL and operands.inner == 1 and operands.block > 1:
        place = 1
    if operands != NULL and operands.zero != NULL:
        place += GAINS // 2
    return <gain_t *>PyByteArray_AS_STRING(memory) + place


cdef bint streams_next(const steps_t *steps, const operands_t *operands, const gain_t *gain) noexcept nogil:
    # Whether the next call streams its output: some do that gains likely, then some do the other, then what took less;
    # now and then the other again, since what was measured beside other work may be wrong.
    cdef bint likely = steps.src_bits >= 16 and steps.dst_bits >= 2 * steps.src_bits and operands == NULL
    if gain.calls < 2 * MEASURED_CALLS:
        return likely == (gain.calls < MEASURED_CALLS)
    return (gain.least[1] < gain.least[0] - gain.least[0] // 32) != (gain.calls % TRIED_AGAIN == 0)


cdef void keep_time(gain_t *gain, bint streams, int64_t time, Py_ssize_t n) noexcept nogil:
    time = <int64_t>(time * (1048576.0 / n))
    if gain.calls in (0, MEASURED_CALLS) or time < gain.least[streams]:
        gain.least[streams] = time
    gain.calls += 1


def prefetch() -> bool | None:
    """Return whether the last program that was measured prefetches; None before the first large conversion."""
    return None if last_vote == 0 else last_vote > 0


def prefetch_from(Py_ssize_t nbytes) -> int:
    """Prefetch in conversions that read and write more than so many bytes; return what it was before."""
    global cached_bytes
    cdef Py_ssize_t before = cached_bytes
    cached_bytes = nbytes
    return before


cdef int run_dense(
    Program program, const steps_t *steps, const uint8_t *s, uint8_t *d, Py_ssize_t n, Operands operands,
    int n_threads,
) except -1:
    # `steps` are those of the program, perhaps with a seed.
    cdef Py_ssize_t size, chunks, chunk, start, nbytes
    cdef Py_ssize_t done = 0
    cdef gain_t *gain = NULL
    cdef bint prefetches, streams, streamable
    cdef int64_t time
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
    prefetches = nbytes > cached_bytes
    streams = streamable = may_stream(steps, d, n)
    if prefetches or streamable:
        gain = gain_of(program, view, n, n_threads)
    size = chunk_size(n, n_threads)
    with nogil:
        if prefetches and gain.times < MEASURED_CALLS and nbytes >= MEASURED_BYTES and lp_has_pages(
            d, n * steps.dst_bits // 8
        ):
            done = measure_prefetch(steps, s, d, view, gain)
        if streamable and streamed_from > 0:
            streams = streams_next(steps, view, gain)
        prefetches = prefetches and (streams or gain.votes >= 0)
        time = lp_nanoseconds()
        if size >= n:  # nothing to share: waking the others would take longer than the work
            run_chunk(steps, s, d, done, n - done, n, view, prefetches, streams)
        else:
            chunks = (n - done + size - 1) // size
            for chunk in prange(chunks, schedule="static", num_threads=min(n_threads, chunks)):
                start = done + chunk * size
                run_chunk(steps, s, d, start, min(size, n - start), n, view, prefetches, streams)
        if streamable and streamed_from > 0:
            keep_time(gain, streams, lp_nanoseconds() - time, n - done)
    return 0
