/* Random numbers: Philox4x32-10 of Random123, and the slots of the elements in its stream; C99 and CUDA.

   A call takes a counter and a key, and returns four words, sixteen bytes in little-endian order. The stream of a seed is
   the bytes of calls 0, 1, 2, …; element n has the n-th slot of 8, 16 or 32 bits. */
#ifndef LP_PHILOX_H
#define LP_PHILOX_H
#ifndef LP_CUDA
#include "elementwise.h"
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

/* The slot of one element. */
LP_INLINE u32 lp_slot(u64 element, u64 seed, u32 slot_bits) {
    const u32 in_call = 128 / slot_bits, in_word = 32 / slot_bits;
    const u32 place = (u32)(element % in_call);
    const u32 word = lp_philox(element / in_call, seed).at[place / in_word];
    return (word >> place % in_word * slot_bits) & (0xffffffffu >> (32 - slot_bits));
}

#ifndef LP_CUDA
/* The slots of the 64 elements of a group, whose first one is a multiple of 64. */
LP_INLINE void lp_fill_slots(u32 *slots, u64 group, u64 seed, u32 slot_bits) {
    u32 words[64];
    const u32 calls = slot_bits / 2;
    for (u32 i = 0; i < calls; i++) {
        const lp_words_t w = lp_philox(group * calls + i, seed);
        for (int j = 0; j < 4; j++) words[4 * i + j] = w.at[j];
    }
    if (slot_bits == 8)
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 4; j++) slots[4 * i + j] = (words[i] >> 8 * j) & 0xff;
    else if (slot_bits == 16)
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 2; j++) slots[2 * i + j] = (words[i] >> 16 * j) & 0xffff;
    else
        for (int i = 0; i < 64; i++) slots[i] = words[i];
}
#endif
#endif
