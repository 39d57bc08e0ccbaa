# Scales and zero points beside the elements: which of them belong to which, tile by tile.
#
# Element e of a dense array in C order stands at (outer, position, inner) of its three merged axes, the middle one
# being the quantization axis. Its scale is number
#     (outer * outer_step + position // block) * width + (inner if width > 1 else 0)

cdef struct operands_t:
    const char *scale
    const char *zero        # 4 bytes each; NULL if there are none
    int scale_item          # bytes
    Py_ssize_t inner
    Py_ssize_t length
    Py_ssize_t block
    Py_ssize_t outer_step
    Py_ssize_t width

cdef struct beside_t:
    const char *scale
    const char *zero
    bint each               # one for every element; else one for all

cdef int32_t no_zero[TILE]  # static, hence all 0


cdef class Operands:
    """The scales and zero points of one call, in the order of the axes, and how they spread over the elements."""

    cdef operands_t view
    cdef const uint8_t[::1] scale
    cdef const uint8_t[::1] zero

    def __init__(
        self, const uint8_t[::1] scale not None, const uint8_t[::1] zero, int scale_item, Py_ssize_t n,
        Py_ssize_t inner, Py_ssize_t length, Py_ssize_t block, Py_ssize_t outer_step, Py_ssize_t width,
    ):
        cdef Py_ssize_t count
        if min(inner, length, block) < 1 or scale_item not in (4, 8) or width not in (1, inner):
            raise ValueError("a spread must have positive lengths")
        count = (length + block - 1) // block if outer_step == 0 else n // (inner * length) * outer_step
        count *= width
        if n and (scale.shape[0] < count * scale_item or zero is not None and zero.shape[0] < count * 4):
            raise ValueError(f"`scale` and `zero` must hold {count} elements; got {scale.shape[0]} bytes")
        self.scale = scale
        self.zero = zero
        self.view.scale = <const char *>&scale[0] if scale.shape[0] else NULL
        self.view.zero = <const char *>&zero[0] if zero is not None and zero.shape[0] else NULL
        self.view.scale_item = scale_item
        self.view.inner = inner
        self.view.length = length
        self.view.block = block
        self.view.outer_step = outer_step
        self.view.width = width


cdef inline void repeat(const char *from_, char *to, Py_ssize_t n, int item, bint each) noexcept nogil:
    # A repeated scale is written SLACK elements at a time, past the end of the run: the next run overwrites it.
    cdef uint32_t narrow
    cdef uint64_t wide
    cdef Py_ssize_t i = 0
    cdef int j
    if each:
        memcpy(to, from_, n * item)
    elif item == 4:
        narrow = (<const uint32_t *>from_)[0]
        while i < n:
            for j in range(SLACK):
                (<uint32_t *>to)[i + j] = narrow
            i += SLACK
    else:
        wide = (<const uint64_t *>from_)[0]
        while i < n:
            for j in range(SLACK):
                (<uint64_t *>to)[i + j] = wide
            i += SLACK


cdef beside_t beside(
    const operands_t *o, Py_ssize_t first, Py_ssize_t n, char *scale_tile, char *zero_tile,
) noexcept nogil:
    # Walk the runs of elements whose scales are one, or follow each other. If all n elements are one run, the scales
    # are taken where they lie; else they are spread over the tile.
    cdef beside_t found
    cdef Py_ssize_t inner = first % o.inner
    cdef Py_ssize_t rest = first // o.inner
    cdef Py_ssize_t position = rest % o.length
    cdef Py_ssize_t outer = rest // o.length
    cdef Py_ssize_t within = position % o.block
    cdef Py_ssize_t index = outer * o.outer_step + position // o.block
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t run, here
    cdef bint across = o.inner > 1
    cdef bint each = o.width > 1 or not across and o.block == 1
    while True:
        here = index * o.width + (inner if o.width > 1 else 0)
        if across:
            run = o.inner - inner
        elif o.block > 1:
            run = min(o.block - within, o.length - position)
        else:
            run = o.length - position
        if done == 0 and run >= n:
            found.scale = o.scale + here * o.scale_item
            found.zero = <const char *>no_zero if o.zero == NULL else o.zero + here * 4
            found.each = each
            return found
        run = min(run, n - done)
        repeat(o.scale + here * o.scale_item, scale_tile + done * o.scale_item, run, o.scale_item, each)
        if o.zero != NULL:
            repeat(o.zero + here * 4, zero_tile + done * 4, run, 4, each)
        done += run
        if done == n:
            found.scale = scale_tile
            found.zero = <const char *>no_zero if o.zero == NULL else zero_tile
            found.each = True
            return found
        # The run ended: at the end of a block, or of the quantization axis.
        inner = 0
        run = 1 if across else run
        position += run
        within += run
        if position == o.length:
            position = 0
            within = 0
            outer += 1
            index = outer * o.outer_step
        elif within == o.block:
            within = 0
            index += 1
