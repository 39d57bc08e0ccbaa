# Scales and zero points beside the elements: which of them belong to which, tile by tile.
#
# Element e of a dense array in C order stands at (outer, position, inner) of its three merged axes, the middle one
# being the quantization axis. Its scale is number
#     (outer * outer_step + position // block) * width + (inner if width > 1 else 0)

cdef struct operands_t:
    const char *scale
    const char *zero        # 4 bytes each; NULL if there are none
    const float *inverse    # of the scales, where that pays; NULL if not
    int scale_item          # bytes
    Py_ssize_t inner
    Py_ssize_t length
    Py_ssize_t block
    Py_ssize_t outer_step
    Py_ssize_t width

cdef enum:
    RUN_SHIFT = 4  # runs of 16 elements, a vector of them, or more

cdef int32_t no_zero[TILE]  # static, hence all 0


cdef inline bint is_aligned(const void *memory, size_t item) noexcept nogil:
    return <size_t>memory % item == 0


cdef const uint8_t[::1] aligned(const uint8_t[::1] memory, size_t item):
    # The loops read numbers where the machine's own types may stand: others are copied, once.
    if memory is None or memory.shape[0] == 0 or is_aligned(&memory[0], item):
        return memory
    return bytearray(memory)


cdef class Operands:
    """The scales and zero points of one call, in the order of the axes, and how they spread over the elements."""

    cdef operands_t view
    cdef Py_ssize_t count
    cdef const uint8_t[::1] scale
    cdef const uint8_t[::1] zero
    cdef bytearray inverse

    def __init__(
        self, const uint8_t[::1] scale not None, const uint8_t[::1] zero, int scale_item, Py_ssize_t n,
        Py_ssize_t inner, Py_ssize_t length, Py_ssize_t block, Py_ssize_t outer_step, Py_ssize_t width,
    ):
        if min(inner, length, block) < 1 or scale_item not in (4, 8) or width not in (1, inner):
            raise ValueError("a spread must have positive lengths")
        cdef Py_ssize_t count = (length + block - 1) // block if outer_step == 0 else n // (inner * length) * outer_step
        self.count = count = count * width
        if n and (scale.shape[0] < count * scale_item or zero is not None and zero.shape[0] < count * 4):
            raise ValueError(f"`scale` and `zero` must hold {count} elements; got {scale.shape[0]} bytes")
        self.scale = aligned(scale, scale_item)
        self.zero = aligned(zero, 4)
        self.view.scale = <const char *>&self.scale[0] if scale.shape[0] else NULL
        self.view.zero = <const char *>&self.zero[0] if zero is not None and zero.shape[0] else NULL
        self.view.scale_item = scale_item
        self.view.inner = inner
        self.view.length = length
        self.view.block = block
        self.view.outer_step = outer_step
        self.view.width = width

    @property
    def addresses(self):
        """Where the loops read the scales and the zero points, as integers; 0 where there are none."""
        return <size_t>self.view.scale, <size_t>self.view.zero

    cdef void invert(self, Py_ssize_t n):
        # Once for many elements, where each of them meets another scale than the one before.
        cdef lp_mode mode
        cdef bint each = self.view.width > 1 or self.view.inner == 1 and self.view.block == 1
        if self.inverse is not None or inverses_in_use == NULL or not each or not 1 < self.count <= n // 8:
            return
        self.inverse = bytearray(self.count * sizeof(float))
        mode = lp_mode_enter()
        if inverses_in_use(<const float *>self.view.scale, self.count, <float *>PyByteArray_AS_STRING(self.inverse)):
            self.view.inverse = <const float *>PyByteArray_AS_STRING(self.inverse)
        lp_mode_leave(mode)


cdef inline bint follow(const operands_t *o) noexcept nogil:
    # Whether the scales of a row are followed by those of the next one, which starts with a run of its own.
    return o.inner == 1 and o.length % o.block == 0 and o.outer_step == o.length // o.block


cdef inline int power_of(Py_ssize_t length) noexcept nogil:
    # The exponent where the length is a power of two; else -1.
    cdef int shift = 0
    while length >> shift > 1:
        shift += 1
    return shift if length == <Py_ssize_t>1 << shift else -1


cdef beside_t beside(
    const operands_t *o, Py_ssize_t first, Py_ssize_t n, bint runs, tiles_t *tiles,
) noexcept nogil:
    # Walk the rows of elements along the quantization axis, or what is inside it. If all n elements have one scale, or
    # their scales follow each other, one for each or (where there are `runs`) for every power of two of them, the
    # scales are taken where they lie; else they are spread over a tile.
    cdef beside_t found
    cdef Py_ssize_t inner = first % o.inner
    cdef Py_ssize_t position = first // o.inner % o.length
    cdef Py_ssize_t outer = first // o.inner // o.length
    cdef Py_ssize_t length = o.block if o.inner == 1 else o.inner if o.width == 1 else 1  # elements with one scale
    cdef Py_ssize_t within = inner if o.inner > 1 else position % o.block
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t index, run
    while True:
        index = (outer * o.outer_step + position // o.block) * o.width
        if o.width > 1:
            index += inner
            run = o.inner - inner
        else:
            run = (o.length - position) * o.inner - inner
        if done == 0:
            found.scale = o.scale + index * o.scale_item
            found.zero = <const char *>no_zero if o.zero == NULL else o.zero + index * 4
            found.within = within
            found.inverse = NULL
            if o.inverse != NULL:
                found.inverse = o.inverse + index
            found.shift = power_of(length) if runs else -1
            if n <= (run if length == 1 else min(run, length - within)):
                found.way = EACH if length == 1 else ROW
                return found
            if found.shift >= RUN_SHIFT and within % (1 << RUN_SHIFT) == 0 and (n <= run or follow(o)):
                found.way = RUNS
                return found
        run = min(run, n - done)
        spread_in_use[o.scale_item == 8](
            o.scale + index * o.scale_item, <char *>tiles.scale + done * o.scale_item, run, within, length,
        )
        if o.zero != NULL:
            spread_in_use[0](o.zero + index * 4, tiles.zero + done, run, within, length)
        done += run
        if done == n:
            found.scale = tiles.scale
            found.inverse = NULL
            found.zero = <const char *>no_zero if o.zero == NULL else <const char *>tiles.zero
            found.way = EACH
            return found
        # The row ended: what is inside the axis, or the axis.
        inner = within = 0
        position = position + 1 if o.width > 1 else o.length
        if position == o.length:
            position = 0
            outer += 1
