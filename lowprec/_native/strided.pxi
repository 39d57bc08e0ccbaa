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


def run_strided(Program program not None, src, dst, Operands operands, int n_threads) -> int:
    """Convert every element of `src` into `dst`, arrays of one shape and any strides, which must not overlap.

    Where the program packs or unpacks, that side is a dense array of bytes. Return how many axes the arrays have when
    those that their strides allow are made one.
    """
    cdef Py_buffer src_view, dst_view
    cdef layout_t src_layout, dst_layout
    cdef const steps_t *steps = &program.steps
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
