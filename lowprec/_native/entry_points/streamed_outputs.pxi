# Outputs that the caches would not keep: elements are stored past these, and no line is read that will be overwritten.
#
# What is saved is the reading of the output. It pays where a loop computes less than the memory takes, which is
# measured. Of the last cache the source takes its part.

cdef extern from "memory_speed.h" nogil:
    bint lp_has_pages(const void *output, Py_ssize_t nbytes) noexcept

cdef extern from "entry_points/streaming_stores.h" nogil:
    enum:
        STREAM_LINE "LP_STREAM_LINE"
    Py_ssize_t lp_last_cache_size() noexcept
    void lp_stream(void *to, const void *start, Py_ssize_t nbytes) noexcept
    void lp_stream_end() noexcept

# Bytes of an output; 0: none is streamed, -1: each that can be.
cdef Py_ssize_t streamed_from = lp_last_cache_size() // 2


def stream_from(Py_ssize_t nbytes) -> int:
    """Stream outputs of more than so many bytes, where that gains; 0: none, -1: all; return what it was before."""
    global streamed_from
    cdef Py_ssize_t before = streamed_from
    streamed_from = nbytes
    return before


cdef inline Py_ssize_t elements_before_line(const steps_t *steps, const uint8_t *dst) noexcept nogil:
    return (STREAM_LINE - <Py_ssize_t>(<size_t>dst % STREAM_LINE)) % STREAM_LINE * 8 // steps.dst_bits


cdef inline bint may_stream(const steps_t *steps, const uint8_t *dst, Py_ssize_t n) noexcept nogil:
    # Whole lines have whole elements, and begin with a byte of the source. New pages are filled by the kernel through
    # the caches, where ordinary stores find them.
    cdef Py_ssize_t nbytes = n * steps.dst_bits // 8
    return (
        streamed_from != 0 and nbytes > streamed_from and STREAM_LINE * 8 % steps.dst_bits == 0
        and elements_before_line(steps, dst) * steps.src_bits % 8 == 0 and lp_has_pages(dst, nbytes)
    )


cdef void run_streaming(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, remaining_t remaining,
    const operands_t *operands,
) noexcept nogil:
    # Through a buffer in the L1 cache, small enough that its lines are on their way while the next are computed. What
    # fills no line, at both ends, is stored the ordinary way.
    cdef uint8_t *buffer = <uint8_t *>thread_tiles().streamed
    cdef Py_ssize_t line = STREAM_LINE * 8 // steps.dst_bits
    cdef Py_ssize_t step = STREAMED_BYTES * 8 // max(steps.src_bits, steps.dst_bits) // line * line
    cdef Py_ssize_t start = min(n, elements_before_line(steps, dst))
    cdef Py_ssize_t end = n - (n - start) % line
    cdef Py_ssize_t count
    cdef remaining_t after
    after.dst = -NEVER
    after.src = remaining.src + n - start
    run_tiles(steps, src, dst, first, start, after, operands)
    while start < end:
        count = min(step, end - start)
        after.src = remaining.src + n - start - count
        run_tiles(steps, src + start * steps.src_bits // 8, buffer, first + start, count, after, operands)
        lp_stream(dst + start * steps.dst_bits // 8, buffer, count * steps.dst_bits // 8)
        start += count
    lp_stream_end()
    after.src = remaining.src
    run_tiles(
        steps, src + end * steps.src_bits // 8, dst + end * steps.dst_bits // 8, first + end, n - end, after, operands
    )
