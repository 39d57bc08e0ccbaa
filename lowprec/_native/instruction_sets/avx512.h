/* The operations of vectors.h in AVX-512 with BW, DQ and VL: 64 elements to a group. */
#pragma once
#include <immintrin.h>

#define LP_WIDTH 64
typedef __m512i lp_bytes, lp_words, lp_ints;
typedef __m512 lp_floats;
typedef __m512d lp_doubles;
typedef __mmask64 lp_byte_mask;
typedef __mmask32 lp_word_mask;
typedef __mmask16 lp_int_mask;

/* ---- memory, constants, bits ------------------------------------------------------------------------------------- */

LP_VECTOR __m512i bits_load(const void *s) { return _mm512_loadu_si512(s); }
LP_VECTOR void bits_store(void *d, __m512i x) { _mm512_storeu_si512(d, x); }
#define bytes_load(s) bits_load(s)
#define words_load(s) bits_load(s)
#define ints_load(s) bits_load(s)
LP_VECTOR lp_floats floats_load(const void *s) { return _mm512_loadu_ps(s); }
LP_VECTOR void floats_store(void *d, lp_floats x) { _mm512_storeu_ps(d, x); }
LP_VECTOR lp_bytes bytes_all(uint32_t x) { return _mm512_set1_epi8((char)x); }
LP_VECTOR lp_words words_all(uint32_t x) { return _mm512_set1_epi16((short)x); }
LP_VECTOR lp_ints ints_all(uint32_t x) { return _mm512_set1_epi32((int)x); }
LP_VECTOR lp_floats floats_all(float x) { return _mm512_set1_ps(x); }
LP_VECTOR lp_bytes bytes_table(const uint8_t values[16]) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)values));
}
#define bits_and(a, b) _mm512_and_si512(a, b)
#define bits_or(a, b) _mm512_or_si512(a, b)
#define bits_xor(a, b) _mm512_xor_si512(a, b)
#define bits_choose(m, a, b) _mm512_ternarylogic_epi32(m, a, b, 0xca)
/* A constant of all 64 bytes: gcc would broadcast one of 16 anew for each group. */
#define LP_EACH_LANE(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    _mm512_set_epi8(p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a, p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a, \
                    p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a, p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a)
#define bits_of_floats(x) _mm512_castps_si512(x)
#define floats_of_bits(x) _mm512_castsi512_ps(x)
#define bytes_of_words(x) (x)
#define words_of_bytes(x) (x)
#define bytes_of_ints(x) (x)

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

#define bytes_add(a, b) _mm512_add_epi8(a, b)
#define bytes_subtract(a, b) _mm512_sub_epi8(a, b)
#define bytes_max_signed(a, b) _mm512_max_epi8(a, b)
#define bytes_min_signed(a, b) _mm512_min_epi8(a, b)
#define bytes_equal(a, b) _mm512_cmpeq_epi8_mask(a, b)
#define bytes_select(m, a, b) _mm512_mask_blend_epi8(m, b, a)
#define bytes_upper_halves(x) _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15))
#define bytes_look_up(table, i) _mm512_shuffle_epi8(table, i)
#define bytes_look_up_or_0(table, i) _mm512_shuffle_epi8(table, _mm512_adds_epu8(i, _mm512_set1_epi8(0x70)))

/* ---- words of 16 bits -------------------------------------------------------------------------------------------- */

#define words_add(a, b) _mm512_add_epi16(a, b)
#define words_add_saturating(a, b) _mm512_adds_epi16(a, b)
#define words_add_unsigned_saturating(a, b) _mm512_adds_epu16(a, b)
#define words_subtract(a, b) _mm512_sub_epi16(a, b)
#define words_min(a, b) _mm512_min_epu16(a, b)
#define words_max(a, b) _mm512_max_epu16(a, b)
#define words_min_signed(a, b) _mm512_min_epi16(a, b)
#define words_max_signed(a, b) _mm512_max_epi16(a, b)
#define words_average(a, b) _mm512_avg_epu16(a, b)
#define words_shift_left(a, k) _mm512_slli_epi16(a, k)
#define words_shift_right(a, k) _mm512_srli_epi16(a, k)
#define words_shift_right_signed(a, k) _mm512_srai_epi16(a, k)
#define words_greater_signed(a, b) _mm512_cmpgt_epi16_mask(a, b)
/* This mask, not its inverse: gcc makes it that of the operation whose result is y. */
#define words_where_greater_signed(a, b, x, y) _mm512_mask_blend_epi16(_mm512_cmple_epi16_mask(a, b), x, y)
#define words_at_most(a, b) _mm512_cmple_epu16_mask(a, b)
#define words_where(m, a) _mm512_maskz_mov_epi16(m, a)
#define words_are_negative(x) _mm512_movepi16_mask(x)
#define words_have(x, bit) _mm512_test_epi16_mask(x, bit)
#define words_any(mask) ((mask) != 0)
#define words_select(m, a, b) _mm512_mask_blend_epi16(m, b, a)
#define LP_SHIFT_FLAG 0u
#define LP_ADDS_TO_ROUND 0
#define words_shift_left_each(x, amount) _mm512_sllv_epi16(x, amount) /* below 0: 0 */

/* ---- integers and float32 ---------------------------------------------------------------------------------------- */

#define ints_add(a, b) _mm512_add_epi32(a, b)
#define ints_subtract(a, b) _mm512_sub_epi32(a, b)
#define ints_min_signed(a, b) _mm512_min_epi32(a, b)
#define ints_shift_right(a, k) _mm512_srli_epi32(a, k)
#define ints_shift_left(a, k) _mm512_slli_epi32(a, k)
#define ints_shift_right_by(a, amounts) _mm512_srlv_epi32(a, amounts)
#define ints_shift_left_by(a, amounts) _mm512_sllv_epi32(a, amounts)
#define ints_where(m, a) _mm512_maskz_mov_epi32(m, a)
#define ints_are_negative(x) _mm512_movepi32_mask(x)
#define ints_have(x, bit) _mm512_test_epi32_mask(x, bit)
#define ints_greater_signed(a, b) _mm512_cmpgt_epi32_mask(a, b)
#define ints_increment_where(m, a) _mm512_mask_add_epi32(a, m, a, _mm512_set1_epi32(1))
#define ints_max_signed(a, b) _mm512_max_epi32(a, b)
#define ints_shift_right_signed(a, k) _mm512_srai_epi32(a, k)
#define ints_equal(a, b) _mm512_cmpeq_epi32_mask(a, b)
#define ints_select(m, a, b) _mm512_mask_blend_epi32(m, b, a)
#define floats_multiply(a, b) _mm512_mul_ps(a, b)
#define floats_add(a, b) _mm512_add_ps(a, b)
#define floats_subtract(a, b) _mm512_sub_ps(a, b)
#define floats_divide(a, b) _mm512_div_ps(a, b)
#define floats_multiply_add(a, b, c) _mm512_fmadd_ps(a, b, c)
#define floats_subtract_product(c, a, b) _mm512_fnmadd_ps(a, b, c)
#define floats_min(a, b) _mm512_min_ps(a, b)
#define floats_differ(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define floats_at_least(a, b) _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ)
#define floats_of_ints(x) _mm512_cvtepi32_ps(x)
#define ints_truncated(x) _mm512_cvttps_epi32(x)
#define floats_max(a, b) _mm512_max_ps(a, b)
#define ints_rounded(x) _mm512_cvt_roundps_epi32(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define ints_whole_parts(x) _mm512_cvttps_epi32(x)
#define floats_are_nan(x) _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q)
#define floats_are_0_inf_nan(x) _mm512_fpclass_ps_mask(x, 0x9f) /* quiet NaN, 0, -0, Inf, -Inf, signalling NaN */
#define ints_any(mask) ((mask) != 0)
LP_VECTOR int floats_any_nan(const lp_floats x[4]) {
    const __mmask16 a = _mm512_cmp_ps_mask(x[0], x[1], _CMP_UNORD_Q), b = _mm512_cmp_ps_mask(x[2], x[3], _CMP_UNORD_Q);
    return !_kortestz_mask16_u8(a, b);
}
LP_VECTOR lp_doubles doubles_load(const double *s) { return _mm512_loadu_pd(s); }
LP_VECTOR void doubles_store(double *d, lp_doubles x) { _mm512_storeu_pd(d, x); }
LP_VECTOR void doubles_of_floats(lp_floats x, lp_doubles y[2]) {
    y[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
    y[1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
#define doubles_multiply_add(a, b, c) _mm512_fmadd_pd(a, b, c)
/* Of four vectors at a time: in every 128 bits the largest of what was there. */
LP_VECTOR lp_ints ints_largest_of_4(const lp_ints x[4]) {
    __m512i pairs[2];
    for (int j = 0; j < 2; j++) {
        const __m512i a = x[2 * j], b = x[2 * j + 1];
        pairs[j] = _mm512_max_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    }
    return _mm512_max_epi32(_mm512_unpacklo_epi64(pairs[0], pairs[1]), _mm512_unpackhi_epi64(pairs[0], pairs[1]));
}
LP_VECTOR lp_ints ints_largest_of_each(const lp_ints x[16]) {
    __m512i fours[4], eights[2];
    for (int j = 0; j < 4; j++) fours[j] = ints_largest_of_4(x + 4 * j);
    for (int j = 0; j < 2; j++) {
        const __m512i a = fours[2 * j], b = fours[2 * j + 1];
        eights[j] = _mm512_max_epi32(_mm512_shuffle_i32x4(a, b, 0x44), _mm512_shuffle_i32x4(a, b, 0xee));
    }
    return _mm512_max_epi32(
        _mm512_shuffle_i32x4(eights[0], eights[1], 0x88), _mm512_shuffle_i32x4(eights[0], eights[1], 0xdd));
}
LP_VECTOR void ints_store_bytes(uint8_t *d, lp_ints x) { _mm_storeu_si128((__m128i *)d, _mm512_cvtepi32_epi8(x)); }

/* ---- narrower ---------------------------------------------------------------------------------------------------- */

/* A shuffle of bytes leaves those that its mask leaves out: two vectors are interleaved by one instruction. */
#define words_of_upper_halves(p, q) _mm512_mask_shuffle_epi8(q, 0x3333333333333333u, p, \
    LP_EACH_LANE(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15))
#define words_of_lower_halves(p, q) _mm512_mask_shuffle_epi8(p, 0xccccccccccccccccu, q, \
    LP_EACH_LANE(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13))
#define bytes_of_upper_bytes(a, b) _mm512_mask_shuffle_epi8(b, 0x5555555555555555u, a, \
    LP_EACH_LANE(1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15))
/* From lanes that have 4 elements of each of 4 vectors in turn; and back. */
#define bytes_in_order_of_lanes(x) \
    _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x)
LP_VECTOR lp_words words_in_order(lp_words x) {
    const __m512i order = _mm512_set_epi16(
        31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,
        30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutexvar_epi16(order, x);
}
LP_VECTOR lp_bytes bytes_of_mixed_words(lp_words a, lp_words b) {
    const __m512i order = LP_EACH_LANE(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15);
    return bytes_in_order_of_lanes(_mm512_shuffle_epi8(bytes_of_upper_bytes(a, b), order));
}
LP_VECTOR lp_bytes bytes_of_upper_halves(lp_words a, lp_words b) {
    const __m512i order = LP_EACH_LANE(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m512i lanes = _mm512_shuffle_epi8(bytes_of_upper_bytes(a, b), order);
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), lanes);
}
#define words_packed(a, b) _mm512_packs_epi32(a, b)
#define bytes_packed(a, b) _mm512_packs_epi16(a, b)
#define bytes_packed_unsigned(a, b) _mm512_packus_epi16(a, b)
#define bytes_packed_in_order(x) bytes_in_order_of_lanes(x)
#define words_packed_in_order(x) _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x)
LP_VECTOR void bytes_store_pairs(uint8_t *d, lp_bytes codes) {
    const __m512i pairs = _mm512_maddubs_epi16(codes, _mm512_set1_epi16(0x1001));
    _mm256_storeu_si256((__m256i *)d, _mm512_cvtepi16_epi8(pairs));
}

LP_VECTOR lp_ints ints_of_quads(int bits, lp_bytes codes) {
    const __m512i pairs = _mm512_maddubs_epi16(codes, _mm512_set1_epi16((short)(1 | 1 << (8 + bits))));
    return _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 | 1 << (16 + 2 * bits)));
}
LP_VECTOR void ints_store_24_bits(uint8_t *d, lp_ints x) {
    const __m512i order = LP_EACH_LANE(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    const __m512i packed = _mm512_permutexvar_epi32(lanes, _mm512_shuffle_epi8(x, order));
    _mm256_storeu_si256((__m256i *)d, _mm512_castsi512_si256(packed));
    _mm_storeu_si128((__m128i *)(d + 32), _mm512_extracti32x4_epi32(packed, 2));
}

/* ---- wider ------------------------------------------------------------------------------------------------------- */

#define words_for_halves(x) _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), x)
#define bytes_load_for_words(s) words_for_halves(bits_load(s))
#define bytes_load_for_ints(s) bytes_in_order_of_lanes(bits_load(s))
LP_VECTOR lp_bytes bytes_join_for_ints(const uint8_t *s) {
    __m512i x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)s));
    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(s + 16)), 1);
    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(s + 32)), 2);
    return bytes_in_order_of_lanes(_mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(s + 48)), 3));
}
LP_VECTOR __m512i bytes_of_pairs(__m256i pairs) {
    const __m512i words = _mm512_cvtepu8_epi16(pairs);
    return _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16(words, 4)), _mm512_set1_epi8(15));
}
LP_VECTOR lp_bytes bytes_load_pairs(const uint8_t *s) {
    return bytes_of_pairs(_mm256_loadu_si256((const __m256i *)s));
}
LP_VECTOR lp_bytes bytes_load_pairs_for_words(const uint8_t *s) {
    const __m256i pairs = _mm256_loadu_si256((const __m256i *)s);
    return bytes_of_pairs(_mm256_permutevar8x32_epi32(pairs, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}
LP_VECTOR lp_bytes bytes_load_pairs_for_ints(const uint8_t *s) {
    const __m256i order = _mm256_setr_epi16(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return bytes_of_pairs(_mm256_permutexvar_epi16(order, _mm256_loadu_si256((const __m256i *)s)));
}
LP_VECTOR lp_ints ints_load_bytes(const uint8_t *s) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)s));
}
LP_VECTOR lp_ints ints_load_words(const uint16_t *s) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)s));
}
LP_VECTOR lp_ints ints_load_24_bits(const uint8_t *s) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0);
    const __m512i order = LP_EACH_LANE(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m512i first = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)s));
    const __m512i bytes = _mm512_inserti32x4(first, _mm_loadu_si128((const __m128i *)(s + 32)), 2);
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(lanes, bytes), order);
}
LP_VECTOR void words_of_planes(lp_bytes low, lp_bytes high, lp_words x[2]) {
    x[0] = _mm512_unpacklo_epi8(low, high);
    x[1] = _mm512_unpackhi_epi8(low, high);
}
LP_VECTOR void ints_of_planes(lp_words half, lp_bytes low, lp_bytes high, lp_ints x[4]) {
    const __m512i a = _mm512_unpacklo_epi8(low, high), b = _mm512_unpackhi_epi8(low, high);
    x[0] = _mm512_unpacklo_epi16(half, a);
    x[1] = _mm512_unpackhi_epi16(half, a);
    x[2] = _mm512_unpacklo_epi16(half, b);
    x[3] = _mm512_unpackhi_epi16(half, b);
}
LP_VECTOR void ints_of_bytes(lp_bytes x, lp_words upper, lp_ints y[4]) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i a = _mm512_unpacklo_epi8(x, zero), b = _mm512_unpackhi_epi8(x, zero);
    y[0] = _mm512_unpacklo_epi16(a, upper);
    y[1] = _mm512_unpackhi_epi16(a, upper);
    y[2] = _mm512_unpacklo_epi16(b, upper);
    y[3] = _mm512_unpackhi_epi16(b, upper);
}
LP_VECTOR void floats_load_int8(const uint8_t *s, lp_floats x[4]) {
    for (int j = 0; j < 4; j++)
        x[j] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(s + 16 * j))));
}
LP_VECTOR void floats_load_upper_halves(const uint16_t *s, lp_floats x[2]) {
    const __m512i words = words_for_halves(bits_load(s)), zero = _mm512_setzero_si512();
    x[0] = floats_of_bits(_mm512_unpacklo_epi16(zero, words));
    x[1] = floats_of_bits(_mm512_unpackhi_epi16(zero, words));
}
LP_VECTOR void floats_load_float16(const uint16_t *s, lp_floats x[2]) {
    x[0] = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)s));
    x[1] = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(s + 16)));
}
LP_VECTOR __m256 floats_of_folded_float64(__m512i x) {
    const __m512i low = _mm512_set1_epi64(0xffffffffu), more = _mm512_add_epi64(_mm512_and_si512(x, low), low);
    return _mm512_cvtpd_ps(_mm512_castsi512_pd(_mm512_ternarylogic_epi64(x, more, low, 0x54))); /* (x | more) & ~low */
}
LP_VECTOR lp_floats floats_load_folded_float64(const uint64_t *s) {
    const __m256 a = floats_of_folded_float64(bits_load(s)), b = floats_of_folded_float64(bits_load(s + 8));
    return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
}
#define LP_FLOAT16(x) _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
LP_VECTOR void floats_store_float16(uint16_t *d, lp_floats a, lp_floats b) {
    _mm256_storeu_si256((__m256i *)d, LP_FLOAT16(a));
    _mm256_storeu_si256((__m256i *)(d + 16), LP_FLOAT16(b));
}
#define floats_rounded_to_float16(x) _mm512_cvtph_ps(LP_FLOAT16(x))
