/* Rooflines: loops of vector instructions that read and write as many bytes as a conversion, and compute nothing.
 *
 * Only the ratio of the two sizes matters: `copy_narrow_4` reads four vectors for each one that it writes,
 * `copy_widen_4` writes four for each one that it reads; vectors read together are combined by OR, so that none is left
 * out. `stream_…` are the same loops with non-temporal stores. `read_bytes` writes nothing. Each function repeats its
 * loop `repeats` times over `threads` threads, so that the call from Python is no part of what is timed. `bytes` are
 * those of the narrower side, whole vectors; both sides begin on a 64-byte border.
 */
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) /* the machine's own width: gcc moves wider vectors through the stack */
#define WIDTH 64
#elif defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef uint8_t vector_t __attribute__((vector_size(WIDTH)));
int vector_bytes(void) { return WIDTH; }

#define REPEAT_AGAIN __asm__ volatile("" ::: "memory") /* no repetition is merged with the next */

static inline void store(vector_t *to, vector_t value) { *to = value; }

static inline void store_non_temporal(vector_t *to, vector_t value) {
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)to, (__m512i)value);
#elif defined(__AVX2__)
    _mm256_stream_si256((__m256i *)to, (__m256i)value);
#elif defined(__x86_64__)
    _mm_stream_si128((__m128i *)to, (__m128i)value);
#else
    *to = value;
#endif
}

#if defined(__x86_64__)
#define FENCE _mm_sfence()
#else
#define FENCE (void)0
#endif

#define NARROW(R, STORE) \
    vector_t all = s[(R) * i]; \
    _Pragma("GCC unroll 8") for (int j = 1; j < (R); j++) all |= s[(R) * i + j]; \
    STORE(d + i, all);
#define WIDEN(R, STORE) \
    vector_t all = s[i]; \
    _Pragma("GCC unroll 8") for (int j = 0; j < (R); j++) STORE(d + (R) * i + j, all);

#define LOOP(NAME, BODY, R, STORE, END) \
    static void NAME##_##R##_range(const vector_t *restrict s, vector_t *restrict d, ptrdiff_t from, ptrdiff_t to) { \
        for (ptrdiff_t i = from; i < to; i++) { BODY(R, STORE) } \
        END; \
    } \
    void NAME##_##R(const vector_t *s, vector_t *d, ptrdiff_t bytes, int threads, ptrdiff_t repeats) { \
        const ptrdiff_t vectors = bytes / WIDTH; \
        for (; repeats > 0; repeats--) { \
            if (threads == 1) NAME##_##R##_range(s, d, 0, vectors); /* waking OpenMP costs more than a small copy */ \
            else { \
                _Pragma("omp parallel for num_threads(threads) schedule(static, 1)") \
                for (int part = 0; part < threads; part++) \
                    NAME##_##R##_range(s, d, vectors * part / threads, vectors * (part + 1) / threads); \
            } \
            REPEAT_AGAIN; \
        } \
    }
#define BOTH(R) \
    LOOP(copy_narrow, NARROW, R, store, (void)0) LOOP(copy_widen, WIDEN, R, store, (void)0) \
    LOOP(stream_narrow, NARROW, R, store_non_temporal, FENCE) LOOP(stream_widen, WIDEN, R, store_non_temporal, FENCE)
BOTH(1) BOTH(2) BOTH(4) BOTH(8)

static uint64_t combined(const vector_t *s, ptrdiff_t from, ptrdiff_t to) {
    vector_t all[4] = {{0}}; /* four, for one register would wait for itself */
    for (ptrdiff_t i = from; i + 4 <= to; i += 4)
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) all[j] |= s[i + j];
    union { vector_t whole; uint64_t part[WIDTH / 8]; } last = {all[0] | all[1] | all[2] | all[3]};
    for (int i = 1; i < WIDTH / 8; i++) last.part[0] |= last.part[i];
    return last.part[0];
}
uint64_t read_bytes(const vector_t *s, ptrdiff_t bytes, int threads, ptrdiff_t repeats) {
    const ptrdiff_t fours = bytes / WIDTH / 4;
    uint64_t all = 0;
    for (; repeats > 0; repeats--) {
        if (threads == 1) all |= combined(s, 0, 4 * fours);
        else {
            _Pragma("omp parallel for num_threads(threads) schedule(static, 1) reduction(|: all)")
            for (int part = 0; part < threads; part++)
                all |= combined(s, 4 * (fours * part / threads), 4 * (fours * (part + 1) / threads));
        }
        REPEAT_AGAIN;
    }
    return all;
}
