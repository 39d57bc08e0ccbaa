# Calls of the linear operators that came before: from the arguments to the program and its operands, by one look-up.
#
# No value of a call is kept: scales and zero points are read, and converted to what the loops read, each time.

cdef enum:
    KEY_RANK = 8       # axes of the arrays of calls that are remembered
    KEY_OPTIONS = 16   # options of a call
    SPREAD_ROOM = 64   # elements past the end of scales that are repeated, which are written several at a time

cdef int64_t NO_OPERAND = -1
cdef int64_t NUMBER = -2  # a Python float, or an int of LARGEST_INT at most, which float64 holds exactly
cdef int64_t LARGEST_INT = <int64_t>1 << 53


cdef class LinearCall:
    """What a call of a linear operator comes to, for dense arrays of certain dtypes and shapes.

    Parameters
    ----------
    program : Program
        Converts the elements.
    dtype, shape
        Of the result, in the library of the arrays.
    n : int
        How many elements there are.
    granularity : Granularity
        Which of the scales, as the loops read them, belongs to which element.
    spread : (int, int, int)
        How many scales the caller has, how often each is repeated for the loops, and then all of them.
    scale_bits, scale_steps : int, tuple of Program
        The width of a scale of the caller, a float64 where it is a Python number; from there to what the loops read.
    zero_bits, zero_steps : int, tuple of Program or None
        The same of zero points, an int32 where it is a Python number; None where they can but be 0.
    skips_zeros : bool
        Whether zero points that are all 0 change nothing.
    zero_range : (int, int)
        What a zero point that is a Python number may be.
    """

    cdef Program program
    cdef readonly object dtype
    cdef readonly tuple shape
    cdef cnp.npy_intp lengths[KEY_RANK]
    cdef operands_t view
    cdef Py_ssize_t n
    cdef Py_ssize_t count
    cdef Py_ssize_t repeat
    cdef Py_ssize_t tile
    cdef int scale_bits
    cdef tuple scale_steps
    cdef int zero_bits
    cdef tuple zero_steps
    cdef bint skips_zeros
    cdef int64_t zero_min
    cdef int64_t zero_max

    def __init__(
        self, Program program not None, dtype, tuple shape not None, Py_ssize_t n, granularity, tuple spread not None,
        int scale_bits, tuple scale_steps not None, int zero_bits, tuple zero_steps, bint skips_zeros,
        tuple zero_range not None,
    ):
        if len(shape) > KEY_RANK or n < 1:
            raise ValueError(f"`shape` must have at most {KEY_RANK} axes, and elements; got {shape}")
        self.count, self.repeat, self.tile = spread
        cdef Py_ssize_t count = self.count * self.repeat * self.tile
        cdef int item = (scale_steps[len(scale_steps) - 1].dst_bits if scale_steps else scale_bits) // 8
        cdef Operands operands = Operands(bytes(count * item), None, item, n, granularity)  # checks them
        if operands.count != count:
            raise ValueError(f"`spread` must lead to {operands.count} scales; got {spread}")
        self.view = operands.view
        self.program, self.dtype, self.shape, self.n = program, dtype, shape, n
        self.scale_bits, self.scale_steps = scale_bits, scale_steps
        self.zero_bits, self.zero_steps, self.skips_zeros = zero_bits, zero_steps, skips_zeros
        self.zero_min, self.zero_max = zero_range
        for axis, length in enumerate(shape):
            self.lengths[axis] = length

    cdef int carry_out(
        self, const char *x, const char *scale, const char *zero, Py_ssize_t zero_count, char *result, int n_threads,
    ) except -1:
        # 0, with nothing done, where the result overlaps what is read, or zero points are not 0 that can but be 0.
        cdef Operands operands
        cdef object scale_holder, zero_holder
        cdef uint64_t room[4]
        cdef const steps_t *steps = &self.program.steps
        cdef Py_ssize_t size = bytes_of(self.n, steps.dst_bits)
        cdef Py_ssize_t repeat = self.repeat
        if not (
            are_apart(result, size, x, bytes_of(self.n, steps.src_bits))
            and are_apart(result, size, scale, bytes_of(self.count, self.scale_bits))
            and (zero == NULL or are_apart(result, size, zero, bytes_of(zero_count, self.zero_bits)))
        ):
            return 0
        if zero != NULL and (self.skips_zeros or self.zero_steps is None):
            if is_zero(zero, bytes_of(zero_count, self.zero_bits)):
                zero = NULL
            elif self.zero_steps is None:
                return 0
        operands = Operands.__new__(Operands)
        operands.count = self.count * self.repeat * self.tile
        operands.view = self.view
        if self.scale_steps:
            scale_holder = convert_operand(self.scale_steps, &scale, self.count, room)
        if self.count != operands.count:
            scale_holder = spread_operand(&scale, self.view.scale_item, self.count, repeat, self.tile)
        if zero != NULL:
            if self.zero_steps:
                zero_holder = convert_operand(self.zero_steps, &zero, zero_count, room + 2)
            if zero_count != operands.count:
                repeat = repeat if zero_count == self.count else operands.count
                zero_holder = spread_operand(&zero, 4, zero_count, repeat, operands.count // (zero_count * repeat))
        operands.view.scale = scale
        operands.view.zero = zero
        run_dense(self.program, <const uint8_t *>x, <uint8_t *>result, self.n, operands, n_threads)
        return 1


cdef inline Py_ssize_t bytes_of(Py_ssize_t count, int bits) noexcept nogil:
    return (count * bits + 7) // 8


cdef inline bint are_apart(const char *a, Py_ssize_t a_size, const char *b, Py_ssize_t b_size) noexcept nogil:
    return a >= b + b_size or b >= a + a_size


cdef inline bint is_zero(const char *memory, Py_ssize_t size) noexcept nogil:
    # Whether the first byte is 0, and each equals the next.
    return size == 0 or memory[0] == 0 and memcmp(memory, memory + 1, size - 1) == 0


cdef object convert_operand(tuple steps, const char **memory, Py_ssize_t count, uint64_t *room):
    # Run programs over scales or zero points: one goes to `room`, which has two places, more to what is returned.
    cdef Program program
    cdef object held = None, target_holder = None
    cdef char *target
    cdef int turn = 0
    for program in steps:
        if count == 1:
            target = <char *>&room[turn]
            turn = 1 - turn
        else:
            target_holder = PyByteArray_FromStringAndSize(NULL, bytes_of(count, program.steps.dst_bits))
            target = PyByteArray_AS_STRING(target_holder)
        run_dense(program, <const uint8_t *>memory[0], <uint8_t *>target, count, None, 1)
        memory[0] = target
        held = target_holder
    return held


cdef object spread_operand(const char **memory, int item, Py_ssize_t count, Py_ssize_t repeat, Py_ssize_t tile):
    # Repeat each of the scales or zero points, then all of them; what is returned holds them.
    cdef Py_ssize_t size = count * repeat * item
    cdef object held = PyByteArray_FromStringAndSize(NULL, size * tile + SPREAD_ROOM * item)
    cdef char *target = PyByteArray_AS_STRING(held)
    cdef Py_ssize_t i
    repeat_in_use[item == 8](memory[0], target, count * repeat, 0, repeat)
    for i in range(1, tile):
        memcpy(target + i * size, target, size)
    memory[0] = target
    return held


# ---- keys: what of the arguments decides all but the values


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


cdef Py_ssize_t describe_array(operand, int64_t *words):
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
    words[0] = NO_OPERAND if operand is None else NUMBER
    return 1 if operand is None or type(operand) is float or type(operand) is int else -1


cdef object key_of(x, scale, zero_point, tuple options):
    # Return what equals the keys of calls that come to the same; None where there is none.
    cdef int64_t words[KEY_OPTIONS + 4 * (KEY_RANK + 1)]
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t more
    cdef object names = None
    if len(options) > KEY_OPTIONS:
        return None
    for operand in (x, scale, zero_point):
        more = describe_array(operand, words + count)
        if more < 0:
            return None
        count += more
    for option in options:
        more = describe_option(option, words + count)
        if more < 0 or count + more > KEY_OPTIONS + 3 * (KEY_RANK + 1):
            return None
        if words[count] == 13:
            names = (names, option) if names is not None else option
        count += more
    content = PyBytes_FromStringAndSize(<const char *>words, count * sizeof(int64_t))
    return content if names is None else (content, names)


cdef class LinearCalls:
    """The calls of one linear operator that came before, on NumPy arrays.

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

    def remember(self, x, scale, zero_point, tuple options not None, LinearCall call not None) -> None:
        """Keep what a call comes to. Options are None, int, bool, tuples of int, or names that equal no number."""
        key = key_of(x, as_operand(scale), as_operand(zero_point), options)
        if key is None:
            return
        if len(self.known) >= self.most:
            self.known.clear()
        self.known[key] = call

    def run(self, x, scale, zero_point, out, tuple options not None, int n_threads) -> object:
        """Carry out a call that came before, into `out` or a new array; return that.

        None, with nothing done, where none was remembered, an array is not dense in C order and in native byte order,
        or the call needs checks that raise errors.
        """
        cdef LinearCall call
        cdef cnp.ndarray array, result
        cdef const char *scale_memory
        cdef const char *zero_memory = NULL
        cdef Py_ssize_t zero_count = 1
        cdef double factor
        cdef int32_t offset
        scale, zero_point = as_operand(scale), as_operand(zero_point)
        key = key_of(x, scale, zero_point, options)
        try:
            call = self.known.get(key)
        except TypeError:  # what cannot be a key is named by the checks
            return None
        if call is None or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x):
            return None
        if type(scale) is cnp.ndarray:
            array = scale
            if not cnp.PyArray_ISCARRAY_RO(array):
                return None
            scale_memory = cnp.PyArray_BYTES(array)
        else:
            if type(scale) is int and not -LARGEST_INT <= scale <= LARGEST_INT:
                return None
            factor = scale
            scale_memory = <const char *>&factor
        if type(zero_point) is cnp.ndarray:
            array = zero_point
            if not cnp.PyArray_ISCARRAY_RO(array):
                return None
            zero_memory = cnp.PyArray_BYTES(array)
            zero_count = call.count
        elif zero_point is not None:
            if type(zero_point) is not int or not call.zero_min <= zero_point <= call.zero_max:
                return None
            offset = zero_point
            zero_memory = <const char *>&offset
        if out is None:
            Py_INCREF(call.dtype)  # the new array keeps it
            result = new_array(len(call.shape), call.lengths, call.dtype, 0)
        else:
            if not (type(out) is cnp.ndarray and takes_result(out, call)):
                return None
            result = out
        if not call.carry_out(
            cnp.PyArray_BYTES(<cnp.ndarray>x), scale_memory, zero_memory, zero_count, cnp.PyArray_BYTES(result),
            n_threads,
        ):
            return None
        return result


cdef inline object as_operand(operand):
    # NumPy's scalars are 0-d arrays.
    if type(operand) is not cnp.ndarray and cnp.PyArray_CheckScalar(operand) and not cnp.PyArray_Check(operand):
        return cnp.PyArray_FROM_O(operand)
    return operand


cdef inline bint takes_result(cnp.ndarray out, LinearCall call):
    cdef int axis
    if not cnp.PyArray_ISCARRAY(out) or cnp.PyArray_NDIM(out) != len(call.shape):
        return False
    if cnp.PyArray_TYPE(out) != (<cnp.dtype>call.dtype).type_num:
        return False
    for axis in range(cnp.PyArray_NDIM(out)):
        if cnp.PyArray_DIM(out, axis) != call.lengths[axis]:
            return False
    return True
