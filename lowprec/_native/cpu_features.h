/* Which instruction sets this CPU has, and whether the build has OpenMP. */
#ifdef _OPENMP
#define LP_OPENMP _OPENMP
#else
#define LP_OPENMP 0
#endif

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__) && !defined(_MSC_VER)
#include <cpuid.h>
static void lp_cpuid(unsigned leaf, unsigned r[4]) { __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]); }
static unsigned lp_saved_registers(void) { /* those that the operating system keeps */
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#define LP_CPUID 1
#elif defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
static void lp_cpuid(unsigned leaf, unsigned r[4]) { __cpuidex((int *)r, (int)leaf, 0); }
static unsigned lp_saved_registers(void) { return (unsigned)_xgetbv(0); }
#define LP_CPUID 1
#endif

#ifdef LP_CPUID
#define LP_BIT(n) (1u << (n))
static int lp_has_v3(void) {
    const unsigned first = LP_BIT(12) | LP_BIT(22) | LP_BIT(23) | LP_BIT(27) | LP_BIT(28) | LP_BIT(29);
    /* FMA, MOVBE, POPCNT, XGETBV, AVX, F16C; BMI, AVX2, BMI2; LZCNT */
    const unsigned seventh = LP_BIT(3) | LP_BIT(5) | LP_BIT(8), extended = LP_BIT(5);
    unsigned r[4];
    lp_cpuid(0, r);
    if (r[0] < 7) return 0;
    lp_cpuid(1, r);
    if ((r[2] & first) != first || (lp_saved_registers() & 6) != 6) return 0; /* SSE, AVX */
    lp_cpuid(7, r);
    if ((r[1] & seventh) != seventh) return 0;
    lp_cpuid(0x80000000u, r);
    if (r[0] < 0x80000001u) return 0;
    lp_cpuid(0x80000001u, r);
    return (r[2] & extended) == extended;
}
static int lp_has_v4(void) {
    const unsigned seventh = LP_BIT(16) | LP_BIT(17) | LP_BIT(28) | LP_BIT(30) | LP_BIT(31); /* F, DQ, CD, BW, VL */
    unsigned r[4];
    if (!lp_has_v3() || (lp_saved_registers() & 0xe6) != 0xe6) return 0; /* and AVX-512's masks, both upper halves */
    lp_cpuid(7, r);
    return (r[1] & seventh) == seventh;
}
static int lp_has_v4_vbmi(void) { /* whose bit is beside those of v4 */
    unsigned r[4];
    if (!lp_has_v4()) return 0;
    lp_cpuid(7, r);
    return (r[2] & LP_BIT(1)) != 0;
}
#else
static int lp_has_v3(void) { return 0; }
static int lp_has_v4(void) { return 0; }
static int lp_has_v4_vbmi(void) { return 0; }
#endif
