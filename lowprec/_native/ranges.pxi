# The entry point to the ranges of groups of elements.

cdef enum:
    RANGE_CHUNK = 64 * TILE  # elements that a thread takes at once, or one group where that has more


def find_ranges(
    const uint8_t[::1] src not None, int bits, Py_ssize_t outer, Py_ssize_t length, Py_ssize_t inner, Py_ssize_t block,
    uint64_t mask, uint64_t last, uint8_t[::1] low, uint8_t[::1] high not None, int n_threads,
) -> None:
    """Find the range of finite values of dense codes of shape (outer, length, inner), in blocks along the middle axis.

    `high` and `low` take (outer, ceil(length / block), inner) codes: the largest and the least value; where `low` is
    None `high` takes the largest magnitude. Codes whose bits of `mask` are above `last` are left out; 0 is always in.
    """
    cdef int item = bits // 8
    cdef int width = 0 if bits == 8 else 1 if bits == 16 else 2 if bits == 32 else 3
    cdef range_t find = ranges_in_use[width][low is not None]
    cdef Py_ssize_t blocks, count, step, parts, part, first, row, rows, place
    cdef const uint8_t *s
    cdef uint8_t *least
    cdef uint8_t *most
    if min(outer, length, inner, block) < 1:
        raise ValueError("a shape and a block must have positive lengths")
    blocks = (length + block - 1) // block
    count = outer * blocks * inner * item
    if src.shape[0] != outer * length * inner * item or high.shape[0] != count \
            or low is not None and low.shape[0] != count:
        raise ValueError(f"`src`, `low` and `high` must fit the shape; got {src.shape[0]} and {high.shape[0]} bytes")
    s = &src[0]
    least = &low[0] if low is not None else NULL
    most = &high[0]
    # A part is some blocks of one outer index.
    step = max(<Py_ssize_t>1, RANGE_CHUNK // (min(block, length) * inner))
    parts = (blocks + step - 1) // step
    with nogil:
        for part in prange(outer * parts, schedule="static", num_threads=max(1, min(n_threads, outer * parts))):
            first = part % parts * step
            row = first * block
            rows = min(step * block, length - row)
            place = (part // parts * blocks + first) * inner * item
            find(
                s + (part // parts * length + row) * inner * item, rows, inner, block, mask, last,
                NULL if least == NULL else least + place, most + place,
            )
