# The door for arrays that are not dense: tiles are gathered and scattered, the whole array is never copied.
#
# It asks the buffer protocol itself, since a typed memoryview has a fixed number of dimensions.

cdef struct layout_t:
    char *start
    int rank
    int item                # bytes, of a packed array one
    int bits                # of one element
    int dense               # elements follow each other in C order
    Py_ssize_t shape[MAX_RANK]
    Py_ssize_t strides[MAX_RANK]


cdef int read_layout(Py_buffer *view, int bits, layout_t *layout) except -1:
    cdef Py_ssize_t expected = view.itemsize
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
    if bits != 8 * layout.item and not (bits < 8 and layout.item == 1 and layout.rank == 1 and layout.dense):
        raise ValueError(f"elements of {bits} bits, or packed dense bytes; got {8 * layout.item} bits")
    return 0


cdef Py_ssize_t size_of(const layout_t *layout) noexcept nogil:
    cdef Py_ssize_t n = 1
    cdef int axis
    for axis in range(layout.rank):
        n *= layout.shape[axis]
    return n


cdef inline void copy_row(
    const char *src, Py_ssize_t src_step, char *dst, Py_ssize_t dst_step, Py_ssize_t n, int item,
) noexcept nogil:
    cdef Py_ssize_t i
    if src_step == item and dst_step == item:
        memcpy(dst, src, n * item)
    elif item == 1:
        for i in range(n):
            dst[i * dst_step] = src[i * src_step]
    elif item == 2:
        for i in range(n):
            (<uint16_t *>(dst + i * dst_step))[0] = (<const uint16_t *>(src + i * src_step))[0]
    elif item == 4:
        for i in range(n):
            (<uint32_t *>(dst + i * dst_step))[0] = (<const uint32_t *>(src + i * src_step))[0]
    else:
        for i in range(n):
            (<uint64_t *>(dst + i * dst_step))[0] = (<const uint64_t *>(src + i * src_step))[0]


cdef void move_tile(const layout_t *layout, Py_ssize_t first, Py_ssize_t n, char *tile, bint gather) noexcept nogil:
    # Walk rows of the last axis from element `first` in C order, to the tile or from it.
    cdef Py_ssize_t index[MAX_RANK]
    cdef Py_ssize_t rest = first
    cdef Py_ssize_t row, step
    cdef int last = layout.rank - 1
    cdef int axis
    cdef char *here = layout.start
    for axis in range(last, -1, -1):
        index[axis] = rest % layout.shape[axis]
        rest //= layout.shape[axis]
        here += index[axis] * layout.strides[axis]
    step = layout.strides[last]
    while n > 0:
        row = min(n, layout.shape[last] - index[last])
        if gather:
            copy_row(here, step, tile, layout.item, row, layout.item)
        else:
            copy_row(tile, layout.item, here, step, row, layout.item)
        tile += row * layout.item
        n -= row
        here -= index[last] * step
        index[last] = 0
        axis = last - 1
        while axis >= 0:
            index[axis] += 1
            here += layout.strides[axis]
            if index[axis] < layout.shape[axis]:
                break
            here -= index[axis] * layout.strides[axis]
            index[axis] = 0
            axis -= 1


cdef void run_strided_chunk(
    const layout_t *src, const layout_t *dst, Py_ssize_t first, Py_ssize_t n,
    Py_ssize_t whole, int n_stages, const int *stages, const params_t *params, const operands_t *operands,
) noexcept nogil:
    cdef uint64_t gathered[TILE]
    cdef uint64_t converted[TILE]
    cdef const uint8_t *here
    cdef uint8_t *there
    cdef Py_ssize_t tile, start, count
    cdef rest_t rest
    cdef lp_mode mode = lp_mode_enter()
    for tile in range((n + TILE - 1) // TILE):
        start = first + tile * TILE
        count = min(<Py_ssize_t>TILE, first + n - start)
        here = <const uint8_t *>(src.start + start * src.bits // 8)
        there = <uint8_t *>(dst.start + start * dst.bits // 8)
        if not src.dense:
            move_tile(src, start, count, <char *>gathered, True)
            here = <const uint8_t *>gathered
        if not dst.dense:
            there = <uint8_t *>converted
        rest.src = whole - start - count if src.dense else 0
        rest.dst = whole - start - count if dst.dense else 0
        run_tiles(here, there, start, count, rest, n_stages, stages, params, src.bits, dst.bits, operands)
        if not dst.dense:
            move_tile(dst, start, count, <char *>converted, False)
    lp_mode_leave(mode)


def run_strided(Program program not None, src, dst, Operands operands, int n_threads) -> None:
    """Convert every element of `src` into `dst`, arrays of one shape and any strides, which must not overlap.

    Where the program packs or unpacks, that side is a dense array of bytes.
    """
    cdef Py_buffer src_view, dst_view
    cdef layout_t src_layout, dst_layout
    cdef Py_ssize_t size, chunks, chunk, start, n
    cdef int n_stages = program.n_stages
    cdef const int *stages = program.stages
    cdef const params_t *params = &program.params
    cdef const operands_t *beside_them = NULL
    cdef bint packed
    check_operands(program, operands)
    if operands is not None:
        beside_them = &operands.view
    PyObject_GetBuffer(src, &src_view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
    try:
        PyObject_GetBuffer(dst, &dst_view, PyBUF_STRIDED | PyBUF_FORMAT)
        try:
            read_layout(&src_view, program.src_bits, &src_layout)
            read_layout(&dst_view, program.dst_bits, &dst_layout)
            packed = program.src_bits < 8 or program.dst_bits < 8
            n = size_of(&dst_layout if program.src_bits < 8 else &src_layout)
            if packed and 8 * src_layout.item * size_of(&src_layout) < n * program.src_bits:
                raise ValueError(f"`src` must hold {n} elements; got {src.shape[0]} bytes")
            if packed and 8 * dst_layout.item * size_of(&dst_layout) < n * program.dst_bits:
                raise ValueError(f"`dst` must hold {n} elements; got {dst.shape[0]} bytes")
            if src_layout.rank == 0 or dst_layout.rank == 0 or not packed and src.shape != dst.shape:
                raise ValueError(f"`src` and `dst` must have one shape and an axis; got {src.shape} and {dst.shape}")
            size = chunk_size(n, n_threads)
            with nogil:
                if size >= n:
                    run_strided_chunk(&src_layout, &dst_layout, 0, n, n, n_stages, stages, params, beside_them)
                else:
                    chunks = (n + size - 1) // size
                    for chunk in prange(chunks, schedule="static", num_threads=min(n_threads, chunks)):
                        start = chunk * size
                        run_strided_chunk(
                            &src_layout, &dst_layout, start, min(size, n - start), n, n_stages, stages, params,
                            beside_them,
                        )
        finally:
            PyBuffer_Release(&dst_view)
    finally:
        PyBuffer_Release(&src_view)
