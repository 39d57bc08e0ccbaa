# A program, and its run in chunks over threads.
cdef struct steps_t:
    # A program as C reads it: its loops in order, their parameters, the widths at both ends.
    int count
    int loops[MAX_STEPS]
    int src_bits
    int dst_bits
    params_t params
    int fused        # the one loop that does the same, or NO_LOOP
    bint is_random   # whether a loop takes random numbers
    stream_t stream  # those of the first element of the array
    bint multiplies  # whether that loop takes reciprocals of scales


# Missing from the elements that a loop may prefetch: more than any array has.
cdef Py_ssize_t NEVER = <Py_ssize_t>1 << 48


cdef inline bint one_scale(const operands_t *operands) noexcept nogil:
    return operands == NULL or operands.length == 1 and operands.outer_step == 0


cdef inline bint takes_scales(int loop) noexcept nogil:
    return MAX_LOOPS <= loop < MAX_LOOPS + MAX_SCALE_LOOPS


cdef bint reads_runs(const steps_t *steps) noexcept nogil:
    # Whether each loop that takes scales can read them per run.
    cdef int i
    for i in range(steps.count):
        if takes_scales(steps.loops[i]) and scale_loops[SCALE_RUNS][steps.loops[i] - MAX_LOOPS] == NULL:
            return False
    return True


cdef void run_loops(
    const steps_t *steps, const void *source, void *target, Py_ssize_t first, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, tiles_t *tiles,
) noexcept nogil:
    # The loops, one after the other, over elements that fit a tile where there are several. `first` is the index of the
    # first one in the whole array.
    cdef remaining_t after
    cdef stream_t stream
    cdef void *result
    cdef int i, loop
    for i in range(steps.count):
        after.src = remaining.src if i == 0 else 0
        after.dst = 0
        if i == steps.count - 1:
            result = target
            after.dst = remaining.dst
        else:
            result = <void *>tiles.even if i % 2 == 0 else <void *>tiles.odd
        loop = steps.loops[i] - MAX_LOOPS
        if loop < 0:
            loops[steps.loops[i]](source, result, n, after, &steps.params)
        elif loop >= MAX_SCALE_LOOPS:
            stream = steps.stream
            stream.position += first
            random_loops[loop - MAX_SCALE_LOOPS](source, result, n, after, &stream, &steps.params)
        else:
            scale_loops[scales.mode][loop](source, result, n, after, scales, &steps.params)
        source = result


cdef Py_ssize_t rows_of_columns(const operands_t *o, const place_t *at, Py_ssize_t n, scales_t *scales) noexcept nogil:
    # How many whole rows of n elements from a place on have the same scales, one for each column; the scales of them.
    cdef Py_ssize_t rows, block
    if o.inner == 1 and o.block == 1 and o.outer_step == 0 and at.position == 0:
        scales[0] = scales_at(o, 0)
        scales.columns = o.length
        rows = n // o.length
    elif o.width > 1 and at.inner == 0:
        block = at.position // o.block
        scales[0] = scales_at(o, (at.outer * o.outer_step + block) * o.width)
        scales.columns = o.inner
        rows = min(n // o.inner, min(block * o.block + o.block, o.length) - at.position)
    else:
        return 0
    scales.mode = SCALE_COLUMNS
    if scales.columns % GROUP != 0:
        return 0
    if o.zero_words != NULL:
        scales.zero_words = o.zero_words + (<const float *>scales.scale - <const float *>o.scale)
    return rows


cdef inline Py_ssize_t columns_of(const steps_t *steps, const operands_t *operands, Py_ssize_t n) noexcept nogil:
    # How many columns the first rows, and so most, have in a loop that converts several at once; 0: there is none.
    cdef place_t at
    cdef scales_t scales
    if operands == NULL or steps.fused == NO_LOOP or fused_scale_loops[SCALE_COLUMNS][steps.fused] == NULL:
        return 0
    at = place_of(operands, 0)
    return scales.columns if rows_of_columns(operands, &at, n, &scales) > 1 else 0


cdef void run_scaled(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, remaining_t remaining,
    const operands_t *operands,
) noexcept nogil:
    # A fused loop with scales, segment by segment: elements whose scales lie in memory as a loop reads them. A tile
    # with scales that are out of reach goes through the chain.
    cdef tiles_t *tiles = thread_tiles()
    cdef bint packed = steps.src_bits < 8 or steps.dst_bits < 8
    cdef bint by_columns = fused_scale_loops[SCALE_COLUMNS][steps.fused] != NULL
    cdef bint chained
    cdef const uint8_t *source
    cdef uint8_t *target
    cdef place_t at = place_of(operands, first)
    cdef scales_t scales
    cdef remaining_t after
    cdef Py_ssize_t start, count, rows
    start = 0
    while start < n:
        rows = 0
        if by_columns:
            rows = rows_of_columns(operands, &at, n - start, &scales)
            if rows > 1 and steps.multiplies and scales.reciprocal == NULL:
                rows = 0
        if rows > 1:
            count = rows * scales.columns
            after.src = n - start - count + remaining.src
            after.dst = n - start - count + remaining.dst
            fused_scale_loops[SCALE_COLUMNS][steps.fused](
                src + start * steps.src_bits // 8, dst + start * steps.dst_bits // 8, count, after, &scales,
                &steps.params,
            )
            advance(operands, &at, count)
            start += count
            continue
        scales = segment_of(operands, &at, n - start, True, &count)
        if packed and count < n - start:
            count -= count % 2  # a segment begins with a byte
        if count < min(<Py_ssize_t>SHORTEST, n - start):
            count = min(<Py_ssize_t>TILE, n - start)
            scales = spread_scales(operands, &at, count, tiles)
        chained = steps.multiplies and not are_in_reach(&scales, &count)
        if chained:
            count = min(<Py_ssize_t>TILE, count)
            scales = locate_scales(operands, &at, count, reads_runs(steps), tiles)
        after.src = n - start - count + remaining.src
        after.dst = n - start - count + remaining.dst
        source, target = src + start * steps.src_bits // 8, dst + start * steps.dst_bits // 8
        if chained:
            run_loops(steps, source, target, first + start, count, after, &scales, tiles)
        else:
            fused_scale_loops[scales.mode][steps.fused](source, target, count, after, &scales, &steps.params)
        advance(operands, &at, count)
        start += count


cdef void run_tiles(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, remaining_t remaining,
    const operands_t *operands,
) noexcept nogil:
    # A single loop runs over all elements at once; several run tile by tile, through two that stay in the L1 cache.
    # `first` is the index of the first element in the whole array, `remaining` counts what follows in memory.
    cdef tiles_t *tiles = NULL
    cdef scales_t scales
    cdef remaining_t after
    cdef Py_ssize_t start, count
    cdef Py_ssize_t step = n  # no scales have to be copied to a tile
    cdef bint runs
    cdef place_t at
    if steps.fused != NO_LOOP:
        if operands == NULL:
            fused_loops[steps.fused](src, dst, n, remaining, &steps.params)
        else:
            run_scaled(steps, src, dst, first, n, remaining, operands)
        return
    runs = reads_runs(steps)
    if steps.count > 1 or not one_scale(operands):
        step = TILE
        tiles = thread_tiles()
    start = 0
    while start < n:
        count = min(step, n - start)
        after.src = n - start - count + remaining.src
        after.dst = n - start - count + remaining.dst
        if operands != NULL:
            at = place_of(operands, first + start)
            scales = locate_scales(operands, &at, count, runs, tiles)
        run_loops(
            steps, src + start * steps.src_bits // 8, dst + start * steps.dst_bits // 8, first + start, count, after,
            &scales, tiles,
        )
        start += count


include "streamed_outputs.pxi"


cdef void run_chunk(
    const steps_t *steps, const uint8_t *src, uint8_t *dst, Py_ssize_t first, Py_ssize_t n, Py_ssize_t whole,
    const operands_t *operands, bint prefetches, bint streams,
) noexcept nogil:
    cdef lp_mode mode = lp_mode_enter()
    cdef remaining_t remaining
    remaining.src = remaining.dst = whole - first - n - (0 if prefetches else NEVER)
    src += first * steps.src_bits // 8
    dst += first * steps.dst_bits // 8
    if streams:
        run_streaming(steps, src, dst, first, n, remaining, operands)
    else:
        run_tiles(steps, src, dst, first, n, remaining, operands)
    lp_mode_leave(mode)


cdef inline Py_ssize_t chunk_size(Py_ssize_t n, int n_threads) noexcept nogil:
    # Whole tiles, and every thread gets a share of an array that is smaller than a chunk for each; one thread gets all.
    cdef Py_ssize_t share = (n + n_threads - 1) // n_threads
    if n_threads <= 1:
        return n
    return min(<Py_ssize_t>CHUNK, (share + TILE - 1) // TILE * TILE)


cdef enum:  # loops in the order of memory, without blocks and by blocks; those that convert several rows at once, short
    # or long ones; and all these with zero points
    GAINS = 8

cdef struct gain_t:  # how a program reads and writes large arrays fastest, as far as it was measured
    int times         # that chunks were converted with and without prefetching
    int votes         # how often they gained, less how often they lost
    int64_t calls     # of which some streamed their output
    int64_t[2] least  # nanoseconds for 1 Mi elements: stored through the caches, streamed


# A program: the loops of one conversion, by name, and what they take.
cdef bint rounds_beyond_reach(const params_t *params, tuple names):
    # Whether a quotient that is not every bit of a division could round to another code: see `lp_float_quotient`.
    cdef uint32_t nan_above = params.nan_above
    if not ("encode8" in names or "divide_encode8" in names):
        return False
    return (
        params.dropped_bits < 23 - 7 or <uint32_t>params.smallest_normal < SMALLEST_IN_REACH
        or <uint32_t>params.clamp >= FAR or FAR <= nan_above < INFINITY_BITS
    )


@cython.freelist(4)
@cython.no_gc  # what it holds holds no program
cdef class Program:
    """The loops of one conversion, in order, with their parameters and the widths at both ends."""

    cdef steps_t steps
    cdef readonly tuple names
    cdef bint takes_scales
    cdef bint takes_reciprocals
    cdef dict gains  # (instruction set, threads) -> memory of GAINS of them

    def __init__(self, tuple names, int src_bits, int dst_bits, dict params, *, bint fused=True):
        if not 1 <= len(names) <= MAX_STEPS:
            raise ValueError(f"`names` must be 1 to {MAX_STEPS} loops; got {len(names)}")
        memset(&self.steps, 0, sizeof(steps_t))
        cdef dict values = self.steps.params
        if not params.keys() <= values.keys():
            raise ValueError(f"`params` must be fields of params_t; got {sorted(params.keys() - values.keys())}")
        self.names, self.gains = names, {}
        self.steps.src_bits = src_bits
        self.steps.dst_bits = dst_bits
        self.steps.count = len(names)
        for i, name in enumerate(names):
            self.steps.loops[i] = loop_index[name]
            self.takes_scales = self.takes_scales or takes_scales(self.steps.loops[i])
            self.steps.is_random = self.steps.is_random or self.steps.loops[i] >= MAX_LOOPS + MAX_SCALE_LOOPS
        self.takes_reciprocals = "quantize32_to8" in names
        self.steps.params = {**values, **params}
        self.steps.fused = NO_LOOP
        chain = ".".join(names)
        if fused and chain in fused_index and (
            chain not in multiplying or not rounds_beyond_reach(&self.steps.params, names)
        ):
            self.steps.fused = fused_index[chain]
            self.steps.multiplies = self.takes_reciprocals = chain in multiplying

    @property
    def takes_random_numbers(self):
        """Whether what an element becomes depends on its index."""
        return self.steps.is_random

    @property
    def src_bits(self):
        """Bits of an element of the source."""
        return self.steps.src_bits

    @property
    def dst_bits(self):
        """Bits of an element of the result."""
        return self.steps.dst_bits

    @property
    def params(self):
        """The parameters as bytes, laid out as the struct of params.h: what a CUDA kernel takes by value."""
        return (<const char *>&self.steps.params)[:sizeof(params_t)]

    def __eq__(self, other):
        return isinstance(other, Program) and _key(self) == _key(other)

    def __hash__(self):
        return hash(_key(self))


cdef tuple _key(Program program):
    cdef const steps_t *steps = &program.steps
    return program.names, steps.fused, steps.src_bits, steps.dst_bits, program.params


cdef const steps_t *seeded_steps(const steps_t *steps, seed, offset, steps_t *seeded) except NULL:
    # The steps with the random numbers of a seed, those of the first element at `offset`; without a seed as they are.
    if seed is None:
        return steps
    seeded[0] = steps[0]
    seeded.stream = stream_t(seed, offset)
    return seeded
