# Tensors of torch in memory of the host: as the C functions of DLPack describe them, or their attributes where there
# are no such functions.

cdef enum:
    CPU = 1           # of the kinds of devices of DLPack
    LOWEST = 1 << 16  # no process has memory below: a tensor that seems to start there has none

cdef struct tensor_t:  # DLTensor of dlpack.h
    const char *memory
    int32_t device
    int32_t device_index
    int32_t rank
    uint8_t code
    uint8_t bits
    uint16_t lanes
    int64_t *shape
    int64_t *strides  # in elements
    uint64_t offset

cdef struct exchange_t:  # DLPackExchangeAPI of dlpack.h
    uint32_t major
    uint32_t minor
    void *others[4]
    int (*describe)(PyObject *tensor, tensor_t *found) noexcept

cdef struct tensor_view_t:
    tensor_t tensor
    Py_ssize_t size
    bint dense
    int64_t room[2 * MAX_RANK]

cdef object tensor_type = None  # torch.Tensor, once it is known
cdef object new_tensor_like = None
cdef object mark_written = None
cdef Py_ssize_t tensors_below = 0
cdef const exchange_t *exchange = NULL


def set_tensors(tensor, empty_like, written, functions, Py_ssize_t below) -> None:
    """Let calls take tensors of torch: the class, what makes one like another, what is told that one was written to.

    `functions` is the capsule of DLPack's C functions, or None; tensors of `below` elements and more take the general
    way.
    """
    global tensor_type, new_tensor_like, mark_written, tensors_below, exchange
    cdef const exchange_t *found = NULL
    if functions is not None:
        found = <const exchange_t *>PyCapsule_GetPointer(functions, "dlpack_exchange_api")
    exchange = found if found != NULL and found.major == 1 and found.describe != NULL else NULL
    new_tensor_like, mark_written, tensors_below, tensor_type = empty_like, written, below, tensor


cdef bint view_tensor(operand, tensor_view_t *view) except -1:
    # Whether an operand is a tensor that lies in memory of the host as it is, and how.
    cdef tensor_t *tensor = &view.tensor
    cdef int axis
    if type(operand) is not tensor_type:
        return False
    if exchange == NULL:
        if not read_attributes(operand, view):
            return False
    elif exchange.describe(<PyObject *>operand, tensor) != 0:  # what is sparse, or wraps another tensor
        PyErr_Clear()
        return False
    if tensor.device != CPU or tensor.rank > MAX_RANK or operand.is_neg():
        return False
    view.size, view.dense = 1, True
    for axis in range(tensor.rank - 1, -1, -1):
        view.dense = view.dense and (tensor.strides[axis] == view.size or tensor.shape[axis] == 1)
        view.size *= tensor.shape[axis]
    view.dense = view.dense or view.size == 0
    return <size_t>tensor.memory >= LOWEST or view.size == 0


cdef bint read_attributes(operand, tensor_view_t *view) except -1:
    cdef tensor_t *tensor = &view.tensor
    cdef int axis
    try:
        if not operand.is_cpu or operand.is_nested or operand.dim() > MAX_RANK:
            return False
        tensor.memory = <const char *><size_t>operand.data_ptr()
        shape, strides = operand.shape, operand.stride()
    except RuntimeError:
        return False
    tensor.device, tensor.rank = CPU, len(shape)
    tensor.shape, tensor.strides = view.room, view.room + MAX_RANK
    for axis in range(tensor.rank):
        tensor.shape[axis], tensor.strides[axis] = shape[axis], strides[axis]
    return True


cdef bint view_operand(operand, tensor_view_t *view, const char **memory) except -1:
    # Whether an operand is no tensor, or a dense one, of which the memory is told.
    memory[0] = NULL
    if type(operand) is tensor_type:
        if not view_tensor(operand, view) or not view.dense:
            return False
        memory[0] = view.tensor.memory
    return True


cdef inline bint has_shape(const tensor_t *tensor, int rank, const cnp.npy_intp *shape) noexcept nogil:
    cdef int axis
    if tensor.rank != rank:
        return False
    for axis in range(rank):
        if tensor.shape[axis] != shape[axis]:
            return False
    return True


cdef void set_tensor_layout(layout_t *layout, const tensor_t *tensor, int bits) noexcept nogil:
    cdef cnp.npy_intp shape[MAX_RANK]
    cdef cnp.npy_intp strides[MAX_RANK]
    cdef int axis
    for axis in range(tensor.rank):
        shape[axis], strides[axis] = tensor.shape[axis], tensor.strides[axis] * (bits // 8)
    set_strided_layout(layout, tensor.memory, tensor.rank, shape, strides, bits)


def is_tensor_in_memory(x) -> bool:
    """Whether an array is a tensor of torch that lies in memory of the host as it is, of any strides."""
    cdef tensor_view_t view
    return view_tensor(x, &view)
