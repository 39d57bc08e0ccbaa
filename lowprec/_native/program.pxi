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
cdef class Program:
    """The loops of one conversion, in order, with their parameters and the widths at both ends."""

    cdef steps_t steps
    cdef readonly tuple names
    cdef bint takes_scales
    cdef bint takes_reciprocals

    def __init__(self, tuple names, int src_bits, int dst_bits, dict params, *, bint fused=True):
        if not 1 <= len(names) <= MAX_STEPS:
            raise ValueError(f"`names` must be 1 to {MAX_STEPS} loops; got {len(names)}")
        memset(&self.steps, 0, sizeof(steps_t))
        cdef dict values = self.steps.params
        if not params.keys() <= values.keys():
            raise ValueError(f"`params` must be fields of params_t; got {sorted(params.keys() - values.keys())}")
        self.names = names
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

    def with_stream(self, uint64_t seed, uint64_t offset) -> Program:
        """Return this program with the random numbers of a seed, those of the first element at `offset`."""
        cdef Program program = Program.__new__(Program)
        program.steps = self.steps
        program.steps.stream = stream_t(seed, offset)
        program.names = self.names
        program.takes_scales, program.takes_reciprocals = self.takes_scales, self.takes_reciprocals
        return program

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
    stream = steps.stream.seed, steps.stream.position
    return program.names, steps.fused, steps.src_bits, steps.dst_bits, program.params, stream
