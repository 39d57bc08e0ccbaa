# The random numbers of stochastic rounding, as an array.

cdef extern from "philox.h" nogil:
    void lp_random_numbers(void *out, int item, uint64_t first, Py_ssize_t n, uint64_t seed, int bits) noexcept


def random_numbers(uint64_t seed, uint64_t offset, int bits, cnp.ndarray out not None) -> None:
    """Fill a dense array of the width of a slot with the random numbers of the elements from `offset` on."""
    cdef int item = 1 if bits <= 8 else 2 if bits <= 16 else 4
    if not (1 <= bits <= 32 and cnp.PyArray_ISCARRAY(out) and cnp.PyArray_ITEMSIZE(out) == item):
        raise ValueError(f"`out` must be dense, of the width of slots of {bits} bits; got {out.dtype}")
    with nogil:
        lp_random_numbers(cnp.PyArray_DATA(out), item, offset, cnp.PyArray_SIZE(out), seed, bits)
