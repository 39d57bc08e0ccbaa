/* Which instruction sets this CPU has, and whether the build has OpenMP. */
#ifdef _OPENMP
#define LP_OPENMP _OPENMP
#else
#define LP_OPENMP 0
#endif

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#include <cpuid.h>
/* Those that clang's __builtin_cpu_supports has no names for. */
static int lp_has_f16c_movbe_lzcnt(void) {
    unsigned a, b, c, d, extended;
    if (!__get_cpuid(0x80000001u, &a, &b, &extended, &d) || !__get_cpuid(1, &a, &b, &c, &d)) return 0;
    return (c & bit_F16C) && (c & bit_MOVBE) && (extended & bit_LZCNT);
}
static int lp_has_v3(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
        && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") && lp_has_f16c_movbe_lzcnt();
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
