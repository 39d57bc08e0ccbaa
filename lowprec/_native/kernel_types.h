/* What C and Cython must agree on about the tiles between two loops and about scales; kernel_types.pxd names it. */
#ifndef LP_LOOP_TYPES_H
#define LP_LOOP_TYPES_H

#define LP_TILE 1024       /* elements between two loops: two tiles of float64 stay in the L1 cache */
#define LP_RUN_SHIFT 4     /* scales are read per run where runs have 1 << 4 elements, a vector of them, or more */
#define LP_REPEAT_WIDTH 16 /* copies of a scale that are written at once, past the end of a tile if need be */

/* How the scales that a loop reads belong to its elements. */
enum {
    LP_SCALE_UNIFORM,     /* one for all */
    LP_SCALE_ELEMENTWISE, /* one for each */
    LP_SCALE_RUNS,        /* one for every 1 << run_shift, and fewer at the start */
    LP_SCALE_COLUMNS,     /* one for each of `columns`, then the same ones again: whole rows */
    LP_SCALE_MODES
};

#endif
