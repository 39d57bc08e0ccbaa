/* Blocks of 32 elements as GGUF has them, as many at a time as a vector has numbers: once, for every instruction set of
   vectors.h. Functions return how many blocks they wrote or read, from the first one on; the loops of
   ggml_block_loops.pxi, whose steps they take, do the rest. */
#pragma once
#include "vector_kernels/mx_nvfp4_blocks.h"

/* The exponent field of 2**(floor(log2(largest)) - 2), the logarithm rounded to float32; 0 below the range.

   The logarithm of 2**n * (1 - k * 2**-24) is n - k / ln(2) * 2**-24. Between 2**j and 2**(j + 1) half an ulp is
   2**(j - 24): the logarithm rounds to n, out of that range where n > 0, for every k <= 2**j * ln(2), which are
   44, 22, 11, 5, 2, 1 and 0 for j from 6 down. Where the exponent e is n - 1, such j is that of e, or of ~e. */
LP_INLINE u32 lp_fp4_exponent(u32 largest) {
    const i32 e = (i32)(largest >> 23) - 127;
    const u32 j = (lp_bits((float)((e ^ (e >> 31)) | 1)) >> 23) - 127;
    const u32 field = (largest + (44u >> ((6 - j) & 31))) >> 23;
    return field > 2 ? field - 2 : 0;
}

/* 2**(byte - 128), half the scale: float32 has it for every byte; none is NaN. */
LP_INLINE float lp_half_power(u32 exponent) {
    return lp_float(exponent < 2 ? (LP_HIDDEN_BIT >> 2) << exponent : (exponent - 1) << 23);
}

#if LP_VECTORS
enum { LP_GGML = 32, LP_GGML_SOME = LP_GGML * LP_LANES };

/* Of the codes of LP_LANES blocks: what comes before those of each, and the codes. */
typedef struct {
    uint16_t half[2 * LP_LANES];
    float inverse[LP_LANES];
    uint8_t codes[LP_GGML_SOME];
} lp_ggml_some;

LP_VECTOR void lp_ggml_scales(lp_ggml_some *b, lp_floats scale) {
    const lp_ints inverse = bits_of_floats(floats_divide(floats_all(1), scale));
    const lp_int_mask finite = ints_greater_signed(ints_all(LP_INF), bits_and(inverse, ints_all(~LP_SIGN)));
    floats_store(b->inverse, floats_of_bits(ints_select(finite, inverse, ints_all(0))));
    floats_store_float16(b->half, scale, scale);
}

LP_VECTOR lp_bytes lp_bytes_of_ints(const lp_ints q[4]) {
    return bytes_packed_in_order(bytes_packed(words_packed(q[0], q[1]), words_packed(q[2], q[3])));
}

/* The elements of the first half are in the low bits. */
LP_VECTOR void lp_join_halves(const uint8_t *codes, uint8_t *pairs) {
    uint64_t words[4];
    memcpy(words, codes, sizeof words);
    words[0] |= words[2] << 4;
    words[1] |= words[3] << 4;
    memcpy(pairs, words, sizeof words / 2);
}

/* What the blocks after the next LP_LANES have; where there are none, what these have. */
LP_VECTOR void lp_prefetch_some(const float *s, ptrdiff_t rest) {
    const float *const later = s + (rest >= 3 * LP_LANES ? 2 * LP_GGML_SOME : 0);
    for (int i = 0; i < LP_GGML_SOME; i += 16) LP_PREFETCH((const char *)(later + i));
}

static ptrdiff_t lp_encode_q8_0(const float *s, uint8_t *d, ptrdiff_t n) {
    ptrdiff_t done = 0;
    for (; done + LP_LANES <= n; done += LP_LANES, s += LP_GGML_SOME) {
        lp_ggml_some b;
        lp_ints q[4];
        lp_prefetch_some(s, n - done);
        lp_ggml_scales(&b, floats_divide(floats_of_bits(lp_largest_of_blocks(LP_GGML, s)), floats_all(127)));
        for (ptrdiff_t i = 0; i < LP_GGML_SOME; i += LP_WIDTH) {
            const ptrdiff_t block = i / LP_GGML;
            for (int j = 0; j < 4; j++) {
                const lp_floats inverse = floats_all(b.inverse[block + LP_LANES * j / LP_GGML]);
                const lp_floats p = floats_multiply(floats_load(s + i + LP_LANES * j), inverse);
                const lp_ints half = bits_or(bits_and(bits_of_floats(p), ints_all(LP_SIGN)), ints_all(0x3effffff));
                q[j] = ints_truncated(floats_add(p, floats_of_bits(half)));
            }
            /* a group of more than one block has bytes between its halves */
            uint8_t *codes = LP_WIDTH > LP_GGML ? b.codes + i : d + (2 + LP_GGML) * block + 2 + i % LP_GGML;
            bits_store(codes, lp_bytes_of_ints(q));
        }
        for (int i = 0; i < LP_LANES; i++, d += 2 + LP_GGML) {
            memcpy(d, b.half + i, 2);
            if (LP_WIDTH > LP_GGML) memcpy(d + 2, b.codes + LP_GGML * i, LP_GGML);
        }
    }
    return done;
}

/* The number with the largest magnitude of each block, the first one: of a number and its negative, which one must be
   looked for. */
LP_VECTOR lp_floats lp_extremes(const float *s) {
    lp_ints m[2][LP_LANES];
    for (int i = 0; i < LP_LANES; i++)
        for (int j = 0; j < LP_GGML; j += LP_LANES) {
            const lp_ints bits = ints_load(s + LP_GGML * i + j), turned = bits_xor(bits, ints_all(LP_SIGN));
            m[0][i] = j ? ints_max_signed(m[0][i], bits) : bits;
            m[1][i] = j ? ints_max_signed(m[1][i], turned) : turned;
        }
    const lp_ints positive = ints_largest_of_each(m[0]), negative = ints_largest_of_each(m[1]);
    const lp_int_mask less = ints_greater_signed(negative, positive), same = ints_equal(negative, positive);
    const lp_ints extreme = ints_select(less, bits_or(negative, ints_all(LP_SIGN)), positive);
    if (!ints_any(same)) return floats_of_bits(extreme);
    u32 found[LP_LANES], equal[LP_LANES];
    floats_store(found, floats_of_bits(extreme));
    floats_store(equal, floats_of_bits(ints_select(same, ints_all(1), ints_all(0))));
    for (int i = 0; i < LP_LANES; i++)
        for (int j = LP_GGML - 1; equal[i] && j >= 0; j--) {
            const u32 bits = lp_bits(s[LP_GGML * i + j]);
            if ((bits & ~LP_SIGN) == (found[i] & ~LP_SIGN)) found[i] = bits;
        }
    return floats_load(found);
}

static ptrdiff_t lp_encode_q4_0(const float *s, uint8_t *d, ptrdiff_t n) {
    ptrdiff_t done = 0;
    for (; done + LP_LANES <= n; done += LP_LANES, s += LP_GGML_SOME) {
        lp_ggml_some b;
        lp_ints q[4];
        lp_prefetch_some(s, n - done);
        lp_ggml_scales(&b, floats_divide(lp_extremes(s), floats_all(-8)));
        for (ptrdiff_t i = 0; i < LP_GGML_SOME; i += LP_WIDTH) {
            const ptrdiff_t block = i / LP_GGML;
            for (int j = 0; j < 4; j++) {
                const lp_floats inverse = floats_all(b.inverse[block + LP_LANES * j / LP_GGML]);
                const lp_floats p = floats_multiply(floats_load(s + i + LP_LANES * j), inverse);
                q[j] = ints_truncated(floats_add(p, floats_all(8.5f)));
            }
            bits_store(b.codes + i, bytes_min_signed(lp_bytes_of_ints(q), bytes_all(15)));
        }
        for (int i = 0; i < LP_LANES; i++, d += 2 + LP_GGML / 2) {
            memcpy(d, b.half + i, 2);
            lp_join_halves(b.codes + LP_GGML * i, d + 2);
        }
    }
    return done;
}

/* FP4: ties go toward 0, and 0 has no sign. */
static ptrdiff_t lp_encode_mxfp4(const float *s, uint8_t *d, ptrdiff_t n) {
    ptrdiff_t done = 0;
    block_params_t p;
    memset(&p, 0, sizeof p);
    p.most = (i32)lp_bits(6.0f);
    p.smallest_normal = (i32)lp_bits(1.0f);
    p.keep = 22;
    p.increment = (1u << 21) - 1;
    p.sign_shift = 28;
    p.sign_mask = 8;
    p.zero_sign = ~0u;
    const lp_block_writer writer = lp_block_writer_of(&p, 0, 8);
    for (; done + LP_LANES <= n; done += LP_LANES, s += LP_GGML_SOME) {
        u32 exponent[LP_LANES];
        lp_block_factors f;
        lp_ggml_some b;
        lp_prefetch_some(s, n - done);
        floats_store(exponent, floats_of_bits(lp_largest_of_blocks(LP_GGML, s)));
        for (int i = 0; i < LP_LANES; i++) {
            exponent[i] = lp_fp4_exponent(exponent[i]);
            f.whole[i] = lp_float((254 - exponent[i]) << 23);
        }
        lp_write_block_codes(LP_BY_FACTOR, LP_GGML, 0, 0, LP_LANES, s, &f, &writer, b.codes);
        for (int i = 0; i < LP_LANES; i++, d += 1 + LP_GGML / 2) {
            d[0] = (uint8_t)exponent[i];
            lp_join_halves(b.codes + LP_GGML * i, d + 1);
        }
    }
    return done;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A NaN of a product or a sum has the sign of the operand that it came from, the scale first; a new one has none. */
LP_VECTOR lp_floats lp_ggml_nan(lp_floats x, float scale, float least) {
    const float from = scale == scale ? least : scale;
    const u32 nan = LP_QUIET_NAN | (from == from ? 0 : lp_bits(from) & LP_SIGN);
    return floats_of_bits(ints_select(floats_are_nan(x), ints_all(nan), bits_of_floats(x)));
}

/* Each bit of a byte as a byte. */
LP_VECTOR uint64_t lp_spread_bits(uint32_t byte) {
    return ((byte & 0x7f) * 0x02040810204081u & 0x0101010101010101u) | (uint64_t)(byte & 0x80) << 49;
}

typedef uint64_t lp_two_words __attribute__((vector_size(16)));

/* The codes of a block, stored 16 at a time, as they will be read; of 5 bits, the high ones come first, as those of 32
   elements. */
LP_VECTOR void lp_ggml_codes(int bits, const uint8_t *s, uint8_t *codes) {
    lp_two_words half[2];
    if (bits == 8) {
        memcpy(codes, s, LP_GGML);
        return;
    }
    memcpy(half, bits == 5 ? s + 4 : s, sizeof half[0]);
    half[1] = half[0] >> 4 & 0x0f0f0f0f0f0f0f0fu;
    half[0] &= 0x0f0f0f0f0f0f0f0fu;
    for (int i = 0; bits == 5 && i < 2; i++)
        half[i] |= (lp_two_words){lp_spread_bits(s[2 * i]), lp_spread_bits(s[2 * i + 1])} << 4;
    memcpy(codes, half, sizeof half[0]);
    memcpy(codes + 16, half + 1, sizeof half[1]);
}

/* Codes less `zero`, signed ones of 8 bits, times a scale, plus a least value where `adds`. Both are float16, before the
   codes. */
LP_VECTOR ptrdiff_t lp_decode_integers(int bits, int adds, float zero, const uint8_t *s, float *d, ptrdiff_t n) {
    const int before = adds ? 4 : 2, size = before + LP_GGML * bits / 8, in_place = bits == 8 && LP_WIDTH <= LP_GGML;
    ptrdiff_t done = 0;
    for (; done + LP_LANES <= n; done += LP_LANES, d += LP_GGML_SOME) {
        uint16_t halves[2][2 * LP_LANES] = {{0}};
        float operand[2][LP_LANES] = {{0}};
        uint8_t codes[LP_GGML_SOME];
        const uint8_t *const first = s;
        lp_ints most = ints_all(0);
        for (int i = 0; i < LP_LANES; i++, s += size) {
            for (int k = 0; k <= adds; k++) memcpy(halves[k] + i, s + 2 * k, 2);
            if (!in_place) lp_ggml_codes(bits, s + before, codes + LP_GGML * i);
        }
        for (int k = 0; k <= adds; k++) {
            lp_floats x[2];
            floats_load_float16(halves[k], x);
            floats_store(operand[k], x[0]);
            most = ints_max_signed(most, bits_and(bits_of_floats(x[0]), ints_all(~LP_SIGN)));
        }
        const int may_be_nan = ints_any(ints_greater_signed(most, ints_all(LP_INF - 1)));
        for (ptrdiff_t i = 0; i < LP_GGML_SOME; i += LP_WIDTH) {
            const ptrdiff_t block = i / LP_GGML;
            lp_floats x[4];
            floats_load_int8(in_place ? first + block * size + before + i % LP_GGML : codes + i, x);
            for (int j = 0; j < 4; j++) {
                const ptrdiff_t at = i + LP_LANES * j, k = block + LP_LANES * j / LP_GGML;
                const float scale = operand[0][k], least = operand[1][k];
                const lp_floats whole = zero != 0 ? floats_subtract(x[j], floats_all(zero)) : x[j];
                lp_floats y = floats_multiply(whole, floats_all(scale));
                if (adds) y = floats_add(y, floats_all(least));
                floats_store(d + at, LP_RARELY(may_be_nan) ? lp_ggml_nan(y, scale, least) : y);
            }
        }
    }
    return done;
}
#define LP_DECODE_INTEGERS(NAME, BITS, ADDS, ZERO)                                                                     \
    static ptrdiff_t lp_decode_##NAME(const uint8_t *s, float *d, ptrdiff_t n) {                                       \
        return lp_decode_integers(BITS, ADDS, ZERO, s, d, n);                                                          \
    }
LP_DECODE_INTEGERS(q8_0, 8, 0, 0)
LP_DECODE_INTEGERS(q4_0, 4, 0, 8)
LP_DECODE_INTEGERS(q4_1, 4, 1, 0)
LP_DECODE_INTEGERS(q5_0, 5, 0, 16)
LP_DECODE_INTEGERS(q5_1, 5, 1, 0)

/* FP4: twice the value of each code, by a table, times half the scale. There is no -0. */
static ptrdiff_t lp_decode_mxfp4(const uint8_t *s, float *d, ptrdiff_t n) {
    static const float TWICE[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    ptrdiff_t done = 0;
    u16 values[16];
    for (int i = 0; i < 16; i++) values[i] = (u16)(lp_bits(TWICE[i]) >> 16);
    const lp_reader r = lp_reader_of_pairs(values);
    for (; done + LP_LANES <= n; done += LP_LANES, d += LP_GGML_SOME) {
        float half_scale[LP_LANES];
        uint8_t codes[LP_GGML_SOME];
        for (int i = 0; i < LP_LANES; i++, s += 1 + LP_GGML / 2) {
            half_scale[i] = lp_half_power(s[0]);
            lp_ggml_codes(4, s + 1, codes + LP_GGML * i);
        }
        for (ptrdiff_t i = 0; i < LP_GGML_SOME; i += LP_WIDTH) {
            const ptrdiff_t block = i / LP_GGML;
            const lp_bytes bytes = bytes_join_for_ints(codes + i);
            const lp_bytes plane[2] = {bytes_look_up(r.lower[0], bytes), bytes_look_up(r.lower[1], bytes)};
            const lp_float_group x = lp_floats_of_planes(plane);
            for (int j = 0; j < 4; j++) {
                const lp_floats scale = floats_all(half_scale[block + LP_LANES * j / LP_GGML]);
                floats_store(d + i + LP_LANES * j, floats_multiply(x.v[j], scale));
            }
        }
    }
    return done;
}

#else
#define LP_NO_GGML(NAME, SOURCE, TARGET)                                                                               \
    static ptrdiff_t lp_##NAME(const SOURCE *s, TARGET *d, ptrdiff_t n) { (void)s, (void)d, (void)n; return 0; }
LP_NO_GGML(encode_q8_0, float, uint8_t) LP_NO_GGML(encode_q4_0, float, uint8_t) LP_NO_GGML(encode_mxfp4, float, uint8_t)
LP_NO_GGML(decode_q8_0, uint8_t, float) LP_NO_GGML(decode_q4_0, uint8_t, float) LP_NO_GGML(decode_q4_1, uint8_t, float)
LP_NO_GGML(decode_q5_0, uint8_t, float) LP_NO_GGML(decode_q5_1, uint8_t, float) LP_NO_GGML(decode_mxfp4, uint8_t, float)
#endif
