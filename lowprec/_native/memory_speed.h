/* What decides how memory is best read: the size of the L2 cache, and a clock; pages that a measurement finds made. */
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

/* Every page gets memory, where it has none yet. */
static void lp_touch_pages(uint8_t *output, ptrdiff_t bytes) {
    for (ptrdiff_t i = 0; i < bytes; i += 4096) *(volatile uint8_t *)(output + i) = *(volatile uint8_t *)(output + i);
}
