# How the elements of strided arrays lie: shapes, steps, axes that can be made one, memory that is shared.

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
