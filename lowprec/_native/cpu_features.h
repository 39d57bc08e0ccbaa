/* Which instruction sets this CPU has, and whether the build has OpenMP. */
#ifdef _OPENMP
#define LP_OPENMP _OPENMP
#else
#define LP_OPENMP 0
#endif

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#include <cpuid.h>

/* F16C, MOVBE and LZCNT, whose names __builtin_cpu_supports does not know in clang 14 and gcc 10. */
static int lp_has_rest_of_v3(void) {
    unsigned int a, b, c, d, extended;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid(0x80000001, &a, &b, &extended, &d))
        return 0;
    return (c & 1u << 29) && (c & 1u << 22) && (extended & 1u << 5);
}
static int lp_has_v3(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
        && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") && lp_has_rest_of_v3();
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
