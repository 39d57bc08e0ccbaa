/* What decides how memory is best read and written: the size of the L2 cache, pages that are there, what is
   read ahead, and a clock. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#ifndef _MSC_VER
#include <unistd.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
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

static void lp_prefetch(const void *start, ptrdiff_t bytes) {
#if defined(__GNUC__) || defined(__clang__)
    for (ptrdiff_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)start + i);
#else
    (void)start, (void)bytes;
#endif
}

/* Whether the pages of an output are in memory, at three places; where the system does not say, they are. The kernel
   clears a new page through the caches, where what writes to it finds it. */
static int lp_has_pages(const void *output, ptrdiff_t bytes) {
#ifdef __linux__
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < 3; i++) {
        const uintptr_t place = ((uintptr_t)output + (uintptr_t)(bytes - 1) / 2 * (uintptr_t)i) & ~(page - 1);
        unsigned char resident = 0;
        if (mincore((void *)place, page, &resident) != 0 || !(resident & 1)) return 0;
    }
#else
    (void)output, (void)bytes;
#endif
    return 1;
}
