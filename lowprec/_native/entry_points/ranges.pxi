# Ranges of arrays, and the scales that formulas make of them.
cdef enum:
    RANGE_CHUNK = 64 * TILE  # elements that a thread takes at once, or one group where that has more


def find_ranges(
    const uint8_t[::1] src not None, int bits, Py_ssize_t outer, Py_ssize_t length, Py_ssize_t inner, Py_ssize_t block,
    uint64_t mask, uint64_t last, uint8_t[::1] low, uint8_t[::1] high not None, int n_threads,
) -> None:
    """Find the range of finite values of dense codes of shape (outer, length, inner), in blocks along the middle axis.

    `high` and `low` take (outer, ceil(length / block), inner) codes: the largest and the least value; where `low` is
    None `high` takes the largest magnitude. Codes whose bits of `mask` are above `last` are left out; 0 is always in.
    """
    cdef int item = bits // 8
    cdef int width = 0 if bits == 8 else 1 if bits == 16 else 2 if bits == 32 else 3
    cdef range_t find = ranges_in_use[width][low is not None]
    cdef Py_ssize_t blocks, count, step, parts, part, first, row, rows, place
    cdef const uint8_t *s
    cdef uint8_t *least
    cdef uint8_t *most
    if min(outer, length, inner, block) < 1:
        raise ValueError("a shape and a block must have positive lengths")
    blocks = (length + block - 1) // block
    count = outer * blocks * inner * item
    if src.shape[0] != outer * length * inner * item or high.shape[0] != count \
            or low is not None and low.shape[0] != count:
        raise ValueError(f"`src`, `low` and `high` must fit the shape; got {src.shape[0]} and {high.shape[0]} bytes")
    s = &src[0]
    least = &low[0] if low is not None else NULL
    most = &high[0]
    # A part is some blocks of one outer index.
    step = max(<Py_ssize_t>1, RANGE_CHUNK // (min(block, length) * inner))
    parts = (blocks + step - 1) // step
    with nogil:
        for part in prange(outer * parts, schedule="static", num_threads=max(1, min(n_threads, outer * parts))):
            first = part % parts * step
            row = first * block
            rows = min(step * block, length - row)
            place = (part // parts * blocks + first) * inner * item
            find(
                s + (part // parts * length + row) * inner * item, rows, inner, block, mask, last,
                NULL if least == NULL else least + place, most + place,
            )


# The formulas of scales: what the largest magnitudes of elements become, or both ends of their ranges.
cdef enum:
    SYMMETRIC = 0
    POWER = 1
    RANGE = 2
    GLOBAL = 3
    FRACTION_BITS = 52  # of float64


cdef class ScaleFormula:
    """A formula of scales, with its numbers.

    Parameters
    ----------
    kind : {"symmetric", "power", "range", "global"}
        The largest magnitude over `most`, float64, from `least` to `greatest`; 1 for 0. A power of two, as a code: the
        exponent of the largest magnitude, to the bits of which `addend` is added, less `offset`, from 0 to `greatest`.
        The range over that of integers from `least` to `greatest`, float32, and their zero point. As "symmetric", in
        float32.
    """

    cdef int kind
    cdef double most
    cdef double least
    cdef double greatest
    cdef int64_t addend
    cdef int64_t offset

    def __init__(
        self, str kind not None, *, double most=1, double least=0, double greatest=0, int64_t addend=0,
        int64_t offset=0,
    ):
        self.kind = ("symmetric", "power", "range", "global").index(kind)
        self.most, self.least, self.greatest, self.addend, self.offset = most, least, greatest, addend, offset

    cdef void compute(
        self, const double *low, const double *high, Py_ssize_t n, void *scales, int32_t *codes,
    ) noexcept nogil:
        # In the default floating-point mode. `scales` are float64 or float32, `codes` are powers or zero points.
        # The numbers are read once: a compiler must suppose that what is written may be they.
        cdef double most = self.most
        cdef double least = self.least
        cdef double greatest = self.greatest
        cdef int64_t addend = self.addend
        cdef int64_t offset = self.offset
        cdef int64_t last = <int64_t>greatest if self.kind == POWER else 0
        cdef Py_ssize_t i
        cdef double scale
        cdef float single
        cdef int64_t exponent
        if self.kind == SYMMETRIC:
            for i in range(n):
                scale = high[i] / most
                scale = least if scale < least else scale
                scale = greatest if scale > greatest else scale
                (<double *>scales)[i] = 1 if high[i] == 0 else scale
        elif self.kind == POWER:
            for i in range(n):
                exponent = (((<const int64_t *>high)[i] + addend) >> FRACTION_BITS) - offset
                exponent = 0 if exponent < 0 else exponent
                codes[i] = <int32_t>(last if exponent > last else exponent)
        elif self.kind == GLOBAL:
            for i in range(n):
                single = <float>high[i] / <float>most
                single = <float>least if single < <float>least else single
                single = <float>greatest if single > <float>greatest else single
                (<float *>scales)[i] = 1 if <float>high[i] == 0 else single
        else:
            for i in range(n):
                range_scale(
                    <float>low[i], <float>high[i], <float>least, <float>greatest, <float>(greatest - least),
                    <float *>scales + i, codes + i,
                )

    def run(
        self, const uint8_t[::1] low, const uint8_t[::1] high not None, uint8_t[::1] scales, uint8_t[::1] codes
    ) -> None:
        """Compute scales for ends of ranges in float64; None for what the formula lacks."""
        cdef Py_ssize_t n = high.shape[0] // 8
        cdef lp_mode mode
        cdef bint has_low = self.kind == RANGE
        cdef bint has_scales = self.kind != POWER
        cdef bint has_codes = self.kind == POWER or self.kind == RANGE
        if (
            (low is not None) != has_low or (scales is not None) != has_scales or (codes is not None) != has_codes
            or has_low and low.shape[0] != 8 * n or has_codes and codes.shape[0] != 4 * n
            or has_scales and scales.shape[0] != (8 if self.kind == SYMMETRIC else 4) * n
        ):
            raise ValueError(f"`low`, `scales` and `codes` must be what the formula has, for {n} ranges")
        if n == 0:
            return
        mode = lp_mode_enter()
        self.compute(
            <const double *>&low[0] if has_low else NULL, <const double *>&high[0], n,
            <void *>&scales[0] if has_scales else NULL, <int32_t *>&codes[0] if has_codes else NULL,
        )
        lp_mode_leave(mode)


cdef inline void range_scale(
    float low, float high, float first, float last, float span, float *scale, int32_t *zero,
) noexcept nogil:
    cdef float wanted = (high - low) / span
    cdef float place
    wanted = FLT_MAX if wanted > FLT_MAX else wanted
    scale[0] = 1 if wanted == 0 else wanted
    if wanted == 0:
        place = 0
    else:
        place = low / wanted
        place = <float>rint(first - place)
        place = first if place < first else last if place > last else place
    zero[0] = <int32_t>place
