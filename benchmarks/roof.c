/* Rooflines: read n elements of one width, write n of another, with vector instructions and nothing else.
 *
 * `read_once` reads and writes nothing. `roof` stores the ordinary way, `stream` past the cache, a tile at a time; both over `threads` threads. A width of 4
 * stands for packed codes: two elements make one byte, one byte makes two elements.
 */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define TILE 4096 /* elements: a tile of float64 is half of an L1 cache */

#define PLAIN(S, D) \
    static void plain_##S##_##D(const char *from, char *to, ptrdiff_t n) { \
        const uint##S##_t *restrict s = (const uint##S##_t *)from; \
        uint##D##_t *restrict d = (uint##D##_t *)to; \
        for (ptrdiff_t i = 0; i < n; i++) d[i] = (uint##D##_t)s[i]; \
    }
#define PACK(S) \
    static void plain_##S##_4(const char *from, char *to, ptrdiff_t n) { \
        const uint##S##_t *restrict s = (const uint##S##_t *)from; \
        uint8_t *restrict d = (uint8_t *)to; \
        for (ptrdiff_t i = 0; i < n / 2; i++) d[i] = (uint8_t)(s[2 * i] | s[2 * i + 1]); \
    } \
    static void plain_4_##S(const char *from, char *to, ptrdiff_t n) { \
        const uint8_t *restrict s = (const uint8_t *)from; \
        uint##S##_t *restrict d = (uint##S##_t *)to; \
        for (ptrdiff_t i = 0; i < n / 2; i++) { d[2 * i] = s[i]; d[2 * i + 1] = s[i]; } \
    }

static void stream(char *to, const char *tile, ptrdiff_t bytes) {
    for (ptrdiff_t i = 0; i < bytes; i += 64)
#ifdef __AVX512F__
        _mm512_stream_si512((__m512i *)(to + i), _mm512_load_si512((const __m512i *)(tile + i)));
#else
        for (int j = 0; j < 64; j += 16)
            _mm_stream_si128((__m128i *)(to + i + j), _mm_load_si128((const __m128i *)(tile + i + j)));
#endif
}

#define DOORS(S, D) \
    void roof_##S##_##D(const char *s, char *d, ptrdiff_t n, int threads) { \
        if (threads == 1) { plain_##S##_##D(s, d, n); return; } /* waking OpenMP costs more than a small call */ \
        _Pragma("omp parallel for num_threads(threads) schedule(static)") \
        for (ptrdiff_t i = 0; i < n; i += 16 * TILE) \
            plain_##S##_##D(s + i * S / 8, d + i * D / 8, n - i < 16 * TILE ? n - i : 16 * TILE); \
    } \
    void stream_##S##_##D(const char *s, char *d, ptrdiff_t n, int threads) { /* whole tiles, d on a 64-byte border */ \
        _Pragma("omp parallel for num_threads(threads) schedule(static)") \
        for (ptrdiff_t i = 0; i < n; i += TILE) { \
            _Alignas(64) char tile[TILE * 8]; \
            plain_##S##_##D(s + i * S / 8, tile, TILE); \
            stream(d + i * D / 8, tile, TILE * D / 8); \
        } \
        _mm_sfence(); \
    }
#define BOTH(S, D) PLAIN(S, D) DOORS(S, D)
#define ROOFS(S) BOTH(S, 8) BOTH(S, 16) BOTH(S, 32) BOTH(S, 64)
ROOFS(8) ROOFS(16) ROOFS(32) ROOFS(64)
#define PACKED(S) PACK(S) DOORS(S, 4) DOORS(4, S)
PACKED(16) PACKED(32)

/* Reads n bytes and combines them; the result is returned, so that no read is left out. */
static uint64_t combined(const char *from, ptrdiff_t n) {
    const uint64_t *s = (const uint64_t *)from;
    uint64_t all = 0;
    for (ptrdiff_t i = 0; i < n / 8; i++) all |= s[i];
    return all;
}
uint64_t read_once(const char *s, ptrdiff_t n, int threads) {
    uint64_t all = 0;
    if (threads == 1) return combined(s, n);
    _Pragma("omp parallel for num_threads(threads) schedule(static) reduction(|: all)")
    for (ptrdiff_t i = 0; i < n; i += 64 * TILE) all |= combined(s + i, n - i < 64 * TILE ? n - i : 64 * TILE);
    return all;
}
