# What a call of a linear operator comes to: its program, and how its operands become what the loops read.
#
# No value of a call is kept: scales and zero points are read, and converted, each time.

cdef enum:
    KEY_RANK = 8      # axes of arrays in calls that are remembered
    SPREAD_ROOM = 64  # elements past the end of scales that are repeated, which are written several at a time

cdef int64_t LARGEST_INT = <int64_t>1 << 53  # float64 holds all integers up to here


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
        self, const char *x, const char *scale, const char *zero, scale_number, zero_number, char *result,
        layout_t *strided, int n_threads,
    ) except -1:
        # On memory, or on numbers in its place; into dense memory or, where `strided` is not NULL, into that. 0, with
        # nothing done, where the general way has to be taken: the result overlaps what is read, zero points are not 0
        # that can but be 0, or a number is out of range.
        cdef double factor
        cdef int32_t offset
        cdef Py_ssize_t zero_count = self.count
        cdef Operands operands
        cdef object scale_holder, zero_holder
        cdef uint64_t room[4]
        cdef const steps_t *steps = &self.program.steps
        cdef const char *first = result
        cdef const char *end = result + bytes_of(self.n, steps.dst_bits)
        cdef Py_ssize_t size
        cdef layout_t dense
        cdef Py_ssize_t repeat = self.repeat
        if scale == NULL:
            if type(scale_number) is int and not -LARGEST_INT <= scale_number <= LARGEST_INT:
                return 0
            factor = scale_number
            scale = <const char *>&factor
        if zero == NULL and zero_number is not None:
            if type(zero_number) is not int or not self.zero_min <= zero_number <= self.zero_max:
                return 0
            offset = zero_number
            zero = <const char *>&offset
            zero_count = 1
        set_dense_layout(&dense, x, self.n, steps.src_bits)
        if strided != NULL:
            if not fits(strided.start, steps.dst_bits):
                return 0
            join_all_axes(strided)
            if steps.dst_bits < 8 or not are_clear(&dense, strided):
                return 0
            span_of(strided, &first, &end)
        size = end - first
        if not (
            are_apart(first, size, x, bytes_of(self.n, steps.src_bits))
            and are_apart(first, size, scale, bytes_of(self.count, self.scale_bits))
            and (zero == NULL or are_apart(first, size, zero, bytes_of(zero_count, self.zero_bits)))
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
        if strided == NULL:
            run_dense(self.program, <const uint8_t *>x, <uint8_t *>result, self.n, operands, n_threads)
            return 1
        check_operands(self.program, operands)
        if self.program.takes_reciprocals:
            operands.compute_reciprocals(self.n)
        with nogil:
            run_layouts(steps, &dense, strided, self.n, &operands.view, n_threads)
        return 1

    def run_addresses(
        self, size_t x, size_t scale, size_t zero_point, scale_number, zero_number, size_t result, tuple steps,
        int n_threads,
    ) -> bool:
        """Run the call on memory, for the sizes of which the caller answers, or on numbers where the address is 0.

        `steps` are those along the axes of the result, in elements, or None where it is dense. False, with nothing
        done, where `LinearCalls.run` would return None.
        """
        cdef layout_t layout
        cdef cnp.npy_intp strides[KEY_RANK]
        cdef int axis
        if steps is not None:
            for axis in range(len(self.shape)):
                strides[axis] = steps[axis] * (self.program.steps.dst_bits // 8)
            self.lay_out(&layout, <void *>result, strides)
        return self.carry_out(
            <const char *>x, <const char *>scale, <const char *>zero_point, scale_number, zero_number, <char *>result,
            NULL if steps is None else &layout, n_threads,
        ) == 1

    cdef void lay_out(self, layout_t *layout, const void *start, const cnp.npy_intp *strides) noexcept:
        set_strided_layout(layout, start, len(self.shape), self.lengths, strides, self.program.steps.dst_bits)


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
