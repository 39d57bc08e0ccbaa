/* The operations of vectors.h in NEON of aarch64: 16 elements to a group. Nothing is ever out of order. */
#pragma once
#include <arm_neon.h>

#define LP_WIDTH 16
typedef uint8x16_t lp_bytes, lp_byte_mask;
typedef uint16x8_t lp_words, lp_word_mask;
typedef uint32x4_t lp_ints, lp_int_mask;
typedef float32x4_t lp_floats;
typedef float64x2_t lp_doubles;
#define LP_SIGNED_BYTES(x) ((int8x16_t)(x))
#define LP_SIGNED_WORDS(x) ((int16x8_t)(x))
#define LP_SIGNED_INTS(x) ((int32x4_t)(x))

/* ---- memory, constants, bits ------------------------------------------------------------------------------------- */

LP_VECTOR lp_bytes bytes_load(const void *s) { return vld1q_u8((const uint8_t *)s); }
LP_VECTOR lp_words words_load(const void *s) { return vld1q_u16((const uint16_t *)s); }
LP_VECTOR lp_ints ints_load(const void *s) { return vld1q_u32((const uint32_t *)s); }
#define bits_store(d, x) vst1q_u8((uint8_t *)(d), (uint8x16_t)(x))
LP_VECTOR lp_floats floats_load(const void *s) { return vld1q_f32((const float *)s); }
LP_VECTOR void floats_store(void *d, lp_floats x) { vst1q_f32((float *)d, x); }
LP_VECTOR lp_bytes bytes_all(uint32_t x) { return vdupq_n_u8((uint8_t)x); }
LP_VECTOR lp_words words_all(uint32_t x) { return vdupq_n_u16((uint16_t)x); }
LP_VECTOR lp_ints ints_all(uint32_t x) { return vdupq_n_u32(x); }
LP_VECTOR lp_floats floats_all(float x) { return vdupq_n_f32(x); }
LP_VECTOR lp_bytes bytes_table(const uint8_t values[16]) { return vld1q_u8(values); }
#define bits_and(a, b) ((a) & (b))
#define bits_or(a, b) ((a) | (b))
#define bits_xor(a, b) ((a) ^ (b))
#define bits_choose(m, a, b) \
    ((__typeof__(a))vbslq_u8((uint8x16_t)(m), (uint8x16_t)(a), (uint8x16_t)(b)))
#define bits_of_floats(x) vreinterpretq_u32_f32(x)
#define floats_of_bits(x) vreinterpretq_f32_u32(x)
#define bytes_of_words(x) vreinterpretq_u8_u16(x)
#define words_of_bytes(x) vreinterpretq_u16_u8(x)
#define bytes_of_ints(x) vreinterpretq_u8_u32(x)

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

#define bytes_add(a, b) vaddq_u8(a, b)
#define bytes_subtract(a, b) vsubq_u8(a, b)
#define bytes_max_signed(a, b) ((uint8x16_t)vmaxq_s8(LP_SIGNED_BYTES(a), LP_SIGNED_BYTES(b)))
#define bytes_min_signed(a, b) ((uint8x16_t)vminq_s8(LP_SIGNED_BYTES(a), LP_SIGNED_BYTES(b)))
#define bytes_equal(a, b) vceqq_u8(a, b)
#define bytes_select(m, a, b) vbslq_u8(m, a, b)
#define bytes_upper_halves(x) vshrq_n_u8(x, 4)
#define bytes_look_up(table, i) vqtbl1q_u8(table, i)
#define bytes_look_up_or_0(table, i) vqtbl1q_u8(table, i)

/* ---- words of 16 bits -------------------------------------------------------------------------------------------- */

#define words_add(a, b) vaddq_u16(a, b)
#define words_add_saturating(a, b) ((uint16x8_t)vqaddq_s16(LP_SIGNED_WORDS(a), LP_SIGNED_WORDS(b)))
#define words_add_unsigned_saturating(a, b) vqaddq_u16(a, b)
#define words_subtract(a, b) vsubq_u16(a, b)
#define words_min(a, b) vminq_u16(a, b)
#define words_max(a, b) vmaxq_u16(a, b)
#define words_min_signed(a, b) ((uint16x8_t)vminq_s16(LP_SIGNED_WORDS(a), LP_SIGNED_WORDS(b)))
#define words_max_signed(a, b) ((uint16x8_t)vmaxq_s16(LP_SIGNED_WORDS(a), LP_SIGNED_WORDS(b)))
#define words_average(a, b) vrhaddq_u16(a, b)
#define words_shift_left(a, k) vshlq_n_u16(a, k)
#define words_shift_right(a, k) ((a) >> (uint16_t)(k))
#define words_shift_right_signed(a, k) ((uint16x8_t)vshrq_n_s16(LP_SIGNED_WORDS(a), k))
#define words_greater_signed(a, b) vcgtq_s16(LP_SIGNED_WORDS(a), LP_SIGNED_WORDS(b))
#define words_where_greater_signed(a, b, x, y) words_select(words_greater_signed(a, b), x, y)
#define words_at_most(a, b) vcleq_u16(a, b)
#define words_select(m, a, b) vbslq_u16(m, a, b)
#define words_where(m, a) vandq_u16(m, a)
#define words_are_negative(x) vcltzq_s16(LP_SIGNED_WORDS(x))
#define words_have(x, bit) vtstq_u16(x, bit)
LP_VECTOR int words_any(lp_word_mask mask) { return vmaxvq_u16(mask) != 0; }
#define LP_SHIFT_FLAG 0u
#define LP_ADDS_TO_ROUND 0
#define words_shift_left_each(x, amount) vshlq_u16(x, LP_SIGNED_WORDS(amount)) /* below 0: to the right */

/* ---- integers and float32 ---------------------------------------------------------------------------------------- */

#define ints_add(a, b) vaddq_u32(a, b)
#define ints_subtract(a, b) vsubq_u32(a, b)
#define ints_min_signed(a, b) ((uint32x4_t)vminq_s32((int32x4_t)(a), (int32x4_t)(b)))
#define ints_shift_right_by(a, amounts) vshlq_u32(a, vnegq_s32((int32x4_t)(amounts)))
#define ints_shift_left_by(a, amounts) vshlq_u32(a, (int32x4_t)(amounts))
#define ints_max_signed(a, b) ((uint32x4_t)vmaxq_s32(LP_SIGNED_INTS(a), LP_SIGNED_INTS(b)))
#define ints_shift_left(a, k) ((a) << (uint32_t)(k))
#define ints_shift_right(a, k) ((a) >> (uint32_t)(k))
#define ints_shift_right_signed(a, k) ((uint32x4_t)(LP_SIGNED_INTS(a) >> (int32_t)(k)))
#define ints_equal(a, b) vceqq_u32(a, b)
#define ints_greater_signed(a, b) vcgtq_s32(LP_SIGNED_INTS(a), LP_SIGNED_INTS(b))
#define ints_select(m, a, b) vbslq_u32(m, a, b)
#define ints_where(m, a) vandq_u32(m, a)
#define ints_are_negative(x) vcltzq_s32((int32x4_t)(x))
#define ints_have(x, bit) vtstq_u32(x, bit)
#define ints_increment_where(m, a) vsubq_u32(a, m)
#define floats_multiply(a, b) vmulq_f32(a, b)
#define floats_add(a, b) vaddq_f32(a, b)
#define floats_subtract(a, b) vsubq_f32(a, b)
#define floats_divide(a, b) vdivq_f32(a, b)
#define floats_multiply_add(a, b, c) vfmaq_f32(c, a, b)
#define floats_subtract_product(c, a, b) vfmsq_f32(c, a, b)
LP_VECTOR lp_floats floats_min(lp_floats a, lp_floats b) { return vbslq_f32(vcltq_f32(a, b), a, b); } /* FMIN: NaN */
#define floats_differ(a, b) vmvnq_u32(vceqq_f32(a, b))
#define floats_at_least(a, b) vcgeq_f32(a, b)
#define floats_of_ints(x) vcvtq_f32_s32((int32x4_t)(x))
#define ints_truncated(x) ((uint32x4_t)vcvtq_s32_f32(x))
LP_VECTOR lp_floats floats_max(lp_floats a, lp_floats b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
/* FCVTNS gives 0 for NaN, which the larger one of it and a number is not. */
LP_VECTOR lp_ints ints_rounded(lp_floats x) {
    return (uint32x4_t)vcvtnq_s32_f32(vmaxnmq_f32(x, vdupq_n_f32(-0x1p30f)));
}
LP_VECTOR lp_ints ints_whole_parts(lp_floats x) {
    return vbicq_u32((uint32x4_t)vcvtq_s32_f32(x), vcgeq_f32(x, vdupq_n_f32(0x1p31f))); /* FCVTZS: the largest one */
}
LP_VECTOR lp_int_mask floats_are_nan(lp_floats x) { return vmvnq_u32(vceqq_f32(x, x)); }
LP_VECTOR lp_int_mask floats_are_0_inf_nan(lp_floats x) {
    const uint32x4_t magnitude = vandq_u32(bits_of_floats(x), vdupq_n_u32(0x7fffffffu));
    return vcgeq_u32(vsubq_u32(magnitude, vdupq_n_u32(1)), vdupq_n_u32(0x7f7fffffu));
}
LP_VECTOR int ints_any(lp_int_mask mask) { return vmaxvq_u32(mask) != 0; }
LP_VECTOR int floats_any_nan(const lp_floats x[4]) {
    const uint32x4_t a = vandq_u32(vceqq_f32(x[0], x[0]), vceqq_f32(x[1], x[1]));
    const uint32x4_t b = vandq_u32(vceqq_f32(x[2], x[2]), vceqq_f32(x[3], x[3]));
    return vminvq_u32(vandq_u32(a, b)) == 0;
}
LP_VECTOR lp_ints ints_largest_of_each(const lp_ints x[4]) {
    const int32x4_t a = vpmaxq_s32(LP_SIGNED_INTS(x[0]), LP_SIGNED_INTS(x[1]));
    return (uint32x4_t)vpmaxq_s32(a, vpmaxq_s32(LP_SIGNED_INTS(x[2]), LP_SIGNED_INTS(x[3])));
}
LP_VECTOR void ints_store_bytes(uint8_t *d, lp_ints x) {
    const uint16x4_t words = vmovn_u32(x);
    const uint32_t bytes = vget_lane_u32((uint32x2_t)vmovn_u16(vcombine_u16(words, words)), 0);
    memcpy(d, &bytes, 4);
}
LP_VECTOR lp_doubles doubles_load(const double *s) { return vld1q_f64(s); }
LP_VECTOR void doubles_store(double *d, lp_doubles x) { vst1q_f64(d, x); }
LP_VECTOR void doubles_of_floats(lp_floats x, lp_doubles y[2]) {
    y[0] = vcvt_f64_f32(vget_low_f32(x));
    y[1] = vcvt_high_f64_f32(x);
}
#define doubles_multiply_add(a, b, c) vfmaq_f64(c, a, b)

/* ---- narrower ---------------------------------------------------------------------------------------------------- */

#define words_of_upper_halves(p, q) vuzp2q_u16((uint16x8_t)(p), (uint16x8_t)(q))
#define words_of_lower_halves(p, q) vuzp1q_u16((uint16x8_t)(p), (uint16x8_t)(q))
#define words_in_order(x) (x)
#define bytes_of_mixed_words(a, b) vuzp2q_u8((uint8x16_t)(a), (uint8x16_t)(b))
#define bytes_of_upper_halves(a, b) vuzp2q_u8((uint8x16_t)(a), (uint8x16_t)(b))
#define words_packed(a, b) ((uint16x8_t)vqmovn_high_s32(vqmovn_s32((int32x4_t)(a)), (int32x4_t)(b)))
#define bytes_packed(a, b) ((uint8x16_t)vqmovn_high_s16(vqmovn_s16(LP_SIGNED_WORDS(a)), LP_SIGNED_WORDS(b)))
#define bytes_packed_in_order(x) (x)
#define bytes_packed_unsigned(a, b) vqmovun_high_s16(vqmovun_s16(LP_SIGNED_WORDS(a)), LP_SIGNED_WORDS(b))
#define words_packed_in_order(x) (x)
LP_VECTOR void bytes_store_pairs(uint8_t *d, lp_bytes codes) {
    vst1_u8(d, vget_low_u8(vsliq_n_u8(vuzp1q_u8(codes, codes), vuzp2q_u8(codes, codes), 4)));
}

LP_VECTOR lp_ints ints_of_quads(int bits, lp_bytes codes) {
    const uint16x8_t words = words_of_bytes(codes), odd = vshlq_u16(vshrq_n_u16(words, 8), vdupq_n_s16((int16_t)bits));
    const uint32x4_t pairs = (uint32x4_t)(odd | (words & 0xff));
    return vshlq_u32(pairs >> 16, vdupq_n_s32(2 * bits)) | (pairs & 0xffff);
}
LP_VECTOR void ints_store_24_bits(uint8_t *d, lp_ints x) {
    static const uint8_t order[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14};
    const uint8x16_t packed = vqtbl1q_u8(bytes_of_ints(x), vld1q_u8(order));
    vst1_u8(d, vget_low_u8(packed));
    vst1q_lane_u32((uint32_t *)(d + 8), vreinterpretq_u32_u8(packed), 2);
}

/* ---- wider ------------------------------------------------------------------------------------------------------- */

#define bytes_load_for_words(s) bytes_load(s)
#define bytes_load_for_ints(s) bytes_load(s)
#define bytes_join_for_ints(s) bytes_load(s)
LP_VECTOR lp_bytes bytes_load_pairs(const uint8_t *s) {
    const uint8x8_t pairs = vld1_u8(s), lower = vand_u8(pairs, vdup_n_u8(15)), upper = vshr_n_u8(pairs, 4);
    return vcombine_u8(vzip1_u8(lower, upper), vzip2_u8(lower, upper));
}
#define bytes_load_pairs_for_words(s) bytes_load_pairs(s)
#define bytes_load_pairs_for_ints(s) bytes_load_pairs(s)
LP_VECTOR lp_ints ints_load_words(const uint16_t *s) { return vmovl_u16(vld1_u16(s)); }
LP_VECTOR lp_ints ints_load_bytes(const uint8_t *s) {
    uint32_t four;
    memcpy(&four, s, 4);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
}
LP_VECTOR lp_ints ints_load_24_bits(const uint8_t *s) {
    static const uint8_t order[16] = {0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255};
    uint32_t last;
    memcpy(&last, s + 8, 4);
    const uint8x16_t bytes = vcombine_u8(vld1_u8(s), vcreate_u8(last));
    return vreinterpretq_u32_u8(vqtbl1q_u8(bytes, vld1q_u8(order)));
}
LP_VECTOR void words_of_planes(lp_bytes low, lp_bytes high, lp_words x[2]) {
    x[0] = words_of_bytes(vzip1q_u8(low, high));
    x[1] = words_of_bytes(vzip2q_u8(low, high));
}
LP_VECTOR void ints_of_planes(lp_words half, lp_bytes low, lp_bytes high, lp_ints x[4]) {
    const uint16x8_t a = words_of_bytes(vzip1q_u8(low, high)), b = words_of_bytes(vzip2q_u8(low, high));
    x[0] = (uint32x4_t)vzip1q_u16(half, a);
    x[1] = (uint32x4_t)vzip2q_u16(half, a);
    x[2] = (uint32x4_t)vzip1q_u16(half, b);
    x[3] = (uint32x4_t)vzip2q_u16(half, b);
}
LP_VECTOR void ints_of_bytes(lp_bytes x, lp_words upper, lp_ints y[4]) {
    const uint16x8_t a = vmovl_u8(vget_low_u8(x)), b = vmovl_high_u8(x);
    y[0] = (uint32x4_t)vzip1q_u16(a, upper);
    y[1] = (uint32x4_t)vzip2q_u16(a, upper);
    y[2] = (uint32x4_t)vzip1q_u16(b, upper);
    y[3] = (uint32x4_t)vzip2q_u16(b, upper);
}
LP_VECTOR void floats_load_int8(const uint8_t *s, lp_floats x[4]) {
    const int8x16_t codes = LP_SIGNED_BYTES(vld1q_u8(s));
    const int16x8_t a = vmovl_s8(vget_low_s8(codes)), b = vmovl_high_s8(codes);
    x[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(a)));
    x[1] = vcvtq_f32_s32(vmovl_high_s16(a));
    x[2] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(b)));
    x[3] = vcvtq_f32_s32(vmovl_high_s16(b));
}
LP_VECTOR void floats_load_upper_halves(const uint16_t *s, lp_floats x[2]) {
    const uint16x8_t words = vld1q_u16(s);
    x[0] = floats_of_bits(vshll_n_u16(vget_low_u16(words), 16));
    x[1] = floats_of_bits(vshll_high_n_u16(words, 16));
}
LP_VECTOR void floats_load_float16(const uint16_t *s, lp_floats x[2]) {
    const float16x8_t halves = vreinterpretq_f16_u16(vld1q_u16(s));
    x[0] = vcvt_f32_f16(vget_low_f16(halves));
    x[1] = vcvt_high_f32_f16(halves);
}
LP_VECTOR float64x2_t floats_folded_float64(const uint64_t *s) {
    const uint64x2_t x = vld1q_u64(s), low = vdupq_n_u64(0xffffffffu), more = vaddq_u64(vandq_u64(x, low), low);
    return vreinterpretq_f64_u64(vbicq_u64(vorrq_u64(x, more), low));
}
LP_VECTOR lp_floats floats_load_folded_float64(const uint64_t *s) {
    return vcvt_high_f32_f64(vcvt_f32_f64(floats_folded_float64(s)), floats_folded_float64(s + 2));
}
LP_VECTOR void floats_store_float16(uint16_t *d, lp_floats a, lp_floats b) {
    vst1q_u16(d, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(a), b)));
}
LP_VECTOR lp_floats floats_rounded_to_float16(lp_floats x) { return vcvt_f32_f16(vcvt_f16_f32(x)); }
