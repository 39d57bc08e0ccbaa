# Outputs that are larger than all caches: elements are stored past these, and no line is read that will be overwritten.
#
# It pays where writing is most of the traffic and the loop does little else: from 16 bits or more to twice as many or
# more. Loops of 8-bit elements compute too long to gain.

cdef extern from "memory_speed.h" nogil:
    bint lp_has_pages(const void *output, Py_ssize_t nbytes) noexcept

cdef extern from "entry_points/streaming_stores.h" nogil:
    enum:
        STREAM_LINE "LP_STREAM_LINE"
    Py_ssize_t lp_last_cache_size() noexcept
    void lp_stream(void *to, const void *start, Py_ssize_t nbytes) noexcept
    void lp_stream_end() noexcept

cdef Py_ssize_t streamed_from = lp_last_cache_size()  # bytes, read and written; 0: no conversion streams


def stream_from(Py_ssize_t nbytes) -> int:
    """Stream outputs of conversions that read and write more than so many bytes, 0: none; return what it was before."""
    global streamed_from
    cdef Py_ssize_t before = streamed_from
    streamed_from = nbytes
    return before


cdef inline bint streams_output(
    const steps_t *steps, const operands_t *operands, const void *dst, Py_ssize_t n,
) noexcept nogil:
    # New pages are filled by the kernel through the caches, where ordinary stores find them.
    return (
        steps.src_bits >= 16 and steps.dst_bits >= 2 * steps.src_bits and operands == NULL and streamed_from > 0
        and not steps.is_random
        and n * (steps.src_bits + steps.dst_bits) // 8 > streamed_from and lp_has_pages(dst, n * steps.dst_bits // 8)
    )


cdef void run_streaming(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t n, remaining_t remaining,
) noexcept nogil:
    # Through a buffer in the L1 cache, small enough that its lines are on their way while the next are computed. What
    # fills no line, at both ends, is stored the ordinary way.
    cdef uint8_t *buffer = <uint8_t *>thread_tiles().streamed
    cdef Py_ssize_t s_size = steps.src_bits // 8
    cdef Py_ssize_t d_size = steps.dst_bits // 8
    cdef Py_ssize_t head = min(n, (STREAM_LINE - <Py_ssize_t>(<size_t>dst % STREAM_LINE)) % STREAM_LINE // d_size)
    cdef Py_ssize_t end = n - (n - head) * d_size % STREAM_LINE // d_size
    cdef Py_ssize_t start = head
    cdef Py_ssize_t count
    cdef remaining_t after
    after.dst = -NEVER
    after.src = remaining.src + n - head
    run_tiles(steps, src, dst, 0, head, after, NULL)
    while start < end:
        count = min(<Py_ssize_t>STREAMED_BYTES // d_size, end - start)
        after.src = remaining.src + n - start - count
        run_tiles(steps, src + start * s_size, buffer, 0, count, after, NULL)
        lp_stream(dst + start * d_size, buffer, count * d_size)
        start += count
    lp_stream_end()
    after.src = remaining.src
    run_tiles(steps, src + end * s_size, dst + end * d_size, 0, n - end, after, NULL)
