# Which scale and zero point belong to which element: per tensor, per axis or per block, for one tile at a time.
#
# An element of a dense array in C order has the index (outer, position, inner) in three merged axes, the middle one
# being the quantization axis. The index of its scale is
#     (outer * outer_step + position // block) * width + (inner if width > 1 else 0)

cdef extern from "memory_speed.h" nogil:
    void lp_prefetch(const void *start, Py_ssize_t nbytes) noexcept

cdef struct operands_t:
    const char *scale
    const char *zero         # 4 bytes each; NULL if there are none
    const float *reciprocal  # of the scales, where `compute_reciprocals` made them; else NULL
    const int16_t *zero_words  # and of zero points what loops by columns add
    int scale_item           # bytes
    Py_ssize_t inner
    Py_ssize_t length
    Py_ssize_t block
    Py_ssize_t outer_step
    Py_ssize_t width

cdef int32_t no_zero_points[TILE]  # static, hence all 0

cdef list kept_memory = []  # of operands of the last calls: to get new pages takes longer than to write to these

cdef enum:
    KEPT_FROM = 1 << 17  # bytes
    KEPT_TO = 1 << 24
    KEPT_MOST = 2        # scales and zero points
    SHORTEST = 512       # elements of a segment that a loop takes alone; scales of shorter ones are copied to a tile


cdef object memory_for_operand(Py_ssize_t nbytes):
    cdef Py_ssize_t i
    if nbytes >= KEPT_FROM:
        for i in range(len(kept_memory)):
            if nbytes <= PyByteArray_GET_SIZE(kept_memory[i]):
                return kept_memory.pop(i)
    return PyByteArray_FromStringAndSize(NULL, nbytes)


cdef inline bint is_aligned(const void *memory, size_t item) noexcept nogil:
    return <size_t>memory % item == 0


cdef Py_ssize_t set_granularity(operands_t *view, Py_ssize_t n, granularity) except -1:
    # Check which scales belong to which of `n` elements, and return how many scales there are.
    view.inner, view.length, view.block = granularity.inner, granularity.length, granularity.block
    view.outer_step, view.width = granularity.outer_step, granularity.width
    if n < 0 or min(view.inner, view.length, view.block) < 1 or view.width not in (1, view.inner):
        raise ValueError(f"`granularity` must have positive lengths; got {granularity}")
    if view.outer_step == 0:
        return (view.length + view.block - 1) // view.block * view.width
    return n // (view.inner * view.length) * view.outer_step * view.width


cdef int set_scale_item(operands_t *view, int scale_item) except -1:
    if scale_item not in (4, 8):
        raise ValueError(f"`scale_item` must be 4 or 8 bytes; got {scale_item}")
    view.scale_item = scale_item
    return 0


@cython.freelist(4)
@cython.no_gc  # what it holds holds no operands
cdef class Operands:
    """The scales and zero points of one call, in the order of the axes, and which elements share them."""

    cdef operands_t view
    cdef Py_ssize_t count
    cdef uint64_t room[6]  # one scale and one zero point, between two programs and as numbers
    cdef bytearray reciprocal
    cdef object source  # these hold memory that `view` reads
    cdef object scale_holder
    cdef object zero_holder

    def __init__(
        self, const uint8_t[::1] scale not None, const uint8_t[::1] zero, int scale_item, Py_ssize_t n, granularity,
    ):
        self.count = set_granularity(&self.view, n, granularity)
        set_scale_item(&self.view, scale_item)
        if n and (scale.shape[0] < self.count * scale_item or zero is not None and zero.shape[0] < self.count * 4):
            raise ValueError(f"`scale` and `zero` must hold {self.count} elements; got {scale.shape[0]} bytes")
        self.source = scale, zero
        if scale.shape[0]:
            self.view.scale = <const char *>&scale[0]
            self.scale_holder = read_operand(&self.view.scale, scale_item, self.count, (), NULL, NULL, NULL, 1)
        if zero is not None and zero.shape[0]:
            self.view.zero = <const char *>&zero[0]
            self.zero_holder = read_operand(&self.view.zero, 4, self.count, (), NULL, NULL, NULL, 1)

    @property
    def addresses(self):
        """Where the loops read the scales and the zero points, as integers; 0 where there are none."""
        return <size_t>self.view.scale, <size_t>self.view.zero

    def keep_memory(self):
        """Leave what was made of scales and zero points, where that is large, to the next call: this was the last."""
        self.view.scale = self.view.zero = NULL
        self.count = 0
        for held in (self.scale_holder, self.zero_holder):
            if held is not None and KEPT_FROM <= PyByteArray_GET_SIZE(held) <= KEPT_TO:
                kept_memory.append(held)
        while len(kept_memory) > KEPT_MOST:
            del kept_memory[0]
        self.scale_holder = self.zero_holder = None

    cdef void compute_reciprocals(self, Py_ssize_t n):
        # Once a call, where neighbours have different scales and each scale is used eight times or more.
        cdef lp_mode mode
        cdef float *reciprocal
        cdef int16_t *words
        cdef bint each = self.view.width > 1 or self.view.inner == 1 and self.view.block == 1
        if self.reciprocal is not None or reciprocals_in_use == NULL or not each or not 1 < self.count <= n // 8:
            return
        self.reciprocal = bytearray(self.count * (sizeof(float) + sizeof(int16_t)))
        mode = lp_mode_enter()
        reciprocal = <float *>PyByteArray_AS_STRING(self.reciprocal)
        if reciprocals_in_use(<const float *>self.view.scale, self.count, reciprocal):
            self.view.reciprocal = reciprocal
            if self.view.zero != NULL and zero_words_in_use != NULL and self.count % GROUP == 0:
                words = <int16_t *>(reciprocal + self.count)
                zero_words_in_use(self.view.zero, self.count, words)
                self.view.zero_words = words
        lp_mode_leave(mode)


cdef inline bint rows_follow(const operands_t *o) noexcept nogil:
    # Whether the scales of the next row follow those of a row in memory, and the next row starts with a run of its own.
    return o.inner == 1 and o.length % o.block == 0 and o.outer_step == o.length // o.block


cdef inline int exponent_of(Py_ssize_t length) noexcept nogil:
    # The exponent of a power of two; -1 for another length.
    cdef int shift = 0
    while length >> shift > 1:
        shift += 1
    return shift if length == <Py_ssize_t>1 << shift else -1


cdef inline scales_t scales_at(const operands_t *o, Py_ssize_t index) noexcept nogil:
    # From a scale on, without a mode.
    cdef scales_t scales
    scales.scale = o.scale + index * o.scale_item
    scales.zero = <const void *>NULL if o.zero == NULL else <const void *>(o.zero + index * 4)
    scales.reciprocal = <const float *>NULL if o.reciprocal == NULL else o.reciprocal + index
    scales.zero_words = <const int16_t *>NULL
    scales.offset = 0
    scales.run_shift = -1
    scales.columns = 0
    scales.mode = SCALE_UNIFORM
    return scales


cdef struct place_t:
    # An element in the three axes.
    Py_ssize_t outer
    Py_ssize_t position
    Py_ssize_t inner


cdef inline place_t place_of(const operands_t *o, Py_ssize_t first) noexcept nogil:
    cdef place_t at
    cdef Py_ssize_t row = first // o.inner
    at.inner = first - row * o.inner
    at.outer = row // o.length
    at.position = row - at.outer * o.length
    return at


cdef inline void advance(const operands_t *o, place_t *at, Py_ssize_t count) noexcept nogil:
    # Go to the element `count` further on. Most steps end a row or stay in it, and take no division.
    cdef Py_ssize_t rows, outer
    at.inner += count
    if at.inner < o.inner:
        return
    rows = at.inner if o.inner == 1 else 1 if at.inner == o.inner else at.inner // o.inner
    at.inner -= rows * o.inner
    at.position += rows
    if at.position >= o.length:
        outer = 1 if at.position < 2 * o.length else at.position // o.length
        at.position -= outer * o.length
        at.outer += outer


cdef scales_t segment_of(
    const operands_t *o, const place_t *at, Py_ssize_t n, bint runs, Py_ssize_t *count,
) noexcept nogil:
    # Return the scales of the element at a place and of those after it, up to n, whose scales lie in memory as a loop
    # reads them: one for all, one for each, or (where there are loops for `runs`) one for every power of two of them.
    cdef Py_ssize_t length = o.block if o.inner == 1 else o.inner if o.width == 1 else 1  # elements with one scale
    cdef Py_ssize_t block = at.position if o.block == 1 else at.position // o.block
    cdef Py_ssize_t offset = at.inner if o.inner > 1 else at.position - block * o.block
    cdef Py_ssize_t row = o.inner - at.inner if o.width > 1 else (o.length - at.position) * o.inner - at.inner
    cdef Py_ssize_t index = (at.outer * o.outer_step + block) * o.width + (at.inner if o.width > 1 else 0)
    cdef scales_t scales = scales_at(o, index)
    if o.length == 1 and o.outer_step == 0 and o.width == 1:
        count[0] = n
        return scales
    if length == 1:
        scales.mode = SCALE_ELEMENTWISE
        count[0] = min(n, row)
        return scales
    count[0] = min(n, row, length - offset)
    if count[0] < n and runs and length < TILE and offset % (1 << RUN_SHIFT) == 0:
        scales.run_shift = exponent_of(length)
        if scales.run_shift >= RUN_SHIFT:
            scales.offset = offset
            scales.mode = SCALE_RUNS
            count[0] = n if rows_follow(o) else min(n, row)
    return scales


cdef inline void repeat_rows(char *tile, Py_ssize_t size, Py_ssize_t room) noexcept nogil:
    # Copy the first `size` bytes behind themselves until `room` bytes are full, twice as many each time.
    cdef Py_ssize_t done = size
    cdef Py_ssize_t count
    while done < room:
        count = min(done, room - done)
        memcpy(tile + done, tile, count)
        done += count


cdef scales_t spread_scales(
    const operands_t *o, const place_t *at, Py_ssize_t n, tiles_t *tiles,
) noexcept nogil:
    # Return the scales and zero points of n elements from a place on, one for each, in a tile.
    cdef scales_t scales = scales_at(o, 0)
    cdef Py_ssize_t inner = at.inner
    cdef Py_ssize_t position = at.position
    cdef Py_ssize_t outer = at.outer
    cdef Py_ssize_t length = o.block if o.inner == 1 else o.inner if o.width == 1 else 1
    cdef Py_ssize_t offset = inner if o.inner > 1 else position % o.block
    cdef bint follow = rows_follow(o)
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t index, run, count, rows
    while done < n:
        index = (outer * o.outer_step + position // o.block) * o.width
        if o.width > 1:
            index += inner
            run = o.inner - inner
        else:
            run = n if follow else (o.length - position) * o.inner - inner
        run = min(run, n - done)
        repeat_in_use[o.scale_item == 8](
            o.scale + index * o.scale_item, <char *>tiles.scale + done * o.scale_item, run, offset, length,
        )
        if o.zero != NULL:
            repeat_in_use[0](o.zero + index * 4, tiles.zero + done, run, offset, length)
        # The row has ended: go to the next index along the axis, or to the next outer index.
        rows = 1
        if o.width > 1 and inner == 0 and run == o.inner:  # the rest of a block has the scales of its first row
            rows = min(o.block - position % o.block, o.length - position)
            count = min(rows * run, n - done)
            repeat_rows(<char *>tiles.scale + done * o.scale_item, run * o.scale_item, count * o.scale_item)
            if o.zero != NULL:
                repeat_rows(<char *>(tiles.zero + done), run * 4, count * 4)
            run = count
        done += run
        inner = offset = 0
        position = position + rows if o.width > 1 else o.length
        if position == o.length:
            position = 0
            outer += 1
    scales.scale = tiles.scale
    scales.zero = <const char *>NULL if o.zero == NULL else <const char *>tiles.zero
    scales.mode = SCALE_ELEMENTWISE
    return scales


cdef scales_t locate_scales(
    const operands_t *o, const place_t *at, Py_ssize_t n, bint runs, tiles_t *tiles,
) noexcept nogil:
    # Return the scales of n elements, a tile at most unless all share one, for loops that read a zero point for each.
    cdef Py_ssize_t count
    cdef scales_t scales = segment_of(o, at, n, runs, &count)
    if count < n:
        scales = spread_scales(o, at, n, tiles)
    if scales.zero == NULL:
        scales.zero = <const char *>no_zero_points
    return scales


cdef bint are_in_reach(scales_t *scales, Py_ssize_t *count) noexcept nogil:
    # Return whether a loop may multiply by reciprocals of the scales. May reduce the number of elements.
    cdef Py_ssize_t scale_count = 1
    if scales.reciprocal != NULL:
        return True
    if scales.mode == SCALE_RUNS:
        count[0] = min(count[0], (<Py_ssize_t>TILE << scales.run_shift) - scales.offset)
        scale_count = ((scales.offset + count[0] - 1) >> scales.run_shift) + 1
        lp_prefetch(scales.scale + scale_count * 4, scale_count * 4)  # of the next segment
    elif scales.mode == SCALE_ELEMENTWISE:
        scale_count = count[0] = min(count[0], <Py_ssize_t>TILE)
    return reciprocals_in_use(<const float *>scales.scale, scale_count, NULL)
