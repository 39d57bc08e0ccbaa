# Calls that came before: from the arguments to what they come to, by one look-up.

cdef enum:
    KEY_OPTIONS = 16  # words of the options of a call

# Words that describe an operand; that of a NumPy array is not negative, and its shape follows.
cdef int64_t NO_OPERAND = -1
cdef int64_t NUMBER = -2     # a Python float or int
cdef int64_t DESCRIBED = -3  # by a tuple, which is a part of the key


cdef object wide_integer = <object>cnp.PyArray_DescrFromType(cnp.NPY_INT64).typeobj


cdef Py_ssize_t describe_option(option, int64_t *words) except -2:
    # Write what tells an option from every other one, its type included: the number of words; -1 if none can.
    cdef int overflow = 0
    cdef int64_t number
    cdef Py_ssize_t count = 1
    if option is None:
        words[0] = 1
    elif type(option) is int:
        number = PyLong_AsLongLongAndOverflow(option, &overflow)
        if overflow or not -LARGEST_INT <= number <= LARGEST_INT:
            return -1
        words[0] = number * 4
    elif option is False or option is True:
        words[0] = 9 if option is True else 5
    elif type(option) is tuple:
        if len(<tuple>option) > KEY_RANK:
            return -1
        words[0] = len(<tuple>option) * 4 + 2
        for length in <tuple>option:
            if type(length) is not int or describe_option(length, words + count) < 0:
                return -1
            count += 1
    else:
        words[0] = 13  # the object itself is a part of the key
    return count


cdef Py_ssize_t describe_operand(operand, int64_t *words):
    # Write the type and the shape of an operand: the number of words; -1 if a call with it is not remembered.
    cdef cnp.ndarray array
    cdef int axis, rank
    if type(operand) is cnp.ndarray:
        array = operand
        rank = cnp.PyArray_NDIM(array)
        if rank > KEY_RANK:
            return -1
        words[0] = <int64_t>cnp.PyArray_TYPE(array) << 8 | rank
        for axis in range(rank):
            words[axis + 1] = cnp.PyArray_DIM(array, axis)
        return rank + 1
    words[0] = NO_OPERAND if operand is None else DESCRIBED if type(operand) is tuple else NUMBER
    return 1 if operand is None or type(operand) is tuple or type(operand) is float or type(operand) is int else -1


cdef object key_of(x, scale, zero_point, tuple options):
    # Return what equals the keys of calls that come to the same; None where there is none. Arrays of other libraries
    # are described by tuples of their dtype and their shape.
    cdef int64_t words[KEY_OPTIONS + 4 * (KEY_RANK + 1)]
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t more
    cdef object objects = None
    if len(options) > KEY_OPTIONS:
        return None
    for operand in (x, scale, zero_point):
        more = describe_operand(operand, words + count)
        if more < 0:
            return None
        if words[count] == DESCRIBED:
            objects = operand if objects is None else (objects, operand)
        count += more
    for option in options:
        more = describe_option(option, words + count)
        if more < 0 or count + more > KEY_OPTIONS + 3 * (KEY_RANK + 1):
            return None
        if words[count] == 13:
            objects = option if objects is None else (objects, option)
        count += more
    content = PyBytes_FromStringAndSize(<const char *>words, count * sizeof(int64_t))
    return content if objects is None else (content, objects)


cdef class KnownCalls:
    """The calls of one function that came before, on NumPy arrays or on arrays described by dtype and shape.

    Parameters
    ----------
    most : int
        How many are kept; all are forgotten when there are more.
    """

    cdef dict known
    cdef Py_ssize_t most

    def __init__(self, Py_ssize_t most):
        self.known = {}
        self.most = most

    def __len__(self):
        return len(self.known)

    def clear(self) -> None:
        """Forget all calls."""
        self.known.clear()

    def knows(self, x, scale, zero_point, tuple options not None) -> bool:
        """Whether a call with such arguments was remembered, or cannot be."""
        key = key_of(x, as_operand(scale), as_operand(zero_point), options)
        return key is None or key in self.known

    def remember(self, x, scale, zero_point, tuple options not None, call not None) -> None:
        """Keep what a call comes to. Options are None, int, bool, tuples of int, or names, which equal no number."""
        key = key_of(x, as_operand(scale), as_operand(zero_point), options)
        if key is None:
            return
        if len(self.known) >= self.most:
            self.known.clear()
        self.known[key] = call

    def find(self, x, scale, zero_point, tuple options not None) -> object:
        """Return what a call that came before comes to, of arrays as the keys describe them; None for other calls."""
        try:
            return self.known.get(key_of(x, as_operand(scale), as_operand(zero_point), options))
        except TypeError:  # what cannot be a key is named by the checks
            return None


cdef class LinearCalls(KnownCalls):
    """The calls of one linear operator that came before."""

    def run(self, x, scale, zero_point, out, tuple options not None, int n_threads) -> object:
        """Carry out a call that came before, into `out` or a new array; return that.

        None, with nothing done, where none was remembered, an array is not dense in C order and in native byte order
        (`out`, whose elements must follow each other in the order of C, may have steps), or the call needs checks that
        raise errors.
        """
        cdef LinearCall call
        cdef cnp.ndarray result
        cdef layout_t layout
        cdef layout_t *strided = NULL
        cdef const char *scale_memory = NULL
        cdef const char *zero_memory = NULL
        scale, zero_point = as_operand(scale), as_operand(zero_point)
        key = key_of(x, scale, zero_point, options)
        try:
            call = self.known.get(key)
        except TypeError:  # what cannot be a key is named by the checks
            return None
        if call is None or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x):
            return None
        if type(scale) is cnp.ndarray:
            if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>scale):
                return None
            scale_memory = cnp.PyArray_BYTES(<cnp.ndarray>scale)
        if type(zero_point) is cnp.ndarray:
            if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>zero_point):
                return None
            zero_memory = cnp.PyArray_BYTES(<cnp.ndarray>zero_point)
        if out is None:
            Py_INCREF(call.dtype)  # the new array keeps it
            result = new_array(len(call.shape), call.lengths, call.dtype, 0)
        elif type(out) is cnp.ndarray and takes_result(out, call):
            result = out
            if not cnp.PyArray_ISCARRAY(result):
                call.lay_out(&layout, cnp.PyArray_DATA(result), cnp.PyArray_STRIDES(result))
                strided = &layout
        else:
            return None
        if call.carry_out(
            cnp.PyArray_BYTES(<cnp.ndarray>x), scale_memory, zero_memory, scale, zero_point,
            cnp.PyArray_BYTES(result), strided, n_threads,
        ):
            return result
        return None


cdef inline object as_operand(operand):
    # NumPy's scalars are 0-d arrays; those of 64 bits, which no operand has, are numbers.
    if type(operand) is not cnp.ndarray and cnp.PyArray_CheckScalar(operand) and not cnp.PyArray_Check(operand):
        if isinstance(operand, float):
            return float(operand)
        if type(operand) is wide_integer:
            return int(operand)
        return cnp.PyArray_FROM_O(operand)
    return operand


cdef inline bint takes_result(cnp.ndarray out, LinearCall call):
    cdef int axis
    if not cnp.PyArray_ISBEHAVED(out) or cnp.PyArray_NDIM(out) != len(call.shape):
        return False
    if cnp.PyArray_TYPE(out) != (<cnp.dtype>call.dtype).type_num:
        return False
    for axis in range(cnp.PyArray_NDIM(out)):
        if cnp.PyArray_DIM(out, axis) != call.lengths[axis]:
            return False
    return True
