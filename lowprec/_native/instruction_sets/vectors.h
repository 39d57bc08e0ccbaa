/* Vectors of the machine's own width behind one set of names: which instruction set they are of.

   Elements are converted in groups of LP_WIDTH: a vector of bytes, two of 16-bit words, four of 32-bit integers or of
   float32, in the order of memory. Types and operations of all widths have the same names in every header:
       lp_bytes, lp_words, lp_ints, lp_floats      bytes_add, words_add, ints_add, floats_multiply, bits_and, ...
   A mask, of a comparison, has a type of its own, which only a select reads. Comments say what a name promises once: in
   avx2.h. LP_VECTORS is 0 where there is no such header: the loops that gcc vectorises are used then. LP_TABLES is 1
   where there are also functions for machines with VBMI, by the operations of avx512_vbmi.h. */
#ifndef LP_VECTORS_H
#define LP_VECTORS_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define LP_VECTOR static inline __attribute__((always_inline, unused))
#endif

#if !defined(LP_VECTOR)
#define LP_VECTORS 0
#elif defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define LP_VECTORS 1
#define LP_TABLES 1
#include "instruction_sets/avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define LP_VECTORS 1
#include "instruction_sets/avx2.h"
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#define LP_VECTORS 1
#include "instruction_sets/neon.h"
#else
#define LP_VECTORS 0
#endif
#ifndef LP_TABLES
#define LP_TABLES 0
#endif
#endif
