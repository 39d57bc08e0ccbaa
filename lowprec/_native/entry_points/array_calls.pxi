# What a call on one array comes to: the scales of its values, or its blocks.

cdef enum:
    MOST_RESULTS = 3
    MOST_SHARES = 64  # of threads that look for a largest magnitude
    MOST_STEPS = 3  # of a range


cdef class ArrayCall:
    """What a call on a dense array of a dtype and a shape comes to.

    Parameters
    ----------
    results : tuple of (tuple of int, dtype)
        The shape and the dtype of each result, in the library of the array.
    """

    cdef readonly tuple results
    cdef bint seeded
    cdef int ranks[MOST_RESULTS]
    cdef cnp.npy_intp lengths[MOST_RESULTS][KEY_RANK]
    cdef Py_ssize_t sizes[MOST_RESULTS]  # in bytes

    def __init__(self, tuple results not None):
        if len(results) > MOST_RESULTS or any(len(shape) > KEY_RANK for shape, _ in results):
            raise ValueError(f"`results` must be at most {MOST_RESULTS}, of at most {KEY_RANK} axes; got {results}")
        self.results = results
        for index, (shape, dtype) in enumerate(results):
            self.ranks[index], self.sizes[index] = len(shape), dtype.itemsize
            for axis, length in enumerate(shape):
                self.lengths[index][axis] = length
                self.sizes[index] *= length

    cdef int carry_out(
        self, const char *x, const char *factor, number, stream_t stream, char **results, int n_threads,
    ) except -1:
        # `factor` is an operand, or NULL where it is a number, or None. 0, with nothing done, where it needs checks
        # that raise errors.
        return 0

    cdef char *memory_of(self, result, int index, bint is_array) except? NULL:
        # Where a result goes; NULL where that array, of the caller perhaps, has not the dtype, shape and memory for it.
        cdef tensor_view_t view
        cdef object dtype = (<tuple>(<tuple>self.results)[index])[1]
        if is_array:
            if (
                type(result) is cnp.ndarray and cnp.PyArray_ISCARRAY(<cnp.ndarray>result)
                and takes_result(result, self.ranks[index], self.lengths[index], dtype)
            ):
                return cnp.PyArray_BYTES(<cnp.ndarray>result)
        elif (
            type(result) is tensor_type and result.dtype == dtype and not result.requires_grad
            and view_tensor(result, &view) and view.dense
            and has_shape(&view.tensor, self.ranks[index], self.lengths[index])
        ):
            return <char *>view.tensor.memory
        return NULL

    def run(self, x, factor, seed, offset, out, int n_threads) -> tuple | None:
        """Return the results for a NumPy array or a tensor of torch, the tuple `out` or new arrays.

        None, with nothing done, where the general way has to be taken: an array is not dense in native byte order and
        in memory of the host, arrays overlap, or the call needs checks that raise errors.
        """
        cdef char *memory[MOST_RESULTS]
        cdef const char *source
        cdef const char *operand = NULL
        cdef tensor_view_t view
        cdef bint is_array = type(x) is cnp.ndarray
        cdef Py_ssize_t size = 0
        cdef int index, other
        if not takes_stream(self.seeded, seed, offset):
            return None
        factor = as_operand(factor)
        if is_array:
            if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x):
                return None
            source, size = cnp.PyArray_BYTES(<cnp.ndarray>x), cnp.PyArray_NBYTES(<cnp.ndarray>x)
        else:
            if not view_tensor(x, &view) or not view.dense:
                return None
            source = view.tensor.memory
            if out is not None:
                size = view.size * <Py_ssize_t>x.element_size()
            elif view.size >= tensors_below:  # memory for large results comes from NumPy, in huge pages
                return None
        if type(factor) is cnp.ndarray:
            if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>factor):
                return None
            operand = cnp.PyArray_BYTES(<cnp.ndarray>factor)
        elif not view_operand(factor, &view, &operand):
            return None
        if out is not None and (type(out) is not tuple or len(<tuple>out) != len(self.results)):
            return None
        made = []
        for index in range(len(self.results)):
            shape, dtype = (<tuple>self.results)[index]
            if out is not None:
                result = (<tuple>out)[index]
            elif is_array:
                Py_INCREF(dtype)  # the new array keeps it
                result = new_array(self.ranks[index], self.lengths[index], dtype)
            else:  # numbers take half the time of a tuple
                result = x.new_empty(*shape or ((),), dtype=dtype)
            memory[index] = self.memory_of(result, index, is_array)
            if memory[index] == NULL:
                return None
            made.append(result)
        if out is not None:
            for index in range(len(self.results)):
                if not are_apart(memory[index], self.sizes[index], source, size):
                    return None
                for other in range(index):
                    if not are_apart(memory[index], self.sizes[index], memory[other], self.sizes[other]):
                        return None
        if not self.carry_out(
            source, operand, factor, stream_t(seed, offset) if self.seeded else stream_t(0, 0), memory, n_threads,
        ):
            return None
        if out is not None and not is_array:
            for result in made:
                mark_written(result)
        return tuple(made)


cdef struct range_step_t:
    Py_ssize_t outer
    Py_ssize_t length
    Py_ssize_t inner
    Py_ssize_t block


cdef Py_ssize_t ranges_of(const range_step_t *step) noexcept nogil:
    return step.outer * ((step.length + step.block - 1) // step.block) * step.inner


cdef void find_step(
    const range_step_t *step, int item, range_t find, uint64_t mask, uint64_t last, const char *s, char *low,
    char *high,
) noexcept nogil:
    # The ranges of blocks along the middle axis; `low` is NULL for magnitudes.
    cdef Py_ssize_t outer = step.outer
    cdef Py_ssize_t length = step.length
    cdef Py_ssize_t index, size, place
    if step.inner == 1 and length % step.block == 0:
        outer, length = 1, outer * length
    size = (length + step.block - 1) // step.block * step.inner * item
    for index in range(outer):
        place = index * size
        find(
            s + index * length * step.inner * item, length, step.inner, step.block, mask, last,
            NULL if low == NULL else low + place, high + place,
        )


cdef class ScaleCall(ArrayCall):
    """What `absmax_scale` or `minmax_scale` comes to.

    Parameters
    ----------
    results
        As in `ArrayCall`.
    formula : ScaleFormula
        From a range in float64 to a scale.
    load, store : Program, Program or None
        From a code of the array to float64; from there to a scale, where the formula has no other result.
    code : (int, int, int)
        The width of a code in bits, the mask of its magnitude, the largest magnitude that counts.
    both : bool
        Whether both ends of a range are wanted.
    steps : tuple of (int, int, int, int)
        Of dense codes, a shape (outer, length, inner) and a block along the middle axis: the ranges of the codes, then
        those of the results of the step before.
    narrow : (int, int)
        The width in bytes, and the mask, of what the formula has as a code.
    """

    cdef ScaleFormula formula
    cdef Program load
    cdef Program store
    cdef int item
    cdef uint64_t mask
    cdef uint64_t last
    cdef bint both
    cdef int n_steps
    cdef range_step_t steps[MOST_STEPS]
    cdef int narrow_item
    cdef uint32_t narrow_mask
    cdef Py_ssize_t count
    cdef Py_ssize_t most

    def __init__(
        self, tuple results not None, ScaleFormula formula not None, Program load not None, Program store,
        tuple code not None, bint both, tuple steps not None, tuple narrow not None,
    ):
        cdef int index
        ArrayCall.__init__(self, results)
        bits, self.mask, self.last = code
        self.item = bits // 8
        self.formula, self.load, self.store, self.both = formula, load, store, both
        self.n_steps = len(steps)
        self.narrow_item, self.narrow_mask = narrow
        if not 1 <= self.n_steps <= MOST_STEPS or min(map(min, steps)) < 1:
            raise ValueError(f"`steps` must be 1 to {MOST_STEPS}, of positive lengths; got {steps}")
        for index, (outer, length, inner, block) in enumerate(steps):
            self.steps[index] = range_step_t(outer, length, inner, block)
            if index and self.count != outer * length * inner:
                raise ValueError(f"`steps` must follow from each other; got {steps}")
            self.count = ranges_of(&self.steps[index])
            self.most = max(self.most, self.count)

    cdef int carry_out(
        self, const char *x, const char *factor, number, stream_t stream, char **results, int n_threads,
    ) except -1:
        # Two buffers for each end, in turn, and one for what a step has of the other end; then float64 and codes.
        cdef Py_ssize_t size = (self.most * self.item + 7) // 8 * 8
        cdef object held = PyByteArray_FromStringAndSize(NULL, 5 * size + 28 * self.count)
        cdef char *room = PyByteArray_AS_STRING(held)
        cdef char *low = room if self.both else NULL
        cdef char *high = room + 2 * size
        cdef char *other = room + 4 * size
        cdef double *values = <double *>(room + 5 * size)
        cdef double *lows = values + self.count if self.both else NULL
        cdef double *scales = values + 2 * self.count
        cdef int32_t *codes = <int32_t *>(scales + self.count)
        cdef void *kept
        cdef int width = 0 if self.item == 1 else 1 if self.item == 2 else 2 if self.item == 4 else 3
        cdef range_t find = ranges_in_use[width][self.both]
        cdef int step
        cdef Py_ssize_t place = 0
        cdef Py_ssize_t i
        cdef lp_mode mode
        if n_threads > 1 or not fits(x, 8 * self.item):
            return 0
        find_step(&self.steps[0], self.item, find, self.mask, self.last, x, low, high)
        for step in range(1, self.n_steps):
            find_step(
                &self.steps[step], self.item, find, self.mask, self.last, high + place, other if self.both else NULL,
                high + size - place)
            if self.both:
                find_step(
                    &self.steps[step], self.item, find, self.mask, self.last, low + place, low + size - place, other)
            place = size - place
        run_dense(self.load, &self.load.steps, <const uint8_t *>high + place, <uint8_t *>values, self.count, None, 1)
        if self.both:
            clear_negative_zeros(low + place, self.count, self.item)
            run_dense(self.load, &self.load.steps, <const uint8_t *>low + place, <uint8_t *>lows, self.count, None, 1)
        kept = <void *>scales if self.store is not None else <void *>results[0]
        mode = lp_mode_enter()
        self.formula.compute(lows, values, self.count, kept, codes)
        lp_mode_leave(mode)
        if self.store is not None:
            run_dense(
                self.store, &self.store.steps, <const uint8_t *>scales, <uint8_t *>results[0], self.count, None, 1)
        elif self.narrow_item:
            kept = results[len(self.results) - 1]
            for i in range(self.count):
                if self.narrow_item == 1:
                    (<uint8_t *>kept)[i] = <uint8_t>(<uint32_t>codes[i] & self.narrow_mask)
                else:
                    (<uint16_t *>kept)[i] = <uint16_t>(<uint32_t>codes[i] & self.narrow_mask)
        return 1


cdef void clear_negative_zeros(char *codes, Py_ssize_t n, int item) noexcept nogil:
    # The sign bit alone is -0, or NaN in formats without -0: 0 in either case, as the end of a range.
    cdef Py_ssize_t i
    for i in range(n):
        if item == 1 and (<uint8_t *>codes)[i] == 0x80:
            (<uint8_t *>codes)[i] = 0
        elif item == 2 and (<uint16_t *>codes)[i] == 0x8000:
            (<uint16_t *>codes)[i] = 0
        elif item == 4 and (<uint32_t *>codes)[i] == <uint32_t>1 << 31:
            (<uint32_t *>codes)[i] = 0
        elif item == 8 and (<uint64_t *>codes)[i] == <uint64_t>1 << 63:
            (<uint64_t *>codes)[i] = 0


cdef uint64_t largest_code(
    range_t find, int item, uint64_t mask, uint64_t last, const char *x, Py_ssize_t n, int n_threads,
) noexcept nogil:
    # The largest magnitude of dense codes: that of the largest of each thread's share.
    cdef uint64_t largest[MOST_SHARES]
    cdef Py_ssize_t share = (n + min(n_threads, <int>MOST_SHARES) - 1) // min(n_threads, <int>MOST_SHARES)
    cdef Py_ssize_t shares = (n + share - 1) // share
    cdef Py_ssize_t index
    memset(largest, 0, sizeof(largest))
    for index in prange(shares, schedule="static", num_threads=<int>shares):
        find(x + index * share * item, min(share, n - index * share), 1, share, mask, last, NULL, &largest[index])
    for index in range(1, shares):
        largest[0] = max(largest[0], largest[index])
    return largest[0]


cdef class BlockCall(ArrayCall):
    """What `mx_quantize` or `nvfp4_quantize` comes to.

    Parameters
    ----------
    results
        As in `ArrayCall`: elements, scales, and the global scale where there is one.
    program : BlockProgram
        From float32 to elements and scales.
    load : Program or None
        From a code of the array to float32, None where it holds float32.
    spread : (int, int, int, int)
        A shape (outer, length, inner) and a block along the middle axis.
    formula : ScaleFormula or None
        From the largest magnitude of the array to the global scale, where there is one.
    code : (int, int, int)
        The width of a code in bits, the mask of its magnitude, the largest magnitude that counts.
    """

    cdef BlockProgram program
    cdef Program load
    cdef ScaleFormula formula
    cdef range_step_t spread
    cdef int bits
    cdef uint64_t mask
    cdef uint64_t last

    def __init__(
        self, tuple results not None, BlockProgram program not None, Program load, tuple spread not None,
        ScaleFormula formula, tuple code not None,
    ):
        ArrayCall.__init__(self, results)
        self.program, self.load, self.formula = program, load, formula
        self.seeded = program.steps.is_random
        self.spread.outer, self.spread.length, self.spread.inner, self.spread.block = spread
        self.bits, self.mask, self.last = code
        if len(results) != (2 if formula is None else 3):
            raise ValueError(f"`results` must be elements, scales, and a global scale if any; got {results}")

    cdef int carry_out(
        self, const char *x, const char *factor, number, stream_t stream, char **results, int n_threads,
    ) except -1:
        cdef const range_step_t *spread = &self.spread
        cdef Py_ssize_t n = spread.outer * spread.length * spread.inner
        cdef Py_ssize_t blocks = (spread.length + spread.block - 1) // spread.block
        cdef const block_params_t *params = &self.program.steps.params
        cdef uint64_t code = 0
        cdef float global_scale = 1
        cdef float start = 1
        cdef double largest
        cdef int width = 0 if self.bits == 8 else 1 if self.bits == 16 else 2
        cdef bint given = factor != NULL or number is not None
        cdef lp_mode mode
        if self.formula is not None:
            if factor != NULL:
                memcpy(&global_scale, factor, 4)
            elif given:
                if type(number) is int and not -LARGEST_INT <= number <= LARGEST_INT:
                    return 0
                largest = number
                mode = lp_mode_enter()
                global_scale = <float>largest
                lp_mode_leave(mode)
            elif not fits(x, self.bits):
                return 0
            else:
                with nogil:
                    code = largest_code(ranges_in_use[width][0], self.bits // 8, self.mask, self.last, x, n, n_threads)
                if self.load is None:
                    memcpy(&start, &code, 4)
                else:
                    run_dense(self.load, &self.load.steps, <const uint8_t *>&code, <uint8_t *>&start, 1, None, 1)
                largest = start
            if given and not 0 < global_scale < INFINITY:
                return 0
            mode = lp_mode_enter()
            if given:
                start = start_of_scale(global_scale, params)
            elif params.quotient_rule == TRANSFORMER_ENGINE:
                start = start_of_largest(start, params)
            else:
                self.formula.compute(NULL, &largest, 1, &start, NULL)
            global_scale = scale_of_start(start, params)
            lp_mode_leave(mode)
            memcpy(results[2], &global_scale, 4)
        quantize_memory(
            self.program, self.load, <const uint8_t *>x, n * self.bits // 8, <uint8_t *>results[0],
            (n * self.program.steps.bits + 7) // 8, <uint8_t *>results[1], spread.outer * blocks * spread.inner,
            spread.outer, spread.length, spread.inner, spread.block, start, stream, n_threads,
        )
        return 1
