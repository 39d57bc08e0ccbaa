/* The floating-point mode that conversions run in. The bits must not depend on what the caller left in it (flush to
   zero, another rounding direction): every chunk runs in the default mode and restores the caller's, flags included. */
#if defined(__x86_64__) || defined(_M_X64) || defined(__SSE2__)
#include <xmmintrin.h>
typedef unsigned int lp_mode;
#define LP_DEFAULT_MXCSR 0x1f80u /* all exceptions masked, to nearest, neither FTZ nor DAZ */
static inline lp_mode lp_mode_enter(void) { lp_mode old = _mm_getcsr(); _mm_setcsr(LP_DEFAULT_MXCSR); return old; }
static inline void lp_mode_leave(lp_mode old) { _mm_setcsr(old); }
#else
#include <fenv.h>
typedef fenv_t lp_mode;
static inline lp_mode lp_mode_enter(void) { lp_mode old; fegetenv(&old); fesetenv(FE_DFL_ENV); return old; }
static inline void lp_mode_leave(lp_mode old) { fesetenv(&old); }
#endif
