/* The operations of vectors.h in AVX2, FMA and F16C: 32 elements to a group. */
#pragma once
#include <immintrin.h>

#define LP_WIDTH 32
typedef __m256i lp_bytes, lp_words, lp_ints, lp_byte_mask, lp_word_mask, lp_int_mask;
typedef __m256 lp_floats;
typedef __m256d lp_doubles;

/* ---- memory, constants, bits ------------------------------------------------------------------------------------- */

LP_VECTOR __m256i bits_load(const void *s) { return _mm256_loadu_si256((const __m256i *)s); }
LP_VECTOR void bits_store(void *d, __m256i x) { _mm256_storeu_si256((__m256i *)d, x); }
#define bytes_load(s) bits_load(s)
#define words_load(s) bits_load(s)
#define ints_load(s) bits_load(s)
LP_VECTOR lp_floats floats_load(const void *s) { return _mm256_loadu_ps((const float *)s); }
LP_VECTOR void floats_store(void *d, lp_floats x) { _mm256_storeu_ps((float *)d, x); }
LP_VECTOR lp_bytes bytes_all(uint32_t x) { return _mm256_set1_epi8((char)x); }
LP_VECTOR lp_words words_all(uint32_t x) { return _mm256_set1_epi16((short)x); }
LP_VECTOR lp_ints ints_all(uint32_t x) { return _mm256_set1_epi32((int)x); }
LP_VECTOR lp_floats floats_all(float x) { return _mm256_set1_ps(x); }
LP_VECTOR lp_bytes bytes_table(const uint8_t values[16]) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)values));
}
/* of two vectors of one type, which the result has */
#define bits_and(a, b) _mm256_and_si256(a, b)
#define bits_or(a, b) _mm256_or_si256(a, b)
#define bits_xor(a, b) _mm256_xor_si256(a, b)
/* bit by bit m ? a : b */
#define bits_choose(m, a, b) _mm256_or_si256(_mm256_and_si256(m, a), _mm256_andnot_si256(m, b))
#define bits_of_floats(x) _mm256_castps_si256(x)
#define floats_of_bits(x) _mm256_castsi256_ps(x)
#define bytes_of_words(x) (x)
#define words_of_bytes(x) (x)
#define bytes_of_ints(x) (x)

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

#define bytes_add(a, b) _mm256_add_epi8(a, b)
#define bytes_subtract(a, b) _mm256_sub_epi8(a, b)
#define bytes_max_signed(a, b) _mm256_max_epi8(a, b)
#define bytes_min_signed(a, b) _mm256_min_epi8(a, b)
#define bytes_equal(a, b) _mm256_cmpeq_epi8(a, b)
#define bytes_select(m, a, b) _mm256_blendv_epi8(b, a, m) /* m ? a : b */
#define bytes_upper_halves(x) _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15))
/* table[i] for i < 16, and 0 for i from 128 on; or 0 for i from 16 to 127 */
#define bytes_look_up(table, i) _mm256_shuffle_epi8(table, i)
#define bytes_look_up_or_0(table, i) _mm256_shuffle_epi8(table, _mm256_adds_epu8(i, _mm256_set1_epi8(0x70)))

/* ---- words of 16 bits -------------------------------------------------------------------------------------------- */

#define words_add(a, b) _mm256_add_epi16(a, b)
#define words_add_saturating(a, b) _mm256_adds_epi16(a, b)
#define words_add_unsigned_saturating(a, b) _mm256_adds_epu16(a, b)
#define words_subtract(a, b) _mm256_sub_epi16(a, b)
#define words_min(a, b) _mm256_min_epu16(a, b)
#define words_max(a, b) _mm256_max_epu16(a, b)
#define words_min_signed(a, b) _mm256_min_epi16(a, b)
#define words_max_signed(a, b) _mm256_max_epi16(a, b)
#define words_average(a, b) _mm256_avg_epu16(a, b) /* (a + b + 1) / 2 */
#define words_shift_left(a, k) _mm256_slli_epi16(a, k)
#define words_shift_right(a, k) _mm256_srli_epi16(a, k)
#define words_shift_right_signed(a, k) _mm256_srai_epi16(a, k)
#define words_greater_signed(a, b) _mm256_cmpgt_epi16(a, b)
#define words_where_greater_signed(a, b, x, y) words_select(words_greater_signed(a, b), x, y)
#define words_at_most(a, b) _mm256_cmpeq_epi16(_mm256_min_epu16(a, b), a)
#define words_select(m, a, b) _mm256_blendv_epi8(b, a, m)
#define words_where(m, a) _mm256_and_si256(m, a) /* m ? a : 0 */
#define words_are_negative(x) _mm256_srai_epi16(x, 15)
#define words_have(x, bit) _mm256_cmpeq_epi16(_mm256_and_si256(x, bit), bit) /* whether one bit is set */
LP_VECTOR int words_any(lp_word_mask mask) { return !_mm256_testz_si256(mask, mask); }
/* x << amount, for amounts up to 7; those below 0 leave no bit that counts in the upper 7 of a code. There is no such
   instruction: a product with a power of two, of which the upper byte of an amount, not below 128, selects 0. */
#define LP_SHIFT_FLAG 0x8000u
#define LP_ADDS_TO_ROUND 1 /* an addition of float32 rounds to 8 bits in less time than words are shifted */
LP_VECTOR lp_words words_shift_left_each(lp_words x, lp_words amount) {
    const __m256i powers = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0));
    return _mm256_mullo_epi16(x, _mm256_shuffle_epi8(powers, amount));
}

/* ---- integers and float32 ---------------------------------------------------------------------------------------- */

#define ints_add(a, b) _mm256_add_epi32(a, b)
#define ints_subtract(a, b) _mm256_sub_epi32(a, b)
#define ints_min_signed(a, b) _mm256_min_epi32(a, b)
#define ints_shift_right(a, k) _mm256_srli_epi32(a, k)
#define ints_shift_left(a, k) _mm256_slli_epi32(a, k)
#define ints_shift_right_by(a, amounts) _mm256_srlv_epi32(a, amounts) /* 0 where they are 32 or more */
#define ints_shift_left_by(a, amounts) _mm256_sllv_epi32(a, amounts)
#define ints_max_signed(a, b) _mm256_max_epi32(a, b)
#define ints_shift_right_signed(a, k) _mm256_srai_epi32(a, k)
#define ints_equal(a, b) _mm256_cmpeq_epi32(a, b)
#define ints_greater_signed(a, b) _mm256_cmpgt_epi32(a, b)
#define ints_select(m, a, b) _mm256_blendv_epi8(b, a, m)
#define ints_where(m, a) _mm256_and_si256(m, a)
#define ints_are_negative(x) _mm256_srai_epi32(x, 31)
#define ints_have(x, bit) _mm256_cmpeq_epi32(_mm256_and_si256(x, bit), bit) /* whether one bit is set */
#define ints_increment_where(m, a) _mm256_sub_epi32(a, m) /* m ? a + 1 : a */
#define floats_multiply(a, b) _mm256_mul_ps(a, b)
#define floats_add(a, b) _mm256_add_ps(a, b)
#define floats_subtract(a, b) _mm256_sub_ps(a, b)
#define floats_divide(a, b) _mm256_div_ps(a, b)
#define floats_multiply_add(a, b, c) _mm256_fmadd_ps(a, b, c)       /* a * b + c, rounded once */
#define floats_subtract_product(c, a, b) _mm256_fnmadd_ps(a, b, c)  /* c - a * b, rounded once */
#define floats_min(a, b) _mm256_min_ps(a, b)                        /* b where one is NaN */
#define floats_differ(a, b) bits_of_floats(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ))
#define floats_at_least(a, b) bits_of_floats(_mm256_cmp_ps(a, b, _CMP_GE_OQ))
#define floats_of_ints(x) _mm256_cvtepi32_ps(x)
#define ints_truncated(x) _mm256_cvttps_epi32(x) /* toward zero, of what is in range */
#define floats_max(a, b) _mm256_max_ps(a, b)
#define ints_rounded(x) _mm256_cvtps_epi32(x) /* half to even; NaN and what is below all integers: the least one */
#define ints_whole_parts(x) _mm256_cvttps_epi32(x) /* beyond all integers, and of NaN: the lowest byte is 0 */
LP_VECTOR lp_int_mask floats_are_nan(lp_floats x) { return bits_of_floats(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)); }
LP_VECTOR lp_int_mask floats_are_0_inf_nan(lp_floats x) {
    const __m256i magnitude = _mm256_and_si256(bits_of_floats(x), ints_all(0x7fffffffu));
    const __m256i beyond = _mm256_cmpgt_epi32(magnitude, ints_all(0x7f7fffffu));
    return _mm256_or_si256(beyond, _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256()));
}
LP_VECTOR int ints_any(lp_int_mask mask) { return !_mm256_testz_si256(mask, mask); }
LP_VECTOR int floats_any_nan(const lp_floats x[4]) {
    const __m256 a = _mm256_cmp_ps(x[0], x[1], _CMP_UNORD_Q), b = _mm256_cmp_ps(x[2], x[3], _CMP_UNORD_Q);
    return _mm256_movemask_ps(_mm256_or_ps(a, b));
}
/* The largest number of each of so many vectors as there are numbers in one, as signed integers. */
LP_VECTOR lp_ints ints_largest_of_each(const lp_ints x[8]) {
    __m256i pairs[4], fours[2];
    for (int j = 0; j < 4; j++) {
        const __m256i a = x[2 * j], b = x[2 * j + 1];
        pairs[j] = _mm256_max_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    }
    for (int j = 0; j < 2; j++) {
        const __m256i a = pairs[2 * j], b = pairs[2 * j + 1];
        fours[j] = _mm256_max_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    }
    return _mm256_max_epi32(
        _mm256_permute2x128_si256(fours[0], fours[1], 0x20), _mm256_permute2x128_si256(fours[0], fours[1], 0x31));
}
/* float64, half as many to a vector. */
LP_VECTOR lp_doubles doubles_load(const double *s) { return _mm256_loadu_pd(s); }
LP_VECTOR void doubles_store(double *d, lp_doubles x) { _mm256_storeu_pd(d, x); }
LP_VECTOR void doubles_of_floats(lp_floats x, lp_doubles y[2]) {
    y[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
    y[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
#define doubles_multiply_add(a, b, c) _mm256_fmadd_pd(a, b, c)

/* ---- narrower ---------------------------------------------------------------------------------------------------- */

/* The upper, the lower halves of two vectors as words of one, and the upper bytes of such words, in an order that the
   instruction set likes; then in the order of memory. */
#define words_of_upper_halves(p, q) _mm256_blend_epi16(_mm256_srli_epi32(p, 16), q, 0xaa)
#define words_of_lower_halves(p, q) _mm256_blend_epi16(p, _mm256_slli_epi32(q, 16), 0xaa)
LP_VECTOR lp_words words_in_order(lp_words x) {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, order), 0xd8);
}
LP_VECTOR lp_bytes bytes_of_mixed_words(lp_words a, lp_words b) {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15));
    const __m256i upper = _mm256_andnot_si256(_mm256_set1_epi16(0xff), b);
    const __m256i mixed = _mm256_or_si256(_mm256_srli_epi16(a, 8), upper);
    return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(mixed, order), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
/* The upper bytes of words that are in order. */
LP_VECTOR lp_bytes bytes_of_upper_halves(lp_words a, lp_words b) {
    const __m256i bytes = _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
    return _mm256_permute4x64_epi64(bytes, 0xd8);
}
/* Saturated, in the order that packing leaves; then four packed vectors in the order of memory. */
#define words_packed(a, b) _mm256_packs_epi32(a, b)
#define bytes_packed(a, b) _mm256_packs_epi16(a, b)
#define bytes_packed_in_order(x) _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
/* Bytes without a sign from words; two packed vectors of words in the order of memory. */
#define bytes_packed_unsigned(a, b) _mm256_packus_epi16(a, b)
#define words_packed_in_order(x) _mm256_permute4x64_epi64(x, 0xd8)
/* Codes of 4 bits, two to a byte, the first one in its lower half. */
LP_VECTOR void bytes_store_pairs(uint8_t *d, lp_bytes codes) {
    const __m256i pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x1001));
    const __m128i packed = _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128((__m128i *)d, packed);
}

/* Four codes of so many bits side by side in an integer; the lowest 8, the lowest 24 bits of integers in memory. */
LP_VECTOR lp_ints ints_of_quads(int bits, lp_bytes codes) {
    const __m256i pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16((short)(1 | 1 << (8 + bits))));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 | 1 << (16 + 2 * bits)));
}
LP_VECTOR void ints_store_bytes(uint8_t *d, lp_ints x) {
    const __m256i bytes = _mm256_shuffle_epi8(x, _mm256_set1_epi32(0x0c080400));
    const __m256i packed = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
    _mm_storel_epi64((__m128i *)d, _mm256_castsi256_si128(packed));
}
LP_VECTOR void ints_store_24_bits(uint8_t *d, lp_ints x) {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i packed = _mm256_permutevar8x32_epi32(
        _mm256_shuffle_epi8(x, order), _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
    _mm_storeu_si128((__m128i *)d, _mm256_castsi256_si128(packed));
    _mm_storel_epi64((__m128i *)(d + 16), _mm256_extracti128_si256(packed, 1));
}

/* ---- wider ------------------------------------------------------------------------------------------------------- */

/* Bytes of which words, or integers, will be made, in an order for that. */
#define bytes_load_for_words(s) _mm256_permute4x64_epi64(bits_load(s), 0xd8)
#define bytes_order_for_ints(x) _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7))
#define bytes_load_for_ints(s) bytes_order_for_ints(bits_load(s))
/* The same of bytes that were stored just before, 16 at a time: the machine forwards no more than one store. */
LP_VECTOR lp_bytes bytes_join_for_ints(const uint8_t *s) {
    const __m128i first = _mm_loadu_si128((const __m128i *)s), second = _mm_loadu_si128((const __m128i *)(s + 16));
    return bytes_order_for_ints(_mm256_set_m128i(second, first));
}
LP_VECTOR __m256i bytes_of_pairs(__m128i pairs) {
    const __m256i words = _mm256_cvtepu8_epi16(pairs);
    return _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16(words, 4)), _mm256_set1_epi8(15));
}
LP_VECTOR lp_bytes bytes_load_pairs(const uint8_t *s) {
    return bytes_of_pairs(_mm_loadu_si128((const __m128i *)s));
}
LP_VECTOR lp_bytes bytes_load_pairs_for_words(const uint8_t *s) {
    return bytes_of_pairs(_mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)s), 0xd8));
}
LP_VECTOR lp_bytes bytes_load_pairs_for_ints(const uint8_t *s) {
    const __m128i order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    return bytes_of_pairs(_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)s), order));
}
/* A vector of integers, of bytes or of words in memory. */
LP_VECTOR lp_ints ints_load_bytes(const uint8_t *s) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)s));
}
LP_VECTOR lp_ints ints_load_words(const uint16_t *s) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)s));
}
LP_VECTOR lp_ints ints_load_24_bits(const uint8_t *s) {
    const __m128i first = _mm_loadu_si128((const __m128i *)s), last = _mm_loadu_si128((const __m128i *)(s + 8));
    const __m256i order = _mm256_setr_epi8(
        0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1);
    return _mm256_shuffle_epi8(_mm256_set_m128i(last, first), order);
}
/* Their words, of lower and of upper bytes. */
LP_VECTOR void words_of_planes(lp_bytes low, lp_bytes high, lp_words x[2]) {
    x[0] = _mm256_unpacklo_epi8(low, high);
    x[1] = _mm256_unpackhi_epi8(low, high);
}
/* Integers, of lower halves and of bytes 2 and 3. */
LP_VECTOR void ints_of_planes(lp_words half, lp_bytes low, lp_bytes high, lp_ints x[4]) {
    const __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
    x[0] = _mm256_unpacklo_epi16(half, a);
    x[1] = _mm256_unpackhi_epi16(half, a);
    x[2] = _mm256_unpacklo_epi16(half, b);
    x[3] = _mm256_unpackhi_epi16(half, b);
}
/* Integers, of bytes and of upper halves. */
LP_VECTOR void ints_of_bytes(lp_bytes x, lp_words upper, lp_ints y[4]) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i a = _mm256_unpacklo_epi8(x, zero), b = _mm256_unpackhi_epi8(x, zero);
    y[0] = _mm256_unpacklo_epi16(a, upper);
    y[1] = _mm256_unpackhi_epi16(a, upper);
    y[2] = _mm256_unpacklo_epi16(b, upper);
    y[3] = _mm256_unpackhi_epi16(b, upper);
}
LP_VECTOR void floats_load_int8(const uint8_t *s, lp_floats x[4]) {
    for (int j = 0; j < 4; j++)
        x[j] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(s + 8 * j))));
}
/* float32 of which words in memory are the upper halves; of float16. */
LP_VECTOR void floats_load_upper_halves(const uint16_t *s, lp_floats x[2]) {
    const __m256i words = _mm256_permute4x64_epi64(bits_load(s), 0xd8), zero = _mm256_setzero_si256();
    x[0] = floats_of_bits(_mm256_unpacklo_epi16(zero, words));
    x[1] = floats_of_bits(_mm256_unpackhi_epi16(zero, words));
}
LP_VECTOR void floats_load_float16(const uint16_t *s, lp_floats x[2]) {
    x[0] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)s));
    x[1] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + 8)));
}
/* float32 of float64, whose lower half is folded into the bit above, which is sticky then. */
LP_VECTOR __m128 floats_of_folded_float64(__m256i x) {
    const __m256i low = _mm256_set1_epi64x(0xffffffffu), more = _mm256_add_epi64(_mm256_and_si256(x, low), low);
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(_mm256_andnot_si256(low, _mm256_or_si256(x, more))));
}
LP_VECTOR lp_floats floats_load_folded_float64(const uint64_t *s) {
    return _mm256_set_m128(floats_of_folded_float64(bits_load(s + 4)), floats_of_folded_float64(bits_load(s)));
}
/* Half to even; what NaN becomes keeps its payload. */
LP_VECTOR void floats_store_float16(uint16_t *d, lp_floats a, lp_floats b) {
    _mm_storeu_si128((__m128i *)d, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(d + 8), _mm256_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT));
}
LP_VECTOR lp_floats floats_rounded_to_float16(lp_floats x) {
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
