# What every loop does between blocks of elements: prefetch the memory that a later block reads and writes.
from lowprec._native.kernel_types cimport remaining_t

cdef extern from * nogil:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define LP_PREFETCH(p) __builtin_prefetch(p)
    #else
    #define LP_PREFETCH(p) ((void)(p))
    #endif
    /* Loops of vectors prefetch with every 64 elements, which fill cache lines, what is PREFETCH_DISTANCE after them.
       Where there is nothing so far on, as in the cache, they prefetch these elements themselves, which costs less than
       a branch, or have another text for that; `stores` are loops without one that a core's loads and stores bound. */
    static inline void lp_prefetch_group(
        int stores, const void *s, ptrdiff_t s_ahead, int s_size, const void *d, ptrdiff_t d_ahead, int d_size
    ) {
        if (stores && !(s_ahead | d_ahead)) return;
        for (int i = 0; i < s_size; i += 64) LP_PREFETCH((const char *)s + s_ahead + i);
        for (int i = 0; i < d_size; i += 64) LP_PREFETCH((const char *)d + d_ahead + i);
    }
    """
    void prefetch "LP_PREFETCH" (const void *p) noexcept
    void prefetch_group "lp_prefetch_group" (
        bint stores, const void *s, Py_ssize_t s_ahead, int s_size, const void *d, Py_ssize_t d_ahead, int d_size,
    ) noexcept

cdef enum:
    PREFETCH_BYTES = 1024     # of a block: as many cache lines as a core can wait for at once
    PREFETCH_DISTANCE = 2048  # elements from a block to the one that is prefetched


cdef inline Py_ssize_t block_length(size_t s_size, size_t d_size) noexcept nogil:
    # Elements of a block: a constant wherever it is inlined.
    return PREFETCH_BYTES // (s_size if s_size > d_size else d_size)


cdef inline Py_ssize_t block_count(Py_ssize_t n, Py_ssize_t length) noexcept nogil:
    return (n + length - 1) // length


cdef inline void prefetch_block(
    const void *s, size_t s_size, const void *d, size_t d_size, Py_ssize_t first, Py_ssize_t length, Py_ssize_t n,
    remaining_t remaining,
) noexcept nogil:
    # The machine's own prefetcher stops at the end of a page, and is late for the output.
    cdef Py_ssize_t later = first + PREFETCH_DISTANCE
    cdef size_t line
    if later < n + remaining.src:
        for line in range(0, length * s_size, 64):  # a cache line
            prefetch(<const char *>s + later * s_size + line)
    if later < n + remaining.dst:
        for line in range(0, length * d_size, 64):
            prefetch(<const char *>d + later * d_size + line)


cdef inline void prefetch_bits(
    const void *s, int s_bits, const void *d, int d_bits, Py_ssize_t first, Py_ssize_t length, Py_ssize_t n,
    remaining_t remaining,
) noexcept nogil:
    # The same for elements of fewer than 8 bits, or for a block that is shorter than the cache lines at its ends.
    cdef Py_ssize_t later = first + PREFETCH_DISTANCE
    cdef int line
    if later < n + remaining.src:
        for line in range(0, length * s_bits // 8, 64):
            prefetch(<const char *>s + later * s_bits // 8 + line)
    if later < n + remaining.dst:
        for line in range(0, length * d_bits // 8, 64):
            prefetch(<const char *>d + later * d_bits // 8 + line)


cdef inline Py_ssize_t prefetched_length(Py_ssize_t n, Py_ssize_t whole, remaining_t remaining) noexcept nogil:
    # Elements of a block: those that have others so far on, and in another block the rest.
    cdef Py_ssize_t first = (n + remaining.src - PREFETCH_DISTANCE) & ~<Py_ssize_t>63
    return max(<Py_ssize_t>64, first if PREFETCH_BYTES <= first < whole else whole)


cdef inline Py_ssize_t prefetched_ahead(int bits, Py_ssize_t last, Py_ssize_t end) noexcept nogil:
    # Bytes from the elements up to `last` to what is prefetched, of elements up to `end`.
    return PREFETCH_DISTANCE * bits // 8 if last + PREFETCH_DISTANCE <= end else 0
