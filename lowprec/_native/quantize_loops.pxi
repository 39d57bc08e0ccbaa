# The loops of QuantizeLinear and DequantizeLinear: a value, and the scale and zero point that stand beside it.
#
# Every loop comes twice: `_row` takes one scale and one zero point for all elements, `_each` one for every element.
# Zero points are int32 where the codes are integers, float32 where they are floats.
from libc.string cimport memcpy

from lowprec._native.params cimport SPREAD

ctypedef fused code_t:
    uint8_t
    uint16_t


# ---- one element ------------------------------------------------------------------------------------------------

cdef inline uint32_t place_one(float v, int32_t zero, float low, float high, params_t p) noexcept nogil:
    # low and high are the ends of the range less the zero point. NaN fails the first comparison and becomes low. The
    # adder rounds half to even at the last bit of 1.5 * 2**23, far beyond any range of 16 bits.
    v = v if v > low else low
    v = v if v < high else high
    cdef uint32_t code = as_bits(v + ROUNDER) - ROUNDER_BITS + <uint32_t>zero
    return ((code & <uint32_t>p.to_mask) ^ <uint32_t>p.to_sign) - <uint32_t>p.to_sign


cdef inline uint32_t place_beside_one(float v, int32_t zero, params_t p) noexcept nogil:
    # The same where zero points differ: what is beyond any range is clamped first, to the range after the addition.
    v = v if v > -FAR else -FAR
    v = v if v < FAR else FAR
    cdef int32_t code = <int32_t>(as_bits(v + ROUNDER) - ROUNDER_BITS) + zero
    code = code if code > p.low else p.low
    code = code if code < p.high else p.high
    return ((<uint32_t>code & <uint32_t>p.to_mask) ^ <uint32_t>p.to_sign) - <uint32_t>p.to_sign


cdef inline uint32_t place_wide_one(double v, int32_t zero, double low, double high, params_t p) noexcept nogil:
    v = v if v > low else low
    v = v if v < high else high
    cdef uint32_t code = <uint32_t>as_wide_bits(v + WIDE_ROUNDER) + <uint32_t>zero  # whose lower half is the integer
    return ((code & <uint32_t>p.to_mask) ^ <uint32_t>p.to_sign) - <uint32_t>p.to_sign


cdef inline uint32_t settled_one(float result, float a, float b) noexcept nogil:
    # A NaN keeps the sign of the operand it came from; one made here has none, whatever the machine's own default is.
    cdef uint32_t origin = as_bits(a) if a != a else (as_bits(b) if b != b else 0)
    return as_bits(result) if result == result else QUIET | (origin & SIGN)


cdef inline uint64_t settled_wide_one(double result, double a, double b) noexcept nogil:
    cdef uint64_t origin = as_wide_bits(a) if a != a else (as_wide_bits(b) if b != b else 0)
    return as_wide_bits(result) if result == result else WIDE_QUIET | (origin & WIDE_SIGN)


cdef inline uint32_t grid_one(uint32_t bits, params_t p) noexcept nogil:
    # Adding and taking away a power of two leaves the value rounded at the last bit that the precision has.
    cdef int32_t a = <int32_t>(bits & ~SIGN)
    cdef int32_t c = a if a < p.grid_clamp else p.grid_clamp
    cdef int32_t e = c if c > p.grid_floor else p.grid_floor
    cdef float m = as_float((<uint32_t>e & INF) + p.grid_magic)
    cdef int32_t rounded = <int32_t>as_bits((as_float(<uint32_t>c) + m) - m)
    rounded = <int32_t>INF if rounded > p.grid_last else rounded
    rounded = a if a > <int32_t>INF else rounded
    return <uint32_t>rounded | (bits & SIGN)


# ---- loops: rounding to the precision of the division, where it is a 16-bit one ---------------------------------

cdef void grid(const uint32_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = grid_one(s[i], p)


cdef void grid_upper(const uint32_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = encode_upper_one(s[i]) << 16


# ---- loops: value / scale + zero point -> code of an integer ----------------------------------------------------

cdef void quantize_row(
    const float *s, code_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef const int32_t *zero = <const int32_t *>beside.zero
    cdef params_t p = numbers[0]
    cdef float divisor = scale[0]
    cdef int32_t offset = zero[0]
    cdef float low = <float>(p.low - offset)
    cdef float high = <float>(p.high - offset)
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <code_t>place_one(s[i] / divisor, offset, low, high, p)


cdef void quantize_each(
    const float *s, code_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef const int32_t *zero = <const int32_t *>beside.zero
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <code_t>place_beside_one(s[i] / scale[i], zero[i], p)


cdef void quantize_wide_row(
    const double *s, code_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const double *scale = <const double *>beside.scale
    cdef const int32_t *zero = <const int32_t *>beside.zero
    cdef params_t p = numbers[0]
    cdef double divisor = scale[0]
    cdef int32_t offset = zero[0]
    cdef double low = <double>(p.low - offset)
    cdef double high = <double>(p.high - offset)
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <code_t>place_wide_one(s[i] / divisor, offset, low, high, p)


cdef void quantize_wide_each(
    const double *s, code_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const double *scale = <const double *>beside.scale
    cdef const int32_t *zero = <const int32_t *>beside.zero
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <code_t>place_wide_one(
                s[i] / scale[i], zero[i], <double>(p.low - zero[i]), <double>(p.high - zero[i]), p
            )


cdef void place_row(
    const float *s, code_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const int32_t *zero = <const int32_t *>beside.zero
    cdef params_t p = numbers[0]
    cdef int32_t offset = zero[0]
    cdef float low = <float>(p.low - offset)
    cdef float high = <float>(p.high - offset)
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <code_t>place_one(s[i], offset, low, high, p)


cdef void place_each(
    const float *s, code_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const int32_t *zero = <const int32_t *>beside.zero
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <code_t>place_beside_one(s[i], zero[i], p)


# ---- loops: value / scale, + zero point, (value - zero point) * scale -> value ----------------------------------

cdef void divide_row(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef float divisor = scale[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = settled_one(s[i] / divisor, s[i], divisor)


cdef void divide_each(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = settled_one(s[i] / scale[i], s[i], scale[i])


cdef void divide_encode8_row(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    # One loop where `divide` and `encode8` would be two: the divider works while the rest encodes. Divided by a
    # positive number, everything keeps its sign, NaN too.
    cdef params_t p = numbers[0]
    cdef float divisor = scale[0]
    cdef bint keeps_sign = 0 < divisor < as_float(INF)
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, first, last, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        first = block * span
        last = min(first + span, n)
        if keeps_sign:
            for i in range(first, last):
                d[i] = <uint8_t>encode_one((as_bits(s[i] / divisor) & ~SIGN) | (as_bits(s[i]) & SIGN), p)
        else:
            for i in range(first, last):
                d[i] = <uint8_t>encode_one(settled_one(s[i] / divisor, s[i], divisor), p)


cdef void divide_encode8_each(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint8_t>encode_one(settled_one(s[i] / scale[i], s[i], scale[i]), p)


cdef void divide_wide_row(
    const double *s, uint64_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const double *scale = <const double *>beside.scale
    cdef double divisor = scale[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = settled_wide_one(s[i] / divisor, s[i], divisor)


cdef void divide_wide_each(
    const double *s, uint64_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const double *scale = <const double *>beside.scale
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = settled_wide_one(s[i] / scale[i], s[i], scale[i])


cdef void shift_row(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *zero = <const float *>beside.zero
    cdef float offset = zero[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = settled_one(s[i] + offset, s[i], offset)


cdef void shift_each(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *zero = <const float *>beside.zero
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = settled_one(s[i] + zero[i], s[i], zero[i])


cdef void multiply_row(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef const float *zero = <const float *>beside.zero
    cdef float factor = scale[0]
    cdef float offset = zero[0]
    cdef bint keeps_nan = HANDS_NAN_ON and 0 < abs(factor) < as_float(INF) and abs(offset) < as_float(INF)
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        if keeps_nan:  # of the value, as it is, and makes no other
            for i in range(block * span, min(block * span + span, n)):
                d[i] = as_bits((s[i] - offset) * factor)
        else:
            for i in range(block * span, min(block * span + span, n)):
                d[i] = settled_one((s[i] - offset) * factor, s[i], factor)


cdef void multiply_each(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef const float *zero = <const float *>beside.zero
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = settled_one((s[i] - zero[i]) * scale[i], s[i], scale[i])


# ---- scales and zero points, one for every `length` elements, written out for every element ----------------------

ctypedef fused beside_one:
    uint32_t
    uint64_t


cdef void spread(
    const beside_one *s, beside_one *d, Py_ssize_t n, Py_ssize_t within, Py_ssize_t length,
) noexcept nogil:
    # The first stands for what is left of its run, from `within` on. SPREAD elements are written at a time, past the
    # end of the run: the next one overwrites them.
    cdef beside_one v
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t run = length - within
    cdef Py_ssize_t i, j
    if length == 1:
        memcpy(d, s, n * sizeof(s[0]))
        return
    while done < n:
        v = s[0]
        run = min(run, n - done)
        for i in range((run + SPREAD - 1) // SPREAD):
            for j in range(SPREAD):
                d[done + i * SPREAD + j] = v
        done += run
        run = length
        s += 1


SPREADS = (<size_t>&spread[uint32_t], <size_t>&spread[uint64_t])
