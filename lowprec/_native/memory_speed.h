/* What decides how memory is best read: the size of the L2 cache, and a clock. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#ifndef _MSC_VER
#include <unistd.h>
#endif

/* Bytes; 1 MiB where the system does not say. */
static ptrdiff_t lp_l2_size(void) {
#ifdef _SC_LEVEL2_CACHE_SIZE
    const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (size > 0) return size;
#endif
    return 1 << 20;
}

static int64_t lp_nanoseconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
