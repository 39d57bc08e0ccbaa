/* What the kernels ask of the machine: its floating-point mode, its instruction sets, memory for each thread. */
#include <stdint.h>
#ifdef _OPENMP
#define LP_OPENMP _OPENMP
#else
#define LP_OPENMP 0
#endif

/* The bits must not depend on what the caller left in the floating-point mode (flush to zero, another rounding
   direction): every chunk runs in the default mode and puts the caller's mode, flags included, back. */
#if defined(__x86_64__) || defined(_M_X64) || defined(__SSE2__)
#include <xmmintrin.h>
typedef unsigned int lp_mode;
static inline lp_mode lp_mode_enter(void) { lp_mode old = _mm_getcsr(); _mm_setcsr(0x1f80u); return old; }
static inline void lp_mode_leave(lp_mode old) { _mm_setcsr(old); }
#else
#include <fenv.h>
typedef fenv_t lp_mode;
static inline lp_mode lp_mode_enter(void) { lp_mode old; fegetenv(&old); fesetenv(FE_DFL_ENV); return old; }
static inline void lp_mode_leave(lp_mode old) { fesetenv(&old); }
#endif

/* What lies between two loops. Every thread has its own, made when the thread first converts, for the stack of a
   thread may be no larger than all this. */
#define LP_TILE 1024     /* elements between two loops: two tiles of float64 stay in the L1 cache */
#define LP_SPARE 16      /* elements past the end of a tile that scales may be spread to */
#define LP_COMPARED 2048 /* elements that are converted, decoded and compared while they are in the L1 cache */
typedef struct {
    uint64_t even[LP_TILE], odd[LP_TILE], gathered[LP_TILE], converted[LP_TILE];
    uint64_t scale[LP_TILE + LP_SPARE];
    uint32_t zero[LP_TILE + LP_SPARE];
    float values[LP_COMPARED], again[LP_COMPARED];
} lp_tiles;
#ifdef _MSC_VER
static __declspec(thread) __declspec(align(64)) lp_tiles lp_tiles_here;
#else
static __thread lp_tiles lp_tiles_here __attribute__((aligned(64)));
#endif
static inline lp_tiles *lp_own_tiles(void) { return &lp_tiles_here; }

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
static int lp_has_v3(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
        && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt")
        && __builtin_cpu_supports("movbe") && __builtin_cpu_supports("popcnt");
}
static int lp_has_v4(void) {
    return lp_has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl");
}
#else
static int lp_has_v3(void) { return 0; }
static int lp_has_v4(void) { return 0; }
#endif
