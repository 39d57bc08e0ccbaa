/* Random numbers: Philox4x32-10 of Random123, and the slots of the elements in its stream; C99 and CUDA.

   A call takes a counter and a key, and returns four words, sixteen bytes in little-endian order. The stream of a seed is
   the bytes of calls 0, 1, 2, …; element n has the n-th slot of 8, 16 or 32 bits. */
#ifndef LP_PHILOX_H
#define LP_PHILOX_H
#ifndef LP_CUDA
#include <stddef.h>
#include "scalar_kernels.h"
#endif

typedef struct {
    u32 at[4];
} lp_words_t;

LP_INLINE lp_words_t lp_philox(u64 call, u64 seed) {
    u32 a = (u32)call, b = (u32)(call >> 32), c = 0, d = 0;
    u32 low = (u32)seed, high = (u32)(seed >> 32);
    lp_words_t w;
#define LP_ROUND                                                                                                       \
    do {                                                                                                               \
        const u64 x = (u64)a * 0xD2511F53u, y = (u64)c * 0xCD9E8D57u;                                                  \
        a = (u32)(y >> 32) ^ b ^ low;                                                                                  \
        b = (u32)y;                                                                                                    \
        c = (u32)(x >> 32) ^ d ^ high;                                                                                 \
        d = (u32)x;                                                                                                    \
        low += 0x9E3779B9u;                                                                                            \
        high += 0xBB67AE85u;                                                                                           \
    } while (0)
    LP_ROUND; LP_ROUND; LP_ROUND; LP_ROUND; LP_ROUND;
    LP_ROUND; LP_ROUND; LP_ROUND; LP_ROUND; LP_ROUND;
#undef LP_ROUND
    w.at[0] = a;
    w.at[1] = b;
    w.at[2] = c;
    w.at[3] = d;
    return w;
}

/* The slot of one element in the words of its call. */
LP_INLINE u32 lp_slot_of(lp_words_t words, u64 element, u32 slot_bits) {
    const u32 in_word = 32 / slot_bits, place = (u32)element % (4 * in_word), at = place / in_word;
    const u32 word = at < 2 ? (at == 0 ? words.at[0] : words.at[1]) : (at == 2 ? words.at[2] : words.at[3]);
    return (word >> place % in_word * slot_bits) & (0xffffffffu >> (32 - slot_bits));
}

#ifndef LP_CUDA
#define LP_STREAM_BITS 2048 /* computed at a time: 16 calls */

#if defined(__AVX512F__)
#include <immintrin.h>
#define LP_CALLS 8
typedef __m512i lp_calls;
LP_INLINE lp_calls lp_all(u64 v) { return _mm512_set1_epi64((long long)v); }
LP_INLINE lp_calls lp_order(void) { return _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7); }
LP_INLINE lp_calls lp_sum(lp_calls a, lp_calls b) { return _mm512_add_epi64(a, b); }
LP_INLINE lp_calls lp_product(lp_calls a, lp_calls b) { return _mm512_mul_epu32(a, b); }
LP_INLINE lp_calls lp_upper(lp_calls a) { return _mm512_srli_epi64(a, 32); }
LP_INLINE lp_calls lp_both(lp_calls a, lp_calls b) { return _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64(b, 32)); }
LP_INLINE lp_calls lp_xor(lp_calls a, lp_calls b, lp_calls c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
LP_INLINE void lp_store_calls(u32 *words, lp_calls ab, lp_calls cd) {
    _mm512_storeu_si512(words, _mm512_unpacklo_epi64(ab, cd));
    _mm512_storeu_si512(words + 16, _mm512_unpackhi_epi64(ab, cd));
}
#elif defined(__AVX2__)
#include <immintrin.h>
#define LP_CALLS 4
typedef __m256i lp_calls;
LP_INLINE lp_calls lp_all(u64 v) { return _mm256_set1_epi64x((long long)v); }
LP_INLINE lp_calls lp_order(void) { return _mm256_setr_epi64x(0, 2, 1, 3); }
LP_INLINE lp_calls lp_sum(lp_calls a, lp_calls b) { return _mm256_add_epi64(a, b); }
LP_INLINE lp_calls lp_product(lp_calls a, lp_calls b) { return _mm256_mul_epu32(a, b); }
LP_INLINE lp_calls lp_upper(lp_calls a) { return _mm256_srli_epi64(a, 32); }
LP_INLINE lp_calls lp_both(lp_calls a, lp_calls b) { return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa); }
LP_INLINE lp_calls lp_xor(lp_calls a, lp_calls b, lp_calls c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
LP_INLINE void lp_store_calls(u32 *words, lp_calls ab, lp_calls cd) {
    _mm256_storeu_si256((__m256i *)words, _mm256_unpacklo_epi64(ab, cd));
    _mm256_storeu_si256((__m256i *)(words + 8), _mm256_unpackhi_epi64(ab, cd));
}
#elif defined(__SSE2__)
#include <emmintrin.h>
#define LP_CALLS 2
typedef __m128i lp_calls;
LP_INLINE lp_calls lp_all(u64 v) { return _mm_set1_epi64x((long long)v); }
LP_INLINE lp_calls lp_order(void) { return _mm_set_epi64x(1, 0); }
LP_INLINE lp_calls lp_sum(lp_calls a, lp_calls b) { return _mm_add_epi64(a, b); }
LP_INLINE lp_calls lp_product(lp_calls a, lp_calls b) { return _mm_mul_epu32(a, b); }
LP_INLINE lp_calls lp_upper(lp_calls a) { return _mm_srli_epi64(a, 32); }
LP_INLINE lp_calls lp_both(lp_calls a, lp_calls b) {
    return _mm_or_si128(_mm_srli_epi64(_mm_slli_epi64(a, 32), 32), _mm_slli_epi64(b, 32));
}
LP_INLINE lp_calls lp_xor(lp_calls a, lp_calls b, lp_calls c) { return _mm_xor_si128(_mm_xor_si128(a, b), c); }
LP_INLINE void lp_store_calls(u32 *words, lp_calls ab, lp_calls cd) {
    _mm_storeu_si128((__m128i *)words, _mm_unpacklo_epi64(ab, cd));
    _mm_storeu_si128((__m128i *)(words + 4), _mm_unpackhi_epi64(ab, cd));
}
#endif

/* What the rounds of a seed add to words, in every lane. */
typedef struct {
#ifdef LP_CALLS
    lp_calls low[10], high[10];
#endif
    u64 seed;
} lp_keys;

static inline lp_keys lp_keys_of(u64 seed) {
    lp_keys keys;
    keys.seed = seed;
#ifdef LP_CALLS
    u64 low = seed, high = seed >> 32;
    for (int round = 0; round < 10; round++) {
        keys.low[round] = lp_all(low);
        keys.high[round] = lp_all(high);
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
#endif
    return keys;
}

/* The words of 16 calls. Vectors have a call in each lane, in the order that leaves theirs in the order of memory; only
   the lower half of a lane counts. Up to four vectors are computed at a time, since a product takes several cycles. */
static inline void lp_philox_block(u32 *words, u64 call, const lp_keys *keys) {
#ifdef LP_CALLS
    enum { TOGETHER = LP_CALLS < 4 ? 4 : 16 / LP_CALLS };
    const lp_calls m = lp_all(0xD2511F53u), k = lp_all(0xCD9E8D57u);
    for (int first = 0; first < 16; first += TOGETHER * LP_CALLS) {
        lp_calls a[TOGETHER], b[TOGETHER], c[TOGETHER], d[TOGETHER];
        for (int j = 0; j < TOGETHER; j++) {
            a[j] = lp_sum(lp_all(call + (u64)(first + j * LP_CALLS)), lp_order());
            b[j] = lp_upper(a[j]);
            c[j] = d[j] = lp_all(0);
        }
#pragma GCC unroll 10
        for (int round = 0; round < 10; round++) {
            for (int j = 0; j < TOGETHER; j++) {
                const lp_calls x = lp_product(a[j], m), y = lp_product(c[j], k);
                a[j] = lp_xor(b[j], keys->low[round], lp_upper(y));
                b[j] = y;
                c[j] = lp_xor(d[j], keys->high[round], lp_upper(x));
                d[j] = x;
            }
        }
        for (int j = 0; j < TOGETHER; j++)
            lp_store_calls(words + 4 * (first + j * LP_CALLS), lp_both(a[j], b[j]), lp_both(c[j], d[j]));
    }
#else
    for (u64 i = 0; i < 16; i++) {
        const lp_words_t w = lp_philox(call + i, keys->seed);
        for (int j = 0; j < 4; j++) words[4 * i + (u64)j] = w.at[j];
    }
#endif
}

/* The slots of block number `block` of a stream: LP_STREAM_BITS / slot_bits of them, in words of their own width. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LP_SLOTS union /* they lie in memory as the words do */
#else
#define LP_SLOTS struct
#endif
typedef LP_SLOTS {
    u32 words[64];
    u16 halves[128];
    u8 bytes[256];
} lp_slots;

static inline void lp_fill_slots_by(lp_slots *slots, u64 block, const lp_keys *keys, u32 slot_bits) {
    lp_philox_block(slots->words, block * 16, keys);
    if (sizeof(lp_slots) == sizeof(slots->words)) return;
    for (int i = 0; slot_bits == 16 && i < 128; i++) slots->halves[i] = (u16)(slots->words[i / 2] >> i % 2 * 16);
    for (int i = 0; slot_bits == 8 && i < 256; i++) slots->bytes[i] = (u8)(slots->words[i / 4] >> i % 4 * 8);
}
static inline void lp_fill_slots(lp_slots *slots, u64 block, u64 seed, u32 slot_bits) {
    const lp_keys keys = lp_keys_of(seed);
    lp_fill_slots_by(slots, block, &keys, slot_bits);
}

LP_INLINE u32 lp_slot_at(const lp_slots *slots, ptrdiff_t i, u32 slot_bits) {
    return slot_bits == 8 ? slots->bytes[i] : slot_bits == 16 ? slots->halves[i] : slots->words[i];
}

/* The slots of n elements of a stream, from the one at `first` on, in memory as words have them. */
static inline void lp_slots_by(void *out, u64 first, ptrdiff_t n, const lp_keys *keys, u32 slot_bits) {
    const ptrdiff_t block = LP_STREAM_BITS / (ptrdiff_t)slot_bits;
    const size_t item = slot_bits / 8;
    lp_slots slots;
    while (n > 0) {
        const ptrdiff_t at = (ptrdiff_t)(first % (u64)block), count = block - at < n ? block - at : n;
        lp_fill_slots_by(&slots, first / (u64)block, keys, slot_bits);
        const void *some = slot_bits == 8 ? (void *)slots.bytes : slot_bits == 16 ? (void *)slots.halves : slots.words;
        memcpy(out, (const char *)some + at * (ptrdiff_t)item, (size_t)count * item);
        out = (char *)out + count * (ptrdiff_t)item;
        first += (u64)count;
        n -= count;
    }
}

/* The random numbers of n elements: the upper `bits` of their slots, of `item` bytes. */
static inline void lp_random_numbers(void *out, int item, u64 first, ptrdiff_t n, u64 seed, int bits) {
    const u32 slot_bits = 8 * (u32)item, drop = slot_bits - (u32)bits;
    const ptrdiff_t block = LP_STREAM_BITS / (ptrdiff_t)slot_bits;
    const lp_keys keys = lp_keys_of(seed);
    lp_slots slots;
    for (ptrdiff_t start = 0; start < n;) {
        const ptrdiff_t at = (ptrdiff_t)(first % (u64)block), left = n - start;
        const ptrdiff_t count = block - at < left ? block - at : left;
        lp_fill_slots_by(&slots, first / (u64)block, &keys, slot_bits);
        for (ptrdiff_t i = 0; i < count; i++) {
            const u32 number = lp_slot_at(&slots, at + i, slot_bits) >> drop;
            if (item == 1) ((u8 *)out)[start + i] = (u8)number;
            else if (item == 2) ((u16 *)out)[start + i] = (u16)number;
            else ((u32 *)out)[start + i] = number;
        }
        start += count;
        first += (u64)count;
    }
}
#endif
#endif
