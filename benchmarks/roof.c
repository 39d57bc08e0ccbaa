/* Rooflines: read n elements of one width, write n of another, with vector instructions and nothing else. */
#include <stddef.h>
#include <stdint.h>

#define ROOF(S, D) \
    void roof_##S##_##D(const uint##S##_t *restrict s, uint##D##_t *restrict d, ptrdiff_t n) { \
        for (ptrdiff_t i = 0; i < n; i++) d[i] = (uint##D##_t)s[i]; \
    }
#define ROOFS(S) ROOF(S, 8) ROOF(S, 16) ROOF(S, 32) ROOF(S, 64)
ROOFS(8) ROOFS(16) ROOFS(32) ROOFS(64)

/* Packed codes: two elements of S bits make one byte, one byte makes two elements. */
#define ROOF_PACK(S) \
    void roof_##S##_4(const uint##S##_t *restrict s, uint8_t *restrict d, ptrdiff_t n) { \
        for (ptrdiff_t i = 0; i < n / 2; i++) d[i] = (uint8_t)(s[2 * i] | s[2 * i + 1]); \
    } \
    void roof_4_##S(const uint8_t *restrict s, uint##S##_t *restrict d, ptrdiff_t n) { \
        for (ptrdiff_t i = 0; i < n / 2; i++) { d[2 * i] = s[i]; d[2 * i + 1] = s[i]; } \
    }
ROOF_PACK(16) ROOF_PACK(32)
