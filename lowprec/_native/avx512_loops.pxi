# The loops written out for the machine's own lanes, 16 elements at a time (F16C) or 64 (AVX-512).
#
# Each has a twin among the others, which takes its place on other machines, and for numbers that do not fit the lanes.

from libc.string cimport memset

cdef enum:
    INVERSES = 80  # scales of runs in a tile of 1024 elements, and some

cdef extern from "avx512.h" nogil:
    ctypedef struct lp_words:
        bint fits   # whether the format can be encoded so
        bint plain  # whether every code has the sign of its value, in the first bit of a byte
    ctypedef struct lp_places:
        pass
    const bint HAS_LANES "LP_LANES"
    const bint HAS_F16C "LP_F16C"
    void decode_16_half "lp_decode_half" (const uint16_t *s, uint32_t *d) noexcept
    void truncate_64 "lp_truncate" (
        const uint32_t *s, uint8_t *d, Py_ssize_t n, uint32_t mask, uint32_t sign,
    ) noexcept
    void pack_128 "lp_pack" (const uint8_t *s, uint8_t *d) noexcept
    void unpack_64 "lp_unpack" (const uint8_t *s, uint8_t *d) noexcept
    void encode_16_half "lp_encode_half" (const uint32_t *s, uint16_t *d, uint32_t nan_code) noexcept
    lp_words words_of "lp_words_of" (
        uint32_t clamp, uint32_t floor, uint32_t keep, uint32_t nan_above, uint32_t nan_code, uint32_t sign_bit,
        uint32_t sign_bias, uint32_t sign_last,
    ) noexcept
    lp_places places_of "lp_places_of" (int32_t zero, int32_t low, int32_t high, uint32_t mask, uint32_t sign) noexcept
    void encode_64 "lp_encode" (
        const uint32_t *s, uint8_t *d, Py_ssize_t n, const lp_words *w, bint plain,
    ) noexcept
    void encode_64_doubles "lp_encode_doubles" (
        const double *s, uint8_t *d, Py_ssize_t n, const lp_words *w, bint plain,
    ) noexcept
    void encode_64_halves "lp_encode_halves" (
        const uint16_t *s, uint8_t *d, Py_ssize_t n, uint32_t lift, const lp_words *w, bint plain,
    ) noexcept
    void divide_encode_64 "lp_divide_encode" (
        int way, const float *s, uint8_t *d, Py_ssize_t n, const void *scale, Py_ssize_t at, int shift,
        const lp_words *w, bint plain,
    ) noexcept
    bint invert "lp_inverses" (const float *scale, Py_ssize_t count, float *inverse) noexcept
    void quantize_64 "lp_quantize" (
        int way, bint inverted, const float *s, uint8_t *d, Py_ssize_t n, const float *scale, const float *inverse,
        const int32_t *zero, Py_ssize_t at, int shift, const lp_places *places,
    ) noexcept
    void multiply_64 "lp_multiply" (
        int way, const float *s, uint32_t *d, Py_ssize_t n, const void *scale, const void *zero, Py_ssize_t at,
        int shift,
    ) noexcept


cdef bint inverses(const float *scale, Py_ssize_t count, float *inverse) noexcept nogil:
    return invert(scale, count, inverse)


cdef inline lp_words words_for(const params_t *p) noexcept nogil:
    return words_of(
        <uint32_t>p.clamp, <uint32_t>p.floor, p.keep, <uint32_t>p.nan_above, p.nan_code, p.sign_bit, p.sign_bias,
        <uint32_t>p.sign_last,
    )


cdef void encode_half16(
    const uint32_t *s, uint16_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef uint32_t nan_code = numbers.nan_code
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t whole = n // 16 * 16 if HAS_F16C else 0
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, whole), 16):
            encode_16_half(s + i, d + i, nan_code)
    if whole < n:
        encode16(s + whole, d + whole, n - whole, rest, numbers)


cdef void decode_half16(
    const uint16_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t whole = n // 16 * 16 if HAS_F16C else 0
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, whole), 16):
            decode_16_half(s + i, d + i)
    if whole < n:
        decode_ieee[uint16_t](s + whole, d + whole, n - whole, rest, numbers)


cdef void pack4_lanes(const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t whole = n // 128 * 64 if HAS_LANES else 0
    cdef Py_ssize_t span = span_of(2, 1)
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, 2, d, 1, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole), 64):
            pack_128(s + 2 * i, d + i)
    if 2 * whole < n:
        pack4(s + 2 * whole, d + whole, n - 2 * whole, rest, numbers)


cdef void unpack4_lanes(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 64 * 32 if HAS_LANES else 0
    cdef Py_ssize_t span = span_of(1, 2)
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, 1, d, 2, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole), 32):
            unpack_64(s + i, d + 2 * i)
    if 2 * whole < n:
        unpack4(s + whole, d + 2 * whole, n - 2 * whole, rest, numbers)


cdef void truncate8_lanes(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef uint32_t mask = <uint32_t>numbers.to_mask
    cdef uint32_t sign = <uint32_t>numbers.to_sign
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_LANES:
        truncate[uint8_t](s, d, n, rest, numbers)
        return
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        last = min(block * span + span, n)
        for i in range(block * span, last, 64):
            truncate_64(s + i, d + i, last - i, mask, sign)


cdef void encode8_lanes(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef lp_words words = words_for(numbers)
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_LANES or not words.fits:
        encode8(s, d, n, rest, numbers)
        return
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        last = min(block * span + span, n)
        if words.plain:
            for i in range(block * span, last, 64):
                encode_64(s + i, d + i, last - i, &words, True)
        else:
            for i in range(block * span, last, 64):
                encode_64(s + i, d + i, last - i, &words, False)


cdef void encode8_from64_lanes(
    const double *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef lp_words words = words_for(numbers)
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_LANES or not words.fits:
        encode8_from64(s, d, n, rest, numbers)
        return
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        last = min(block * span + span, n)
        if words.plain:
            for i in range(block * span, last, 64):
                encode_64_doubles(s + i, d + i, last - i, &words, True)
        else:
            for i in range(block * span, last, 64):
                encode_64_doubles(s + i, d + i, last - i, &words, False)


cdef void encode8_from16_lanes(
    const uint16_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef lp_words words = words_for(numbers)
    cdef uint32_t lift = numbers.lift
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_LANES or not words.fits:
        encode8_from16(s, d, n, rest, numbers)
        return
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        last = min(block * span + span, n)
        if words.plain:
            for i in range(block * span, last, 64):
                encode_64_halves(s + i, d + i, last - i, lift, &words, True)
        else:
            for i in range(block * span, last, 64):
                encode_64_halves(s + i, d + i, last - i, lift, &words, False)


# ---- values beside their scales ---------------------------------------------------------------------------------

cdef inline void divide_encode8_lanes(
    int way, const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef lp_words words = words_for(numbers)
    cdef const void *scale = beside.scale
    cdef Py_ssize_t within = beside.within if way == RUNS else 0
    cdef int shift = beside.shift
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        last = min(block * span + span, n)
        if words.plain:
            for i in range(block * span, last, 64):
                divide_encode_64(way, s + i, d + i, last - i, scale, within + i, shift, &words, True)
        else:
            for i in range(block * span, last, 64):
                divide_encode_64(way, s + i, d + i, last - i, scale, within + i, shift, &words, False)


cdef inline void quantize8_lanes(
    int way, const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    # Scales that stand for many elements are inverted, for a product takes less than a division.
    cdef float inverted[INVERSES]
    cdef const float *inverse = beside.inverse if way == EACH else NULL
    cdef const float *scale = <const float *>beside.scale
    cdef const int32_t *zero = <const int32_t *>beside.zero
    cdef Py_ssize_t within = beside.within if way == RUNS else 0
    cdef int shift = beside.shift
    cdef Py_ssize_t count = ((within + n - 1) >> shift) + 1 if way == RUNS else 1
    if way != EACH and count <= INVERSES:
        memset(inverted, 0, sizeof(inverted))
        if inverses(scale, count, inverted):
            inverse = inverted
    cdef lp_places places = places_of(
        zero[0], numbers.low, numbers.high, <uint32_t>numbers.to_mask, <uint32_t>numbers.to_sign,
    )
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, at, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        last = min(block * span + span, n)
        if inverse != NULL:
            for i in range(block * span, last, 64):
                at = within + i
                quantize_64(way, True, s + i, d + i, last - i, scale, inverse, zero, at, shift, &places)
        else:
            for i in range(block * span, last, 64):
                at = within + i
                quantize_64(way, False, s + i, d + i, last - i, scale, inverse, zero, at, shift, &places)


cdef void divide_encode8_row_lanes(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    if HAS_LANES and words_for(numbers).fits:
        divide_encode8_lanes(ROW, s, d, n, rest, beside, numbers)
    else:
        divide_encode8_row(s, d, n, rest, beside, numbers)


cdef void divide_encode8_each_lanes(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    if HAS_LANES and words_for(numbers).fits:
        divide_encode8_lanes(EACH, s, d, n, rest, beside, numbers)
    else:
        divide_encode8_each(s, d, n, rest, beside, numbers)


cdef void divide_encode8_runs_lanes(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    cdef const float *scale = <const float *>beside.scale
    cdef float divisor
    cdef Py_ssize_t i
    if HAS_LANES and words_for(numbers).fits:
        divide_encode8_lanes(RUNS, s, d, n, rest, beside, numbers)
        return
    for i in range(n):
        divisor = scale[(beside.within + i) >> beside.shift]
        d[i] = <uint8_t>encode_one(settled_one(s[i] / divisor, s[i], divisor), numbers[0])


cdef void quantize8_row_lanes(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    quantize8_lanes(ROW, s, d, n, rest, beside, numbers)


cdef void quantize8_each_lanes(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    quantize8_lanes(EACH, s, d, n, rest, beside, numbers)


cdef void quantize8_runs_lanes(
    const float *s, uint8_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    quantize8_lanes(RUNS, s, d, n, rest, beside, numbers)


cdef inline void multiply_lanes(
    int way, const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside,
) noexcept nogil:
    cdef const void *scale = beside.scale
    cdef const void *zero = beside.zero
    cdef Py_ssize_t within = beside.within if way == RUNS else 0
    cdef int shift = beside.shift
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        last = min(block * span + span, n)
        for i in range(block * span, last, 64):
            multiply_64(way, s + i, d + i, last - i, scale, zero, within + i, shift)


cdef void multiply_each_lanes(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    multiply_lanes(EACH, s, d, n, rest, beside)


cdef void multiply_runs_lanes(
    const float *s, uint32_t *d, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil:
    multiply_lanes(RUNS, s, d, n, rest, beside)
