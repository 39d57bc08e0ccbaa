# Arrays with strides, gathered and scattered.
cdef struct layout_t:
    char *start
    int rank
    int item                # bytes, of a packed array one
    int bits                # of one element
    int dense               # elements follow each other in C order, aligned for their C type
    Py_ssize_t shape[MAX_RANK]
    Py_ssize_t strides[MAX_RANK]


cdef int read_layout(layout_t *layout, const Py_buffer *view, int bits) except -1:
    cdef Py_ssize_t expected = view.itemsize
    cdef Py_ssize_t misalignment = <Py_ssize_t>view.buf
    cdef int axis
    if view.ndim > MAX_RANK or view.itemsize not in (1, 2, 4, 8):
        raise ValueError(f"at most {MAX_RANK} dimensions of 1, 2, 4 or 8 bytes; got {view.ndim} of {view.itemsize}")
    layout.start = <char *>view.buf
    layout.rank = view.ndim
    layout.item = view.itemsize
    layout.bits = bits
    layout.dense = 1
    for axis in range(view.ndim - 1, -1, -1):
        layout.shape[axis] = view.shape[axis]
        layout.strides[axis] = view.strides[axis]
        if view.shape[axis] != 1 and view.strides[axis] != expected:
            layout.dense = 0
        expected *= view.shape[axis]
        misalignment |= layout.strides[axis]
    if not fits(layout.start, bits):
        layout.dense = 0
    if bits != 8 * layout.item and not (bits < 8 and layout.item == 1 and layout.rank == 1 and layout.dense):
        raise ValueError(f"elements of {bits} bits, or packed dense bytes; got {8 * layout.item} bits")
    if layout.rank and misalignment % layout.item != 0 and layout.strides[layout.rank - 1] != layout.item:
        raise ValueError(f"elements that do not follow each other must be aligned to {layout.item} bytes")
    return 0


cdef inline bint fits(const void *memory, int bits) noexcept nogil:
    # Whether the address is aligned for the C type of that width.
    return bits <= 8 or is_aligned(memory, bits // 8)


cdef void set_dense_layout(layout_t *layout, const void *start, Py_ssize_t n, int bits) noexcept nogil:
    # Elements that follow each other, from any address on.
    layout.start = <char *>start
    layout.rank = 1
    layout.item = max(bits // 8, 1)
    layout.bits = bits
    layout.dense = fits(start, bits)
    layout.shape[0] = n
    layout.strides[0] = layout.item


cdef void set_strided_layout(
    layout_t *layout, const void *start, int rank, const cnp.npy_intp *shape, const cnp.npy_intp *strides, int bits,
) noexcept nogil:
    # Elements of whole bytes, aligned for their C type; axes of one element are left out.
    cdef int axis
    layout.start = <char *>start
    layout.rank = 0
    layout.item = bits // 8
    layout.bits = bits
    for axis in range(rank):
        if shape[axis] != 1:
            layout.shape[layout.rank] = shape[axis]
            layout.strides[layout.rank] = strides[axis]
            layout.rank += 1
    finish_layout(layout)


cdef void finish_layout(layout_t *layout) noexcept nogil:
    # Give a layout an axis where it has none; see whether its elements follow each other.
    cdef Py_ssize_t expected = layout.item
    cdef int axis
    if layout.rank == 0:
        layout.rank, layout.shape[0], layout.strides[0] = 1, 1, layout.item
    layout.dense = fits(layout.start, layout.bits)
    for axis in range(layout.rank - 1, -1, -1):
        if layout.shape[axis] != 1 and layout.strides[axis] != expected:
            layout.dense = 0
        expected *= layout.shape[axis]


cdef void exchange_axes(layout_t *layout, int first, int second) noexcept nogil:
    cdef Py_ssize_t length = layout.shape[first]
    cdef Py_ssize_t step = layout.strides[first]
    layout.shape[first], layout.strides[first] = layout.shape[second], layout.strides[second]
    layout.shape[second], layout.strides[second] = length, step


cdef inline bint axes_join(const layout_t *layout, int axis) noexcept nogil:
    return layout.strides[axis] == layout.strides[axis + 1] * layout.shape[axis + 1]


cdef void join_axes(layout_t *layout, int axis) noexcept nogil:
    # Make one axis of one and the next.
    cdef int other
    layout.shape[axis] *= layout.shape[axis + 1]
    layout.strides[axis] = layout.strides[axis + 1]
    layout.rank -= 1
    for other in range(axis + 1, layout.rank):
        layout.shape[other] = layout.shape[other + 1]
        layout.strides[other] = layout.strides[other + 1]


cdef inline Py_ssize_t step_of(const layout_t *layout, int axis) noexcept nogil:
    return layout.strides[axis] if layout.strides[axis] > 0 else -layout.strides[axis]


cdef void merge_axes(layout_t *src, layout_t *dst, bint in_any_order) noexcept nogil:
    # View two arrays of one shape with as few axes as their strides allow, in the order of dst's memory where the order
    # of elements does not matter.
    cdef int rank = 0
    cdef int axis, other
    for axis in range(dst.rank):
        if dst.shape[axis] == 1:
            continue
        exchange_axes(src, rank, axis)
        exchange_axes(dst, rank, axis)
        other = rank
        while in_any_order and other > 0 and step_of(dst, other) > step_of(dst, other - 1):
            exchange_axes(src, other, other - 1)
            exchange_axes(dst, other, other - 1)
            other -= 1
        rank += 1
    src.rank = dst.rank = rank
    for axis in range(rank - 2, -1, -1):
        if axes_join(src, axis) and axes_join(dst, axis):
            join_axes(src, axis)
            join_axes(dst, axis)
    finish_layout(src)
    finish_layout(dst)


cdef void join_all_axes(layout_t *layout) noexcept nogil:
    # View an array with as few axes as its strides allow, its elements in their order.
    cdef int axis
    for axis in range(layout.rank - 2, -1, -1):
        if axes_join(layout, axis):
            join_axes(layout, axis)
    finish_layout(layout)


cdef void span_of(const layout_t *layout, const char **first, const char **end) noexcept nogil:
    # The memory from the first byte of an array to its last.
    cdef int axis
    cdef Py_ssize_t reach
    first[0] = layout.start
    end[0] = layout.start + layout.item
    for axis in range(layout.rank):
        reach = layout.strides[axis] * (layout.shape[axis] - 1)
        if reach < 0:
            first[0] += reach
        else:
            end[0] += reach


cdef bint are_clear(const layout_t *src, const layout_t *dst) noexcept nogil:
    # Whether every element of dst has memory of its own, and shares none with src; False where it cannot be said.
    # Axes of dst are in the order of its memory, but for those of one element.
    cdef const char *first[2]
    cdef const char *end[2]
    cdef Py_ssize_t extent = dst.item
    cdef int axis
    for axis in range(dst.rank - 1, -1, -1):
        if dst.shape[axis] > 1 and step_of(dst, axis) < extent:
            return False
        extent += step_of(dst, axis) * (dst.shape[axis] - 1)
    span_of(src, &first[0], &end[0])
    span_of(dst, &first[1], &end[1])
    return first[0] >= end[1] or first[1] >= end[0]


cdef Py_ssize_t size_of(const layout_t *layout) noexcept nogil:
    cdef Py_ssize_t n = 1
    cdef int axis
    for axis in range(layout.rank):
        n *= layout.shape[axis]
    return n


# The entry point for strided arrays: their elements are gathered and scattered tile by tile, the array is never copied.
#
# It calls the buffer protocol itself, since a typed memoryview has a fixed number of dimensions.
ctypedef fused item_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline void move_items(char *memory, Py_ssize_t step, item_t *tile, Py_ssize_t n, bint gather) noexcept nogil:
    # Four at a time: how fast a loop of one load and one store is depends on the address where its code happens to lie.
    cdef Py_ssize_t whole = n - n % 4
    cdef Py_ssize_t i
    cdef int j
    if gather:
        for i in range(0, whole, 4):
            for j in range(4):
                tile[i + j] = (<const item_t *>(memory + (i + j) * step))[0]
        for i in range(whole, n):
            tile[i] = (<const item_t *>(memory + i * step))[0]
    else:
        for i in range(0, whole, 4):
            for j in range(4):
                (<item_t *>(memory + (i + j) * step))[0] = tile[i + j]
        for i in range(whole, n):
            (<item_t *>(memory + i * step))[0] = tile[i]


cdef inline void move_row(
    char *memory, Py_ssize_t step, char *tile, Py_ssize_t n, int item, bint gather,
) noexcept nogil:
    # A dense row may have any address; elements apart from each other are aligned.
    if step == item:
        memcpy(tile if gather else memory, memory if gather else tile, n * item)
    elif item == 1:
        move_items(memory, step, <uint8_t *>tile, n, gather)
    elif item == 2:
        move_items(memory, step, <uint16_t *>tile, n, gather)
    elif item == 4:
        move_items(memory, step, <uint32_t *>tile, n, gather)
    else:
        move_items(memory, step, <uint64_t *>tile, n, gather)


cdef void move_tile(const layout_t *layout, Py_ssize_t first, Py_ssize_t n, char *tile, bint gather) noexcept nogil:
    # Copy n elements in C order, from number `first` on, to the tile or from it: row by row of the last axis.
    cdef Py_ssize_t index[MAX_RANK]
    cdef Py_ssize_t number = first
    cdef Py_ssize_t row, step
    cdef int last = layout.rank - 1
    cdef int axis
    cdef char *element = layout.start
    for axis in range(last, -1, -1):
        index[axis] = number % layout.shape[axis]
        number //= layout.shape[axis]
        element += index[axis] * layout.strides[axis]
    step = layout.strides[last]
    while n > 0:
        row = min(n, layout.shape[last] - index[last])
        move_row(element, step, tile, row, layout.item, gather)
        tile += row * layout.item
        n -= row
        element -= index[last] * step
        index[last] = 0
        axis = last - 1
        while axis >= 0:
            index[axis] += 1
            element += layout.strides[axis]
            if index[axis] < layout.shape[axis]:
                break
            element -= index[axis] * layout.strides[axis]
            index[axis] = 0
            axis -= 1


cdef void run_strided_chunk(
    const steps_t *steps, const layout_t *src, const layout_t *dst, Py_ssize_t first, Py_ssize_t n, Py_ssize_t whole,
    const operands_t *operands,
) noexcept nogil:
    cdef tiles_t *tiles = thread_tiles()
    cdef const uint8_t *source
    cdef uint8_t *target
    cdef Py_ssize_t tile, start, count
    cdef remaining_t remaining
    cdef lp_mode mode = lp_mode_enter()
    for tile in range((n + TILE - 1) // TILE):
        start = first + tile * TILE
        count = min(<Py_ssize_t>TILE, first + n - start)
        source = <const uint8_t *>(src.start + start * src.bits // 8)
        target = <uint8_t *>(dst.start + start * dst.bits // 8)
        if not src.dense:
            move_tile(src, start, count, <char *>tiles.gathered, True)
            source = <const uint8_t *>tiles.gathered
        if not dst.dense:
            target = <uint8_t *>tiles.converted
        remaining.src = whole - start - count if src.dense else 0
        remaining.dst = whole - start - count if dst.dense else 0
        run_tiles(steps, source, target, start, count, remaining, operands)
        if not dst.dense:
            move_tile(dst, start, count, <char *>tiles.converted, False)
    lp_mode_leave(mode)


cdef void run_layouts(
    const steps_t *steps, const layout_t *src, const layout_t *dst, Py_ssize_t n, const operands_t *operands,
    int n_threads,
) noexcept nogil:
    cdef Py_ssize_t size = chunk_size(n, n_threads)
    cdef Py_ssize_t chunks, chunk, start
    if size >= n:
        run_strided_chunk(steps, src, dst, 0, n, n, operands)
        return
    chunks = (n + size - 1) // size
    for chunk in prange(chunks, schedule="static", num_threads=min(n_threads, chunks)):
        start = chunk * size
        run_strided_chunk(steps, src, dst, start, min(size, n - start), n, operands)


def run_strided(Program program not None, src, dst, Operands operands, stream, int n_threads) -> int:
    """Convert every element of `src` into `dst`, arrays of one shape and any strides, which must not overlap.

    Where the program packs or unpacks, that side is a dense array of bytes; `stream` is as in `run`. Return how many
    axes the arrays have when those that their strides allow are made one.
    """
    cdef Py_buffer src_view, dst_view
    cdef layout_t src_layout, dst_layout
    cdef steps_t seeded
    seed, offset = stream or (None, 0)
    cdef const steps_t *steps = seeded_steps(&program.steps, seed, offset, &seeded)
    cdef Py_ssize_t n
    cdef const operands_t *operands_view = NULL
    cdef bint packed
    check_operands(program, operands)
    if operands is not None:
        operands_view = &operands.view
    PyObject_GetBuffer(src, &src_view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
    try:
        PyObject_GetBuffer(dst, &dst_view, PyBUF_STRIDED | PyBUF_FORMAT)
        try:
            read_layout(&src_layout, &src_view, steps.src_bits)
            read_layout(&dst_layout, &dst_view, steps.dst_bits)
            packed = steps.src_bits < 8 or steps.dst_bits < 8
            n = size_of(&dst_layout if steps.src_bits < 8 else &src_layout)
            if packed and 8 * src_layout.item * size_of(&src_layout) < n * steps.src_bits:
                raise ValueError(f"`src` must hold {n} elements; got {src.shape[0]} bytes")
            if packed and 8 * dst_layout.item * size_of(&dst_layout) < n * steps.dst_bits:
                raise ValueError(f"`dst` must hold {n} elements; got {dst.shape[0]} bytes")
            if packed and not (src_layout.rank and dst_layout.rank) or not packed and src.shape != dst.shape:
                raise ValueError(f"`src` and `dst` must have one shape and an axis; got {src.shape} and {dst.shape}")
            with nogil:
                if not packed:
                    merge_axes(&src_layout, &dst_layout, operands_view == NULL and not steps.is_random)
                run_layouts(steps, &src_layout, &dst_layout, n, operands_view, n_threads)
            return dst_layout.rank
        finally:
            PyBuffer_Release(&dst_view)
    finally:
        PyBuffer_Release(&src_view)


cdef bint run_arrays_strided(Program program, cnp.ndarray src, cnp.ndarray dst, int n_threads) except -1:
    # Two arrays of one shape, aligned and in native byte order.
    cdef layout_t src_layout, dst_layout
    set_strided_layout(
        &src_layout, cnp.PyArray_DATA(src), cnp.PyArray_NDIM(src), cnp.PyArray_DIMS(src), cnp.PyArray_STRIDES(src),
        program.steps.src_bits)
    set_strided_layout(
        &dst_layout, cnp.PyArray_DATA(dst), cnp.PyArray_NDIM(dst), cnp.PyArray_DIMS(dst), cnp.PyArray_STRIDES(dst),
        program.steps.dst_bits)
    return run_strided_layouts(program, &src_layout, &dst_layout, n_threads)


cdef bint run_strided_layouts(Program program, layout_t *src, layout_t *dst, int n_threads) except -1:
    # A program that takes no scales; False, with nothing done, where elements of dst share memory, or might.
    cdef const steps_t *steps = &program.steps
    cdef Py_ssize_t n = size_of(dst)
    if program.takes_scales or steps.is_random or not (
        fits(src.start, steps.src_bits) and fits(dst.start, steps.dst_bits)
    ):
        return False
    if n == 0:
        return True
    merge_axes(src, dst, True)
    if not are_clear(src, dst):
        return False
    with nogil:
        run_layouts(steps, src, dst, n, NULL, n_threads)
    return True
