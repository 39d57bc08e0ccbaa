/* Operations of AVX-512 with VBMI beyond those of avx512.h: bytes looked up in tables of 128 and 256 bytes.

   Not every processor of x86-64-v4 has them: functions with them say LP_TABLED or LP_VBMI, and are called where the
   machine has VBMI. */
#pragma once
#include "instruction_sets/avx512.h"

#ifndef LP_VBMI
#define LP_VBMI __attribute__((target("avx512vbmi")))
#endif
#define LP_TABLED static inline __attribute__((always_inline, unused)) LP_VBMI

typedef __m512i lp_table128[2]; /* of bytes */

LP_TABLED void table128_load(lp_table128 table, const uint8_t values[128]) {
    table[0] = bits_load(values);
    table[1] = bits_load(values + 64);
}
/* i: their lowest seven bits. */
#define bytes_look_up_128(table, i) _mm512_permutex2var_epi8((table)[0], i, (table)[1])
/* Where the mask is not set: i. */
#define bytes_look_up_128_where(mask, table, i) _mm512_mask2_permutex2var_epi8((table)[0], i, mask, (table)[1])
#define bytes_are_negative(x) _mm512_movepi8_mask(x)
#define bytes_absolute(x) _mm512_abs_epi8(x)
#define bytes_at_least(a, b) _mm512_cmpge_epu8_mask(a, b)
#define bytes_min(a, b) _mm512_min_epu8(a, b)
#define bytes_where(mask, a) _mm512_maskz_mov_epi8(mask, a)
#define bytes_add_saturating(a, b) _mm512_adds_epu8(a, b)
#define bytes_subtract_saturating(a, b) _mm512_subs_epu8(a, b)
#define bytes_any(mask) ((mask) != 0)
