/* What is written out for the machine's own lanes: float16 by F16C; float8, quantization and scales by AVX-512. */
#include <stddef.h>
#include <stdint.h>

#ifdef __F16C__
#include <immintrin.h>
#define LP_F16C 1
#else
#define LP_F16C 0
#endif

/* 16 codes of float16: the machine rounds half to even here whatever its mode, and keeps the payload of a NaN. */
static inline void lp_encode_half(const uint32_t *s, uint16_t *d, uint32_t nan_code) {
#ifdef __F16C__
    const float *from = (const float *)s;
    const __m256i h = _mm256_set_m128i(_mm256_cvtps_ph(_mm256_loadu_ps(from + 8), _MM_FROUND_TO_NEAREST_INT),
                                       _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
    const __m256i a = _mm256_and_si256(h, _mm256_set1_epi16(0x7fff));
    const __m256i nan = _mm256_xor_si256(_mm256_set1_epi16((short)nan_code), _mm256_andnot_si256(a, h));
    _mm256_storeu_si256((__m256i *)d, _mm256_blendv_epi8(h, nan, _mm256_cmpgt_epi16(a, _mm256_set1_epi16(0x7c00))));
#endif
}

/* 16 values of float16 as float32 bits, a NaN without its payload. */
static inline void lp_decode_half(const uint16_t *s, uint32_t *d) {
#ifdef __F16C__
    for (int j = 0; j < 16; j += 8) {
        const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + j)));
        const __m256 sign = _mm256_and_ps(y, _mm256_castsi256_ps(_mm256_set1_epi32((int)0x80000000u)));
        const __m256 nan = _mm256_or_ps(sign, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
        _mm256_storeu_ps((float *)d + j, _mm256_blendv_ps(y, nan, _mm256_cmp_ps(y, y, _CMP_UNORD_Q)));
    }
#endif
}

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#define LP_LANES 1

/* Where the scales of the elements stand: one for all, one for each, one for every 1 << shift elements. */
enum { LP_ROW, LP_EACH, LP_RUNS };

static inline __mmask16 lp_mask(ptrdiff_t n, int part) {
    const ptrdiff_t left = n - 16 * part;
    return left >= 16 ? 0xffff : left <= 0 ? 0 : (__mmask16)((1u << left) - 1);
}

static inline void lp_load(const void *s, ptrdiff_t n, __m512i x[4]) {
    for (int j = 0; j < 4; j++)
        x[j] = n >= 64 ? _mm512_loadu_si512((const char *)s + 64 * j)
                       : _mm512_maskz_loadu_epi32(lp_mask(n, j), (const char *)s + 64 * j);
}

static inline void lp_store(void *d, ptrdiff_t n, __m512i codes) {
    if (n >= 64) _mm512_storeu_si512(d, codes);
    else _mm512_mask_storeu_epi8(d, (1ull << n) - 1, codes);
}

/* What stands beside 64 elements, the first of which is number `at` of its tile. */
static inline void lp_beside(int way, const void *beside, ptrdiff_t at, int shift, ptrdiff_t n, __m512i x[4]) {
    const int32_t *one = (const int32_t *)beside;
    if (way == LP_EACH) lp_load(one + at, n, x);
    else for (int j = 0; j < 4; j++)
        x[j] = _mm512_set1_epi32(way == LP_ROW ? one[0] : n > 16 * j ? one[(at + 16 * j) >> shift] : 0);
}

static inline __m512i lp_dwords(void) { /* lane by lane, four elements of four vectors -> vector by vector */
    return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

/* ---- float8 and less ------------------------------------------------------------------------------------------- */

/* A word is the upper half of a float32, its last bit odd if the lower half is not 0: enough to round to 5 mantissa
   bits and less. A code ends up in the upper byte of its word. */
typedef struct {
    __m512i magnitude, clamp, start, fraction, hidden, most, count, half, odd, one, nan_above, nan_code;
    __m512i sign_bias, sign_last, sign, bytes, dwords;
    int fits;  /* whether words do for this format; the numbers of the float32 loop do for every one */
    int plain; /* whether every code has the sign of its value, in the first bit of a byte */
} lp_words;

static inline lp_words lp_words_of(
    uint32_t clamp, uint32_t floor, uint32_t keep, uint32_t nan_above, uint32_t nan_code, uint32_t sign_bit,
    uint32_t sign_bias, uint32_t sign_last
) {
    const uint32_t mantissa = 23 - keep, up = mantissa + 2, tiny = 0u - sign_bias, top = 0x7fff;
    const uint32_t lowest = floor >> 16, first = (tiny + 0xffff) >> 16, last = (sign_last + tiny - 0x80000000u) >> 16;
    const int whole = lowest == 0x80; /* the source has no smaller subnormal values */
    lp_words w;
    w.magnitude = _mm512_set1_epi16(0x7fff);
    w.clamp = _mm512_set1_epi16((short)(clamp >> 16));
    w.start = _mm512_set1_epi16((short)(lowest - 0x80));
    w.fraction = _mm512_set1_epi16(0x7f);
    w.hidden = _mm512_set1_epi16(whole ? 0 : 0x80);
    w.most = _mm512_set1_epi16(whole ? 0 : 0xff);
    w.count = _mm512_set1_epi16((short)(whole ? up : up - 1));
    w.half = _mm512_set1_epi16(0xff);
    w.odd = _mm512_set1_epi16(0x200);
    w.one = _mm512_set1_epi16(1);
    w.nan_above = _mm512_set1_epi16((short)(nan_above >> 16));
    w.nan_code = _mm512_set1_epi16((short)(nan_code << 8));
    w.sign_bias = _mm512_set1_epi16((short)(0x8000 + first));
    w.sign_last = _mm512_set1_epi16((short)((last < top ? last : top) - first));
    w.sign = _mm512_set1_epi16((short)(sign_bit << 8));
    w.bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15));
    w.dwords = lp_dwords();
    w.plain = sign_bias == 0 && sign_last == 0xffffffffu && sign_bit == 0x80;
    w.fits = mantissa <= 5 && sign_bit <= 0x80 && (whole || lowest >> 7 > up) && (clamp & 0xffff) == 0
        && ((((clamp >> 16) - lowest + 0x80) << up) >> 9) < 0x80 && (tiny & 0x1ffff) <= 1
        && ((nan_above & 0x1ffff) == 0 || (nan_above & 0x1ffff) == 0x1ffff);
    return w;
}

/* A normal word loses its exponent's bias, a smaller one gets its hidden bit and is shifted that much less to the left:
   nine bits to drop in every word, half to even. `a` are the magnitudes, `h` has the signs. */
static inline __m512i lp_code(__m512i a, __m512i h, const lp_words *w, int plain) {
    const __m512i c = _mm512_min_epu16(a, w->clamp);
    const __m512i y = _mm512_sub_epi16(c, w->start);
    const __m512i small = _mm512_ternarylogic_epi32(c, w->fraction, w->hidden, 0xea); /* (c & fraction) | hidden */
    const __m512i count = _mm512_add_epi16(_mm512_srai_epi16(_mm512_min_epi16(y, w->most), 7), w->count);
    const __m512i m = _mm512_sllv_epi16(_mm512_max_epi16(y, small), count);
    const __mmask32 odd = _mm512_test_epi16_mask(m, w->odd);
    __m512i t = _mm512_add_epi16(m, w->half);
    t = _mm512_srli_epi16(_mm512_mask_add_epi16(t, odd, t, w->one), 1);
    t = _mm512_mask_mov_epi16(t, _mm512_cmpgt_epu16_mask(a, w->nan_above), w->nan_code);
    if (plain) return _mm512_ternarylogic_epi32(t, h, w->magnitude, 0xb4); /* t ^ (h & ~magnitude) */
    h = _mm512_ternarylogic_epi32(a, h, w->magnitude, 0xf4);               /* a | (h & ~magnitude) */
    const __mmask32 negative = _mm512_cmple_epu16_mask(_mm512_sub_epi16(h, w->sign_bias), w->sign_last);
    return _mm512_xor_si512(t, _mm512_maskz_mov_epi16(negative, w->sign));
}

/* 64 codes from the bits of 64 float32: words of x[0] and x[1] side by side, bytes of both pairs, then in order. */
static inline __m512i lp_codes(const __m512i x[4], const lp_words *w, int plain) {
    __m512i code[2];
    for (int j = 0; j < 2; j++) {
        const __m512i p = x[2 * j], q = x[2 * j + 1];
        const __m512i h = _mm512_mask_mov_epi16(q, 0x55555555u, _mm512_srli_epi32(p, 16));
        const __m512i low = _mm512_mask_mov_epi16(p, 0xaaaaaaaau, _mm512_slli_epi32(q, 16));
        const __m512i a = _mm512_ternarylogic_epi32(h, _mm512_min_epu16(low, w->one), w->magnitude, 0xa8);
        code[j] = lp_code(a, h, w, plain);
    }
    const __m512i mixed = _mm512_mask_mov_epi8(code[1], 0x5555555555555555ull, _mm512_srli_epi16(code[0], 8));
    return _mm512_permutexvar_epi32(w->dwords, _mm512_shuffle_epi8(mixed, w->bytes));
}

static inline void lp_encode(const void *s, void *d, ptrdiff_t n, const lp_words *w, int plain) {
    __m512i x[4];
    lp_load(s, n, x);
    lp_store(d, n, lp_codes(x, w, plain));
}

static inline void lp_encode_doubles(const double *s, void *d, ptrdiff_t n, const lp_words *w, int plain) {
    const __m512i low = _mm512_set1_epi64(0xffffffffu);
    __m512i x[4];
    for (int j = 0; j < 4; j++) {
        __m256 near[2];
        for (int k = 0; k < 2; k++) { /* as narrow_sticky_one: the lower half folded into one bit */
            const __mmask8 mask = (__mmask8)(lp_mask(n, j) >> (8 * k));
            const __m512i v = n >= 64 ? _mm512_loadu_si512(s + 16 * j + 8 * k)
                                      : _mm512_maskz_loadu_epi64(mask, s + 16 * j + 8 * k);
            const __m512i more = _mm512_add_epi64(_mm512_and_si512(v, low), low);
            near[k] = _mm512_cvtpd_ps(_mm512_castsi512_pd(_mm512_ternarylogic_epi64(v, more, low, 0x54)));
        }
        x[j] = _mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(near[0]), near[1], 1));
    }
    lp_store(d, n, lp_codes(x, w, plain));
}

/* From codes of 16 bits that are the upper half of a float32 (lift 16), or 3 bits further up (lift 13). */
static inline void lp_encode_halves(
    const uint16_t *s, void *d, ptrdiff_t n, uint32_t lift, const lp_words *w, int plain
) {
    const __m128i drop = _mm_cvtsi32_si128(16 - (int)lift);
    const __m512i lost = _mm512_set1_epi16((short)((1 << (16 - lift)) - 1));
    __m512i code[2];
    for (int j = 0; j < 2; j++) {
        const ptrdiff_t left = n - 32 * j;
        const __mmask32 mask = left >= 32 ? 0xffffffffu : left <= 0 ? 0 : (1u << left) - 1;
        const __m512i h = n >= 64 ? _mm512_loadu_si512(s + 32 * j) : _mm512_maskz_loadu_epi16(mask, s + 32 * j);
        const __m512i sticky = _mm512_min_epu16(_mm512_and_si512(h, lost), w->one);
        const __m512i a = _mm512_or_si512(_mm512_srl_epi16(_mm512_and_si512(h, w->magnitude), drop), sticky);
        code[j] = _mm512_srli_epi16(lp_code(a, h, w, plain), 8);
    }
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    lp_store(d, n, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(code[0], code[1])));
}

/* The low bytes of the integer parts. Where the machine has no integer for a value, from 2**31 on, at Inf and NaN, it
   gives one whose low byte is 0: so is that of every float32 there. */
static inline void lp_truncate(const void *s, uint8_t *d, ptrdiff_t n, uint32_t mask, uint32_t sign) {
    const __m512i byte = _mm512_set1_epi32((int)(mask & 0xff)), ext = _mm512_set1_epi8((char)sign);
    __m512i x[4];
    lp_load(s, n, x);
    for (int j = 0; j < 4; j++) x[j] = _mm512_and_si512(_mm512_cvttps_epi32(_mm512_castsi512_ps(x[j])), byte);
    const __m512i words = _mm512_packus_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3]));
    const __m512i codes = _mm512_permutexvar_epi32(lp_dwords(), words);
    lp_store(d, n, _mm512_sub_epi8(_mm512_xor_si512(codes, ext), ext));
}

/* Two codes of 4 bits to a byte, the first in its lower half: 128 codes to 64 bytes, 32 bytes to 64 codes. */
static inline void lp_pack(const uint8_t *s, uint8_t *d) {
    const __m512i weights = _mm512_set1_epi16(0x1001);
    const __m512i x = _mm512_maddubs_epi16(_mm512_loadu_si512(s), weights);
    const __m512i y = _mm512_maddubs_epi16(_mm512_loadu_si512(s + 64), weights);
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    _mm512_storeu_si512(d, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(x, y)));
}

static inline void lp_unpack(const uint8_t *s, uint8_t *d) {
    const __m512i x = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)s));
    const __m512i both = _mm512_or_si512(x, _mm512_slli_epi16(x, 4));
    _mm512_storeu_si512(d, _mm512_and_si512(both, _mm512_set1_epi8(15)));
}

/* ---- scales ---------------------------------------------------------------------------------------------------- */

/* A NaN keeps the sign of the operand that it came from; one made here has none. */
static inline __m512 lp_settled(__m512 y, __m512 a, __m512 b) {
    const __mmask16 nan = _mm512_cmp_ps_mask(y, y, _CMP_UNORD_Q);
    __m512i from = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), _mm512_castps_si512(b));
    from = _mm512_mask_mov_epi32(from, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), _mm512_castps_si512(a));
    from = _mm512_and_si512(from, _mm512_set1_epi32((int)0x80000000u));
    from = _mm512_or_si512(from, _mm512_set1_epi32(0x7fc00000));
    return _mm512_mask_mov_ps(y, nan, _mm512_castsi512_ps(from));
}

/* x / scale. With scales other than 0, Inf and NaN the machine hands a NaN of x on, with its sign. */
static inline void lp_divide(
    int way, const void *s, const float *scale, ptrdiff_t at, int shift, ptrdiff_t n, __m512i x[4]
) {
    __m512i f[4];
    lp_load(s, n, x);
    lp_beside(way, scale, at, shift, n, f);
    for (int j = 0; j < 4; j++) {
        const __m512 a = _mm512_castsi512_ps(x[j]), b = _mm512_castsi512_ps(f[j]);
        __m512 y = _mm512_div_ps(a, b);
        if (__builtin_expect(_mm512_fpclass_ps_mask(b, 0x9f), 0)) y = lp_settled(y, a, b);
        x[j] = _mm512_castps_si512(y);
    }
}

static inline void lp_divide_encode(
    int way, const void *s, void *d, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, const lp_words *w,
    int plain
) {
    __m512i x[4];
    lp_divide(way, s, scale, at, shift, n, x);
    lp_store(d, n, lp_codes(x, w, plain));
}

/* The range of the integer codes, in words; what makes codes of fewer than 8 bits of them, in bytes. */
typedef struct {
    __m512 far;
    __m512i zero, low, high, mask, sign, dwords;
} lp_places;

static inline lp_places lp_places_of(int32_t zero, int32_t low, int32_t high, uint32_t mask, uint32_t sign) {
    lp_places p;
    p.far = _mm512_set1_ps(0x1p20f);
    p.zero = _mm512_set1_epi16((short)zero);
    p.low = _mm512_set1_epi16((short)low);
    p.high = _mm512_set1_epi16((short)high);
    p.mask = _mm512_set1_epi16((short)mask);
    p.sign = _mm512_set1_epi8((char)sign);
    p.dwords = lp_dwords();
    return p;
}

/* The integer nearest to x / scale is the one nearest to this, for scales in reach: a product with the reciprocal, put
   right once. Not every bit is that of a division: the product is up to 1.5 units off, so what is rounded last lies up to
   3.5 * 2**-24 units beside x / scale and may be rounded to the other neighbour where a midpoint of two float32 lies
   between. The integer differs only if one of the two is a half of an integer. All such x and scale with quotients up to
   256 can be listed (test_quotients.py does so), and none of them differs; a second correction, which makes every
   bit that of a division (Markstein), therefore changes no code of 8 bits. What is beyond any range is brought back
   first; the other end, and NaN, may become NaN or anything below the range. */
static inline __m512 lp_quotient(__m512 x, __m512 scale, __m512 inverse, __m512 far) {
    x = _mm512_min_ps(_mm512_mul_ps(scale, far), x);
    const __m512 q = _mm512_mul_ps(x, inverse);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(q, scale, x), inverse, q);
}

/* The reciprocals of scales; 0 if one of them is out of reach. */
static inline int lp_inverses(const float *scale, ptrdiff_t count, float *inverse) {
    int outside = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        outside |= !(scale[i] > 0x1p-60f && scale[i] < 0x1p60f);
        inverse[i] = 1 / scale[i];
    }
    return !outside;
}

/* Half to even by the machine's own conversion, which makes the least integer of NaN and of what is too small. */
static inline void lp_quantize(
    int way, int inverted, const float *s, uint8_t *d, ptrdiff_t n, const float *scale, const float *inverse,
    const int32_t *zero, ptrdiff_t at, int shift, const lp_places *p
) {
    __m512i x[4], f[4], y[4], z[4], code[2];
    lp_load(s, n, x);
    lp_beside(way, scale, at, shift, n, f);
    if (inverted) lp_beside(way, inverse, at, shift, n, y);
    if (way != LP_ROW) lp_beside(way, zero, at, shift, n, z);
    for (int j = 0; j < 4; j++) {
        const __m512 v = _mm512_castsi512_ps(x[j]), divisor = _mm512_castsi512_ps(f[j]);
        const __m512 q = inverted
            ? lp_quotient(v, divisor, _mm512_castsi512_ps(y[j]), p->far)
            : _mm512_min_ps(p->far, _mm512_div_ps(v, divisor));
        x[j] = _mm512_cvt_roundps_epi32(q, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    for (int j = 0; j < 2; j++) {
        const __m512i offset = way == LP_ROW ? p->zero : _mm512_packs_epi32(z[2 * j], z[2 * j + 1]);
        const __m512i v = _mm512_adds_epi16(_mm512_packs_epi32(x[2 * j], x[2 * j + 1]), offset);
        code[j] = _mm512_and_si512(_mm512_min_epi16(_mm512_max_epi16(v, p->low), p->high), p->mask);
    }
    const __m512i codes = _mm512_permutexvar_epi32(p->dwords, _mm512_packus_epi16(code[0], code[1]));
    lp_store(d, n, _mm512_sub_epi8(_mm512_xor_si512(codes, p->sign), p->sign));
}

/* (x - zero) * scale. With scales other than 0, Inf and NaN the machine hands a NaN of x on as it is. */
static inline void lp_multiply(
    int way, const float *s, uint32_t *d, ptrdiff_t n, const float *scale, const float *zero, ptrdiff_t at, int shift
) {
    __m512i x[4], f[4], z[4];
    lp_load(s, n, x);
    lp_beside(way, scale, at, shift, n, f);
    lp_beside(way, zero, at, shift, n, z);
    for (int j = 0; j < 4; j++) {
        const __m512 a = _mm512_castsi512_ps(x[j]), b = _mm512_castsi512_ps(f[j]), c = _mm512_castsi512_ps(z[j]);
        __m512 y = _mm512_mul_ps(_mm512_sub_ps(a, c), b);
        if (__builtin_expect(_mm512_fpclass_ps_mask(b, 0x9f) | _mm512_fpclass_ps_mask(c, 0x99), 0))
            y = lp_settled(y, a, b);
        if (n >= 64) _mm512_storeu_ps(d + 16 * j, y);
        else _mm512_mask_storeu_ps(d + 16 * j, lp_mask(n, j), y);
    }
}

#else /* nothing of it is called */
#define LP_LANES 0
typedef struct { int fits, plain; } lp_words;
typedef struct { int none; } lp_places;
static inline lp_words lp_words_of(
    uint32_t clamp, uint32_t floor, uint32_t keep, uint32_t nan_above, uint32_t nan_code, uint32_t sign_bit,
    uint32_t sign_bias, uint32_t sign_last
) { return (lp_words){0, 0}; }
static inline lp_places lp_places_of(int32_t zero, int32_t low, int32_t high, uint32_t mask, uint32_t sign) {
    return (lp_places){0};
}
static inline void lp_encode(const void *s, void *d, ptrdiff_t n, const lp_words *w, int plain) {}
static inline void lp_encode_doubles(const double *s, void *d, ptrdiff_t n, const lp_words *w, int plain) {}
static inline void lp_truncate(const void *s, uint8_t *d, ptrdiff_t n, uint32_t mask, uint32_t sign) {}
static inline void lp_pack(const uint8_t *s, uint8_t *d) {}
static inline void lp_unpack(const uint8_t *s, uint8_t *d) {}
static inline void lp_encode_halves(
    const uint16_t *s, void *d, ptrdiff_t n, uint32_t lift, const lp_words *w, int plain
) {}
static inline void lp_divide_encode(
    int way, const void *s, void *d, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, const lp_words *w,
    int plain
) {}
static inline int lp_inverses(const float *scale, ptrdiff_t count, float *inverse) { return 0; }
static inline void lp_quantize(
    int way, int inverted, const float *s, uint8_t *d, ptrdiff_t n, const float *scale, const float *inverse,
    const int32_t *zero, ptrdiff_t at, int shift, const lp_places *p
) {}
static inline void lp_multiply(
    int way, const float *s, uint32_t *d, ptrdiff_t n, const float *scale, const float *zero, ptrdiff_t at, int shift
) {}
#endif
