/* Stores past the caches, for outputs that are larger than all of them: the machine reads no line that it overwrites. */
#ifndef LP_STREAM_STORES_H
#define LP_STREAM_STORES_H
#include <stddef.h>
#include <stdint.h>
#define LP_STREAM_LINE 64

#if defined(__SSE2__) && defined(__linux__)
#include <emmintrin.h>
#include <stdio.h>
#include <unistd.h>

/* Bytes that a core can use; 0 where the system does not say. sysconf counts those of all cores of some processors. */
static ptrdiff_t lp_last_cache_size(void) {
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    long size = 0;
    if (file != NULL) {
        if (fscanf(file, "%ldK", &size) != 1) size = 0;
        fclose(file);
    }
    if (size <= 0) size = sysconf(_SC_LEVEL3_CACHE_SIZE) / 1024;
    return size > 0 ? (ptrdiff_t)size * 1024 : 0;
}

/* Whole lines; both sides begin with one. */
static void lp_stream(void *to, const void *from, ptrdiff_t bytes) {
    __m128i *d = (__m128i *)to;
    const __m128i *s = (const __m128i *)from;
    for (ptrdiff_t i = 0; i < bytes / 16; i += 4) {
        const __m128i a = _mm_load_si128(s + i), b = _mm_load_si128(s + i + 1);
        const __m128i c = _mm_load_si128(s + i + 2), e = _mm_load_si128(s + i + 3);
        _mm_stream_si128(d + i, a);
        _mm_stream_si128(d + i + 1, b);
        _mm_stream_si128(d + i + 2, c);
        _mm_stream_si128(d + i + 3, e);
    }
}
static void lp_stream_end(void) { _mm_sfence(); }
#else
#include <string.h>
static ptrdiff_t lp_last_cache_size(void) { return 0; }
static void lp_stream(void *to, const void *from, ptrdiff_t bytes) { memcpy(to, from, (size_t)bytes); }
static void lp_stream_end(void) {}
#endif
#endif
