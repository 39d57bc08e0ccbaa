/* The tiles of a thread: buffers between two loops, and for strided arrays. Every thread has its own, made when it first
   converts, and not on its stack, which may be smaller than all of them. */
#include <stdint.h>
#include "kernel_types.h"

#define LP_COMPARED 2048 /* elements that are converted, decoded and compared while they are in the L1 cache */
#define LP_STREAMED_BYTES 8192 /* of the wider end, at once past the caches */
typedef struct {
    uint64_t even[LP_TILE], odd[LP_TILE];           /* the results of the loops of a program, in turn */
    uint64_t gathered[LP_TILE], converted[LP_TILE]; /* strided source and output */
    uint64_t scale[LP_TILE + LP_REPEAT_WIDTH];      /* scales and zero points, one for each element */
    uint32_t zero[LP_TILE + LP_REPEAT_WIDTH];
    float reciprocal[LP_TILE + LP_REPEAT_WIDTH];    /* of scales of blocks, and one for each element */
    float each_reciprocal[LP_TILE + LP_REPEAT_WIDTH];
    uint64_t streamed[LP_STREAMED_BYTES / 8];       /* what is stored past the caches */
    float values[LP_COMPARED], again[LP_COMPARED];
} lp_tiles;
#ifdef _MSC_VER
static __declspec(thread) __declspec(align(64)) lp_tiles lp_tiles_of_thread;
#else
static __thread lp_tiles lp_tiles_of_thread __attribute__((aligned(64)));
#endif
static inline lp_tiles *lp_thread_tiles(void) { return &lp_tiles_of_thread; }
