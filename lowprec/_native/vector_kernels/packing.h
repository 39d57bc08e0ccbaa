/* Groups of codes of 2, 4 and 6 bits, packed and unpacked, the first in the lowest bits of a byte: once, for every
   instruction set of vectors.h. */
#pragma once
#include "instruction_sets/vectors.h"

#if LP_VECTORS

/* Four codes side by side in the lowest bits of an integer become a byte each: two to a word between. Of 2 bits what is
   moved lies beside what stays. */
LP_VECTOR lp_ints lp_parted(int bits, lp_ints joined) {
    const uint32_t low = (1u << bits) - 1, pair = (1u << 2 * bits) - 1;
    const lp_ints moved = ints_shift_left(joined, 16 - 2 * bits), all = ints_all(pair << 16 | pair);
    const lp_ints two = bits_or(joined, moved), other = bits_choose(ints_all(pair << 16), moved, joined);
    const lp_ints pairs = bits_and(bits == 2 ? two : other, all), last = ints_shift_left(pairs, 8 - bits);
    const lp_ints four = bits == 2 ? bits_or(pairs, last) : bits_choose(ints_all(low << 24 | low << 8), last, pairs);
    return bits_and(four, ints_all(low * 0x01010101u));
}

LP_VECTOR void lp_pack_group(int bits, const uint8_t *s, uint8_t *d) {
    if (bits == 4) bytes_store_pairs(d, bytes_load(s));
    else if (bits == 2) ints_store_bytes(d, ints_of_quads(bits, bytes_load(s)));
    else ints_store_24_bits(d, ints_of_quads(bits, bytes_load(s)));
}
LP_VECTOR void lp_unpack_group(int bits, const uint8_t *s, uint8_t *d) {
    if (bits == 4) bits_store(d, bytes_load_pairs(s));
    else bits_store(d, lp_parted(bits, bits == 2 ? ints_load_bytes(s) : ints_load_24_bits(s)));
}
#endif
