# Calls in host memory that came before: from the arguments by one look-up to what they come to, and to the result.
#
# No value of a call is kept: scales and zero points are read, and converted, each time.

cdef enum:
    KEY_RANK = 8      # axes of arrays in calls that are remembered
    KEY_WORDS = 64    # of a key
    MOST_NAMES = 4096
    LAST_CALLS = 256  # places of calls that were looked for last, a power of two
    SPREAD_ROOM = 64  # elements past the end of scales that are repeated, which are written several at a time

cdef int64_t LARGEST_INT = <int64_t>1 << 53  # float64 holds all integers up to here

cdef Py_ssize_t alone_below = 0  # elements below which a call takes one thread, whatever else goes on


def set_alone_below(Py_ssize_t n) -> None:
    """Say below how many elements a call that came before takes one thread, and asks nobody."""
    global alone_below
    alone_below = n


cdef class ScaleRoute:
    """From the scales and zero points of a caller to what the loops read of them.

    Parameters
    ----------
    n : int
        How many elements there are.
    granularity : Granularity
        Which of the scales, as the loops read them, belongs to which element.
    repeat, tile : int
        How often each scale of the caller is repeated for the loops, and then all of them.
    scale_bits, scale_steps : int, tuple of Program
        The width of a scale of the caller, a float64 where it is a Python number; from there to what the loops read.
    zero_bits, zero_steps : int, tuple of Program or None
        The same of zero points, an int32 where it is a Python number; None where they can but be 0.
    skips_zeros : bool
        Whether zero points that are all 0 change nothing.
    zero_range : (int, int)
        What a zero point that is a Python number may be.
    """

    cdef operands_t view
    cdef Py_ssize_t n
    cdef readonly Py_ssize_t count  # of the caller's scales
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
        self, Py_ssize_t n, granularity, Py_ssize_t repeat, Py_ssize_t tile, int scale_bits,
        tuple scale_steps not None, int zero_bits, tuple zero_steps, bint skips_zeros, tuple zero_range not None,
    ):
        cdef Py_ssize_t count = set_granularity(&self.view, n, granularity)
        if min(repeat, tile) < 1 or count % (repeat * tile):
            raise ValueError(f"`repeat` and `tile` must divide {count} scales; got {repeat} and {tile}")
        cdef int bits = scale_steps[len(scale_steps) - 1].dst_bits if scale_steps else scale_bits
        set_scale_item(&self.view, bits // 8)
        self.n, self.count, self.repeat, self.tile = n, count // (repeat * tile), repeat, tile
        self.scale_bits, self.scale_steps = scale_bits, scale_steps
        self.zero_bits, self.zero_steps, self.skips_zeros = zero_bits, zero_steps, skips_zeros
        self.zero_min, self.zero_max = zero_range

    def operands(
        self, const uint8_t[::1] scale not None, const uint8_t[::1] zero, bint copies, int n_threads,
    ) -> Operands:
        """Return what the loops read, of dense memory; none of the caller's where that is to be written over."""
        cdef Operands ready
        cdef const uint8_t *zero_memory = NULL
        cdef Py_ssize_t zero_size = -1
        if self.n == 0:
            return Operands.__new__(Operands)
        if zero is not None:
            zero_memory, zero_size = &zero[0], zero.shape[0]
        if (
            scale.shape[0] != bytes_of(self.count, self.scale_bits)
            or zero_size not in (-1, bytes_of(self.count, self.zero_bits))
        ):
            raise ValueError(f"`scale` and `zero` must hold {self.count} elements; got {scale.shape[0]} bytes")
        ready = self.ready(
            <const char *>&scale[0], <const char *>zero_memory, None, None, NULL,
            <const char *><size_t>(-<int>copies), n_threads)
        if ready is None:
            raise ValueError("`zero` must be 0 where the loops read no zero points")
        ready.source = scale, zero
        return ready

    cdef Operands ready(
        self, const char *scale, const char *zero, scale_number, zero_number, const char *first, const char *end,
        int n_threads,
    ):
        # Of memory, or of numbers in its place; the result, from `first` up to `end`, may overlap it. None where the
        # general way has to be taken: zero points are not 0 that can but be 0, or a number is out of range.
        cdef Operands operands = Operands.__new__(Operands)
        cdef Py_ssize_t zero_count = self.count
        cdef Py_ssize_t repeat = self.repeat
        if scale == NULL:
            if type(scale_number) is int and not -LARGEST_INT <= scale_number <= LARGEST_INT:
                return None
            if type(scale_number) is not int and type(scale_number) is not float:
                return None
            (<double *>operands.room)[4] = scale_number
            scale = <const char *>(operands.room + 4)
        if zero == NULL and zero_number is not None:
            if type(zero_number) is not int or not self.zero_min <= zero_number <= self.zero_max:
                return None
            (<int32_t *>(operands.room + 5))[0] = zero_number
            zero = <const char *>(operands.room + 5)
            zero_count = 1
        if zero != NULL and (self.skips_zeros or self.zero_steps is None):
            if is_zero(zero, bytes_of(zero_count, self.zero_bits)):
                zero = NULL
            elif self.zero_steps is None:
                return None
        operands.view, operands.count = self.view, self.count * self.repeat * self.tile
        operands.scale_holder = read_operand(
            &scale, self.view.scale_item, self.count, self.scale_steps, first, end, operands.room, n_threads)
        if self.count != operands.count:
            operands.scale_holder = spread_operand(&scale, self.view.scale_item, self.count, repeat, self.tile)
        if zero != NULL:
            operands.zero_holder = read_operand(
                &zero, 4, zero_count, self.zero_steps, first, end, operands.room + 2, n_threads)
            if zero_count != operands.count:
                repeat = repeat if zero_count == self.count else operands.count
                operands.zero_holder = spread_operand(
                    &zero, 4, zero_count, repeat, operands.count // (zero_count * repeat))
        operands.view.scale = scale
        operands.view.zero = zero
        return operands


cdef class HostCall:
    """What a call on host memory comes to: for arrays of one dtype and any shape, or, where there are scales, of one.

    Parameters
    ----------
    program : Program
        Converts the elements.
    dtype
        Of the result, in the library of the arrays.
    shape : tuple of int or None
        Of the values where the array, or what is shared, decides it; None where the array has that of the values.
    seeded : bool
        Whether the call takes a seed and the place of its first random number.
    needs_out : bool
        Whether it was `out` that said of which dtype the result is.
    route : ScaleRoute or None
        Where there are scales.
    """

    cdef Program program
    cdef readonly object dtype
    cdef readonly tuple shape
    cdef readonly bint seeded
    cdef readonly bint needs_out
    cdef bint packed      # whether the result is packed codes, one row of bytes
    cdef bint same_shape  # whether an array of any shape becomes a new one of that
    cdef ScaleRoute route
    cdef int rank
    cdef cnp.npy_intp lengths[KEY_RANK]

    def __init__(
        self, Program program not None, dtype, tuple shape=None, *, bint seeded=False, bint needs_out=False,
        ScaleRoute route=None,
    ):
        if shape is not None and len(shape) > KEY_RANK:
            raise ValueError(f"`shape` must have at most {KEY_RANK} axes; got {shape}")
        check_operands(program, None if route is None else Operands.__new__(Operands))
        if shape is None and (route is not None or program.steps.src_bits < 8):
            raise ValueError("`shape` must be given where there are scales or packed codes; got None")
        self.program, self.dtype, self.shape, self.route = program, dtype, shape, route
        self.seeded, self.needs_out = seeded, needs_out
        self.packed = program.steps.dst_bits < 8
        self.same_shape = shape is None and not self.packed
        self.rank = 0 if shape is None else len(shape)
        for axis in range(self.rank):
            self.lengths[axis] = shape[axis]

    cdef int carry_out(
        self, const steps_t *steps, const char *x, Py_ssize_t n, const char *scale, const char *zero, scale_number,
        zero_number, char *result, layout_t *strided, int n_threads,
    ) except -1:
        # On dense memory; into dense memory or, where `strided` is not NULL, into that. 0, with nothing done, where the
        # general way has to be taken.
        cdef Operands operands = None
        cdef const char *first = result
        cdef const char *end = result + bytes_of(n, steps.dst_bits)
        cdef const operands_t *view = NULL
        cdef layout_t dense
        if strided != NULL:
            set_dense_layout(&dense, x, n, steps.src_bits)
            if not fits(strided.start, steps.dst_bits):
                return 0
            join_all_axes(strided)
            if steps.dst_bits < 8 or steps.is_random or not are_clear(&dense, strided):
                return 0
            span_of(strided, &first, &end)
        if not are_apart(first, end - first, x, bytes_of(n, steps.src_bits)):
            return 0
        if self.route is not None:
            operands = self.route.ready(scale, zero, scale_number, zero_number, first, end, n_threads)
            if operands is None:
                return 0
        if strided == NULL:
            run_dense(self.program, steps, <const uint8_t *>x, <uint8_t *>result, n, operands, n_threads)
            return 1
        if operands is not None:
            if self.program.takes_reciprocals:
                operands.compute_reciprocals(n)
            view = &operands.view
        with nogil:
            run_layouts(steps, &dense, strided, n, view, n_threads)
        return 1

    cdef Py_ssize_t values_of(self, int rank, Py_ssize_t size) noexcept:
        # How many values an array of a rank and a size has; -1 where the call is not for it.
        cdef Py_ssize_t n = size
        if self.program.steps.src_bits < 8:
            n = cnp.PyArray_MultiplyList(self.lengths, self.rank)
            if rank != 1 or size != bytes_of(n, self.program.steps.src_bits):
                return -1
        return n if self.route is None or n == self.route.n else -1

    def run(self, x, scale, zero_point, seed, offset, out, int n_threads) -> object:
        """Return the result for a NumPy array or a tensor of torch, `out` or a new array.

        None, with nothing done, where the general way has to be taken: an array is in the other byte order, not
        aligned or not in memory of the host, where there are scales or packed codes not dense in C order (`out`, whose
        elements must follow each other in the order of C then, may have steps), the result overlaps the array, or the
        call needs checks that raise errors.
        """
        if type(x) is cnp.ndarray:
            return self.run_array(<cnp.ndarray>x, scale, zero_point, seed, offset, out, n_threads)
        return self.run_tensor(x, scale, zero_point, seed, offset, out, n_threads)

    cdef object run_tensor(self, x, scale, zero_point, seed, offset, out, int n_threads):
        cdef steps_t seeded
        cdef const steps_t *steps
        cdef tensor_view_t source, target, scale_view, zero_view
        cdef const char *scale_memory
        cdef const char *zero_memory
        cdef layout_t source_layout, target_layout
        cdef Py_ssize_t n
        cdef bint done = False
        if not takes_stream(self.seeded, seed, offset) or (out is None and self.needs_out):
            return None
        if not view_tensor(x, &source):
            return None
        steps = seeded_steps(&self.program.steps, seed, offset, &seeded)
        n = self.values_of(source.tensor.rank, source.size)
        if not 0 <= n < tensors_below:  # memory for large results comes from NumPy, in huge pages
            return None
        if not (view_operand(scale, &scale_view, &scale_memory) and view_operand(zero_point, &zero_view, &zero_memory)):
            return None
        if out is None:
            if not source.dense:
                return None
            if self.packed:
                result = x.new_empty(bytes_of(n, steps.dst_bits), dtype=self.dtype)
            elif self.shape is None or has_shape(&source.tensor, self.rank, self.lengths):
                result = new_tensor_like(x, dtype=self.dtype)
            else:  # numbers take half the time of a tuple
                result = x.new_empty(*self.shape or ((),), dtype=self.dtype)
        elif type(out) is tensor_type and out.dtype == self.dtype and not out.requires_grad:
            result = out
        else:
            return None
        if not view_tensor(result, &target) or not self.is_shape_of(&source.tensor, &target.tensor, n):
            return None
        if not target.dense:
            set_tensor_layout(&target_layout, &target.tensor, steps.dst_bits)
        if source.dense and (target.dense or self.route is not None):
            done = self.carry_out(
                steps, source.tensor.memory, n, scale_memory, zero_memory, scale, zero_point,
                <char *>target.tensor.memory, NULL if target.dense else &target_layout, n_threads)
        elif self.same_shape and not self.seeded:
            set_tensor_layout(&source_layout, &source.tensor, steps.src_bits)
            set_tensor_layout(&target_layout, &target.tensor, steps.dst_bits)
            done = run_strided_layouts(self.program, &source_layout, &target_layout, n_threads)
        if done and out is not None:
            mark_written(out)
        return result if done else None

    cdef bint is_shape_of(self, const tensor_t *source, const tensor_t *target, Py_ssize_t n) noexcept:
        # Whether the target has the shape of the result.
        cdef cnp.npy_intp shape[MAX_RANK]
        cdef int axis
        if self.packed:
            shape[0] = bytes_of(n, self.program.steps.dst_bits)
            return has_shape(target, 1, shape)
        if self.shape is not None:
            return has_shape(target, self.rank, self.lengths)
        for axis in range(source.rank):
            shape[axis] = source.shape[axis]
        return has_shape(target, source.rank, shape)

    cdef object run_array(self, cnp.ndarray x, scale, zero_point, seed, offset, out, int n_threads):
        cdef steps_t seeded
        cdef const steps_t *steps
        cdef cnp.ndarray result
        cdef Py_ssize_t n = self.values_of(cnp.PyArray_NDIM(x), cnp.PyArray_SIZE(x))
        cdef bint dense = cnp.PyArray_ISCARRAY_RO(x)
        cdef bint any_strides = self.shape is None
        cdef layout_t layout
        cdef layout_t *strided = NULL
        cdef const char *scale_memory = NULL
        cdef const char *zero_memory = NULL
        cdef int rank = self.rank
        cdef cnp.npy_intp *lengths = self.lengths
        cdef cnp.npy_intp row
        if not takes_stream(self.seeded, seed, offset) or n < 0 or (out is None and self.needs_out):
            return None
        steps = seeded_steps(&self.program.steps, seed, offset, &seeded)
        if self.shape is None:
            rank, lengths = cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x)
        if steps.dst_bits < 8:
            any_strides = False
            row = bytes_of(n, steps.dst_bits)
            rank, lengths = 1, &row
        if not (dense or any_strides and cnp.PyArray_ISBEHAVED_RO(x)):
            return None
        if self.route is not None:
            scale = scale if type(scale) is cnp.ndarray else as_operand(scale)
            zero_point = zero_point if zero_point is None else as_operand(zero_point)
            if type(scale) is cnp.ndarray:
                if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>scale):
                    return None
                scale_memory = cnp.PyArray_BYTES(<cnp.ndarray>scale)
            if type(zero_point) is cnp.ndarray:
                if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>zero_point):
                    return None
                zero_memory = cnp.PyArray_BYTES(<cnp.ndarray>zero_point)
        if out is None:
            Py_INCREF(self.dtype)  # the new array keeps it
            if dense:
                result = new_array(rank, lengths, self.dtype)
            else:
                result = new_like(x, cnp.NPY_KEEPORDER, self.dtype, 0)
        elif type(out) is cnp.ndarray and takes_result(out, rank, lengths, self.dtype):
            result = out
        else:
            return None
        if not (dense and cnp.PyArray_ISCARRAY(result)):
            if any_strides:
                return result if run_arrays_strided(self.program, x, result, n_threads) else None
            set_strided_layout(
                &layout, cnp.PyArray_DATA(result), rank, lengths, cnp.PyArray_STRIDES(result), steps.dst_bits)
            strided = &layout
        if self.carry_out(
            steps, cnp.PyArray_BYTES(x), n, scale_memory, zero_memory, scale, zero_point,
            cnp.PyArray_BYTES(result), strided, n_threads,
        ):
            return result
        return None


cdef inline bint takes_stream(bint seeded, seed, offset):
    # Whether a seed and an offset are those of a call with random numbers, or of one without.
    if not seeded:
        return seed is None and type(offset) is int and offset == 0
    return type(seed) is int and type(offset) is int and 0 <= seed < 1 << 64 and 0 <= offset < 1 << 63


cdef inline Py_ssize_t bytes_of(Py_ssize_t count, int bits) noexcept nogil:
    return (count * bits + 7) // 8


cdef inline bint are_apart(const char *a, Py_ssize_t a_size, const char *b, Py_ssize_t b_size) noexcept nogil:
    return a >= b + b_size or b >= a + a_size


cdef inline bint is_zero(const char *memory, Py_ssize_t size) noexcept nogil:
    # Whether the first byte is 0, and each equals the next.
    return size == 0 or memory[0] == 0 and memcmp(memory, memory + 1, size - 1) == 0


cdef object read_operand(
    const char **memory, int item, Py_ssize_t count, tuple steps, const char *first, const char *end,
    uint64_t *room, int n_threads,
):
    # Run programs over scales or zero points: one goes to `room`, which has two places, more to what is returned. Those
    # that are read as they are are copied if they are not aligned, or overlap what lies from `first` up to `end`.
    cdef Program program
    cdef object held = None, target_holder = None
    cdef char *target
    cdef int turn = 0
    if not steps and (not is_aligned(memory[0], item) or memory[0] < end and first < memory[0] + count * item):
        held = PyByteArray_FromStringAndSize(memory[0], count * item)
        memory[0] = PyByteArray_AS_STRING(held)
    for program in steps:
        if count == 1:
            target = <char *>&room[turn]
            turn = 1 - turn
        else:
            target_holder = memory_for_operand(bytes_of(count, program.steps.dst_bits))
            target = PyByteArray_AS_STRING(target_holder)
        run_dense(
            program, &program.steps, <const uint8_t *>memory[0], <uint8_t *>target, count, None, n_threads)
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


cdef inline object as_operand(operand):
    # NumPy's scalars are 0-d arrays; those of 64 bits, which no operand has, are numbers.
    if (
        operand is not None and type(operand) is not cnp.ndarray and type(operand) is not float
        and cnp.PyArray_CheckScalar(operand) and not cnp.PyArray_Check(operand)
    ):
        if isinstance(operand, float):
            return float(operand)
        if type(operand) is wide_integer:
            return int(operand)
        return cnp.PyArray_FROM_O(operand)
    return operand


cdef object wide_integer = <object>cnp.PyArray_DescrFromType(cnp.NPY_INT64).typeobj


cdef inline bint takes_result(cnp.ndarray out, int rank, const cnp.npy_intp *lengths, cnp.dtype dtype):
    cdef int axis
    if not cnp.PyArray_ISBEHAVED(out) or cnp.PyArray_NDIM(out) != rank or cnp.PyArray_TYPE(out) != dtype.type_num:
        return False
    for axis in range(rank):
        if cnp.PyArray_DIM(out, axis) != lengths[axis]:
            return False
    return True


# ---- keys of calls: words that tell operands and options from all others

# Words of an operand; that of a NumPy array is not negative. Where shapes count, that follows.
cdef int64_t NO_OPERAND = -1
cdef int64_t NUMBER = -2     # a Python float or int
cdef int64_t TENSOR = -3     # of torch, less its rank where shapes count; its dtype follows

cdef dict known_names = {}  # of names in keys, the one object that stands for all equal strings


cdef object one_of_equal(option):
    if type(option) is not str:
        return option
    if len(known_names) >= MOST_NAMES:  # the calls that have them are still found by interned strings
        known_names.clear()
    return known_names.setdefault(option, sys.intern(option))


cdef Py_ssize_t describe_options(tuple options, int64_t *words, Py_ssize_t count) except -2:
    # Words of options after those of operands: the number of all; -1 if none can tell.
    cdef Py_ssize_t index, more
    for index in range(len(options)):
        if not 0 <= count <= KEY_WORDS - KEY_RANK - 1:
            return -1
        more = describe_option(<object>PyTuple_GET_ITEM(options, index), words + count)
        count = more if more < 0 else count + more
    return count


cdef Py_ssize_t copy_addresses(tuple options, int64_t *words, Py_ssize_t count) except -2:
    # Words of options by their addresses, but of tuples, which callers make for each call, by what is in them.
    cdef Py_ssize_t index, more
    cdef PyObject *option
    if count < 0:
        return -1
    for index in range(len(options)):
        if count > KEY_WORDS - KEY_RANK - 1:
            return -1
        option = PyTuple_GET_ITEM(options, index)
        if isinstance(<object>option, tuple):
            more = describe_lengths(<object>option, words + count)
            if more < 0:
                return -1
            count += more
        else:
            words[count] = <int64_t><size_t>option
            count += 1
    return count


cdef inline Py_ssize_t describe_option(option, int64_t *words) except -2:
    # How many words there are; -1 if none can tell. An object is told by its address: the table holds it.
    if type(option) is str and not PyUnicode_CHECK_INTERNED(option):
        return describe_name(known_names.get(option), words)
    if type(option) is int or isinstance(option, tuple):
        return describe_lengths(option, words)
    words[0] = <int64_t><size_t><void *>option  # a multiple of four
    return 1


cdef Py_ssize_t describe_name(name, int64_t *words) noexcept:
    words[0] = <int64_t><size_t><void *>name
    return -1 if name is None else 1  # it is in no key


cdef Py_ssize_t describe_lengths(option, int64_t *words) except -2:
    cdef int overflow = 0
    cdef int64_t number
    cdef Py_ssize_t count = 1
    if type(option) is int:
        number = PyLong_AsLongLongAndOverflow(option, &overflow)
        if overflow or not -LARGEST_INT <= number <= LARGEST_INT:
            return -1
        words[0] = number * 4 + 1
        return 1
    if len(<tuple>option) > KEY_RANK:
        return -1
    words[0] = len(<tuple>option) * 4 + 2
    for length in <tuple>option:
        if type(length) is not int or describe_lengths(length, words + count) < 0:
            return -1
        count += 1
    return count


cdef Py_ssize_t describe_operand(operand, bint by_shape, int64_t *words) except -2:
    # How many words there are; -1 if a call with it is not remembered.
    cdef cnp.ndarray array
    cdef tensor_view_t view
    cdef int axis, rank
    if operand is None:
        words[0] = NO_OPERAND
        return 1
    if type(operand) is cnp.ndarray:
        array = <cnp.ndarray>operand
        words[0] = <int64_t>cnp.PyArray_TYPE(array) << 8
        if not by_shape:
            return 1
        rank = cnp.PyArray_NDIM(array)
        if rank > KEY_RANK:
            return -1
        words[0] |= rank
        for axis in range(rank):
            words[axis + 1] = cnp.PyArray_DIM(array, axis)
        return rank + 1
    if type(operand) is float or type(operand) is int:
        words[0] = NUMBER
        return 1
    if type(operand) is not tensor_type:
        plain = as_operand(operand)
        return -1 if plain is operand else describe_operand(plain, by_shape, words)
    words[0] = TENSOR
    words[1] = <int64_t><size_t><void *>operand.dtype
    if not by_shape:
        return 2
    if not view_tensor(operand, &view) or view.tensor.rank > KEY_RANK:
        return -1
    words[0] -= view.tensor.rank
    for axis in range(view.tensor.rank):
        words[axis + 2] = view.tensor.shape[axis]
    return view.tensor.rank + 2


cdef class KnownCall:
    # What a call comes to, with its key, and with the objects whose addresses are in that.
    cdef object call
    cdef bytes key
    cdef object held


cdef KnownCall known_call(call, const int64_t *words, Py_ssize_t count, held):
    cdef KnownCall known = KnownCall.__new__(KnownCall)
    known.call, known.held = call, held
    known.key = PyBytes_FromStringAndSize(<const char *>words, count * sizeof(int64_t))
    return known


cdef inline bint has_key(KnownCall known, const int64_t *words, Py_ssize_t count):
    cdef Py_ssize_t size = count * sizeof(int64_t)
    return known is not None and len(known.key) == size and memcmp(PyBytes_AS_STRING(known.key), words, size) == 0


cdef inline uint64_t hash_of(const int64_t *words, Py_ssize_t count) noexcept nogil:
    cdef uint64_t factor = <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t mixed = count
    cdef uint64_t odd = factor
    cdef Py_ssize_t i
    for i in range(count):
        mixed += <uint64_t>words[i] * odd
        odd += 2 * factor
    return (mixed ^ mixed >> 32) >> 4  # an int of two digits


cdef class CallCache:
    """The calls of some functions that came before, on NumPy arrays or on tensors of torch.

    Parameters
    ----------
    most : int
        How many are kept; all are forgotten when there are more.
    share : callable
        Calls a function with arguments and a number of threads, given the number of elements and these.
    by_shape : bool
        Whether a call holds for arrays of one shape only.
    """

    cdef dict known
    cdef list last  # of these some, by the addresses of their options, each at the place that its key says
    cdef readonly Py_ssize_t most
    cdef public object share
    cdef readonly bint by_shape

    def __init__(self, Py_ssize_t most, share, *, bint by_shape):
        self.known, self.last, self.most, self.share, self.by_shape = {}, [], most, share, by_shape
        self.clear()

    def __len__(self):
        return len(self.known)

    def clear(self) -> None:
        """Forget all calls."""
        self.known.clear()
        self.last[:] = [None] * LAST_CALLS

    cdef Py_ssize_t describe_operands(self, x, scale, zero_point, int64_t *words) except -2:
        # What equals the words of calls that come to the same: their number; -1 where none can tell.
        cdef Py_ssize_t count = describe_operand(x, self.by_shape, words)
        cdef Py_ssize_t more
        if count < 0:
            return -1
        more = describe_operand(scale, self.by_shape, words + count)
        if more < 0:
            return -1
        count += more
        more = describe_operand(zero_point, self.by_shape, words + count)
        return more if more < 0 else count + more

    def remember(self, x, scale, zero_point, tuple options not None, call not None) -> None:
        """Keep what a call comes to, and what its key has the addresses of.

        Options are None, int, bool, tuples of int, or objects that never change.
        """
        cdef int64_t words[KEY_WORDS]
        cdef Py_ssize_t count = self.describe_operands(x, scale, zero_point, words)
        options = tuple([one_of_equal(option) for option in options])
        count = describe_options(options, words, count)
        if count < 0:
            return
        if len(self.known) >= self.most:
            self.clear()
        held = options, [one.dtype for one in (x, scale, zero_point) if type(one) is tensor_type]
        self.known[hash_of(words, count)] = known_call(call, words, count, held)

    cdef object look_up(self, x, scale, zero_point, tuple options):
        # By the addresses of the options first: where these are objects of a call before, there is no more to ask.
        cdef int64_t words[KEY_WORDS]
        cdef Py_ssize_t start = self.describe_operands(x, scale, zero_point, words)
        cdef Py_ssize_t count = copy_addresses(options, words, start)
        cdef uint64_t place = hash_of(words, count) % LAST_CALLS
        cdef KnownCall known
        if count < 0:
            return None
        known = <KnownCall>self.last[place]
        if has_key(known, words, count):
            return known.call
        count = describe_options(options, words, start)
        if count < 0:
            return None
        known = <KnownCall>self.known.get(hash_of(words, count))
        if not has_key(known, words, count):
            return None
        count = copy_addresses(options, words, start)
        self.last[place] = known_call(known.call, words, count, (options, known))
        return known.call

    def find(self, x, scale, zero_point, tuple options not None) -> object:
        """Return what a call that came before comes to, of arrays as the keys describe them; None for other calls."""
        return self.look_up(x, scale, zero_point, options)

    @cython.binding(False)  # one that is bound once takes less time to call
    def run(self, x, scale, zero_point, tuple options not None, seed, offset, out) -> object:
        """Carry out a call that came before; None, with nothing done, where `HostCall.run` has it.

        The caller has checked that torch traces and transforms nothing.
        """
        cdef Py_ssize_t n = 0
        cdef HostCall call
        cdef bint is_array = type(x) is cnp.ndarray
        if not is_array and type(x) is not tensor_type:
            return None
        call = self.look_up(x, scale, zero_point, options)
        if call is None:
            return None
        if is_array:
            n = cnp.PyArray_SIZE(<cnp.ndarray>x)
        elif alone_below < tensors_below:
            n = x.numel()
        if n >= alone_below:
            return self.share(n, call.run, x, scale, zero_point, seed, offset, out)
        if is_array:
            return call.run_array(<cnp.ndarray>x, scale, zero_point, seed, offset, out, 1)
        return call.run_tensor(x, scale, zero_point, seed, offset, out, 1)
