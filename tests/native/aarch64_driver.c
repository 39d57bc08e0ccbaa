/* Runs programs by the loops of the base tier, whose C is included, without Python: a line on standard input for each,
       bits of an element of the source, of the output, whether the fused loop is used, parameters, names of loops
   A line of output has a hash of the results of the chain in each scale mode; a fused loop must return the same. */
#include TIER_C
#include <inttypes.h>
#include <stdio.h>

enum { N = 65536 + 3, STEPS = 10, SCALES = N + 64 };
typedef struct __pyx_t_7lowprec_7_native_10loop_types_remaining_t remaining_t;
typedef struct __pyx_t_7lowprec_7_native_10loop_types_scales_t scales_t;
typedef void (*loop_t)(const void *, void *, Py_ssize_t, remaining_t, const params_t *);
typedef void (*scale_loop_t)(const void *, void *, Py_ssize_t, remaining_t, const scales_t *, const params_t *);
typedef struct { const char *name; void *loop[3]; } entry_t; /* one loop, or one for each scale mode */
static const entry_t TABLE[] = {
#include "table.inc"
};

static uint64_t source[N], output[N], fused_output[N], tiles[2][N];
static uint64_t wide_scale[SCALES];
static uint32_t scale[SCALES], zero[SCALES], runs[SCALES], run_zero[SCALES], spread[SCALES], spread_zero[SCALES];
static float reciprocal[SCALES];
static const remaining_t NONE;

static uint64_t next(void) { /* xorshift* */
    static uint64_t state = 88172645463325252u;
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 2685821657736338717u;
}

static const entry_t *find(const char *name) {
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        if (strcmp(TABLE[i].name, name) == 0) return TABLE + i;
    fprintf(stderr, "no loop %s\n", name);
    exit(2);
}

/* Every code of 16 bits; wider ones begin with each of these and end near a tie, or anyhow. */
static void make_source(int bits) {
    static const uint64_t ends[] = {0, 1, 1u << 31, (1u << 31) - 1, (1u << 31) + 1, ~0u, 1u << 20, 1u << 12};
    for (Py_ssize_t i = 0; i < N; i++) {
        const uint64_t r = next(), low = r >> 60 < 4 ? r : ends[r >> 61] << (r & 16);
        if (bits == 64) source[i] = (uint64_t)i << 48 | (low & 0xffffffff) << 16 | (r >> 40 & 1);
        else if (bits == 32) ((uint32_t *)source)[i] = (uint32_t)i << 16 | (uint32_t)(low >> 16 & 0xffff);
        else if (bits == 16) ((uint16_t *)source)[i] = (uint16_t)i;
        else ((uint8_t *)source)[i] = (uint8_t)i;
    }
}

/* Scales in reach; integers of 4 bits or floats as zero points. A run has 32 elements, the first one 16. */
static void make_scales(int integers) {
    for (Py_ssize_t i = 0; i < SCALES; i++) {
        const uint64_t r = next();
        const float one = lp_float((uint32_t)(127 - 20 + r % 40) << 23 | (uint32_t)(r >> 40 & 0x7fffff));
        const int32_t point = (int32_t)(r >> 32 & 15) - (integers ? 0 : 8);
        scale[i] = runs[i] = lp_bits(one);
        wide_scale[i] = lp_double_bits(one);
        zero[i] = run_zero[i] = integers ? (uint32_t)point : lp_bits((float)point);
    }
    for (Py_ssize_t i = 0; i < N; i++) spread[i] = runs[(i + 16) >> 5], spread_zero[i] = run_zero[(i + 16) >> 5];
}

static uint64_t hash_of(const void *memory, size_t size) { /* FNV-1a */
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)memory)[i]) * 1099511628211u;
    return hash;
}

static void run(const entry_t *entry, int mode, const scales_t *scales, const void *s, void *d, const params_t *p) {
    if (entry->loop[1]) ((scale_loop_t)entry->loop[mode])(s, d, N, NONE, scales, p);
    else ((loop_t)entry->loop[0])(s, d, N, NONE, p);
}

int main(void) {
    static char line[4096], fused_name[1024];
    int failures = 0;
    while (fgets(line, sizeof line, stdin)) {
        int source_bits, output_bits, has_fused, used, count = 0;
        char hex[1024], name[128];
        const entry_t *steps[STEPS];
        params_t p;
        sscanf(line, "%d %d %d %1023s%n", &source_bits, &output_bits, &has_fused, hex, &used);
        for (size_t i = 0; i < sizeof p; i++) sscanf(hex + 2 * i, "%2hhx", (uint8_t *)&p + i);
        int scaled = 0, wide = 0, integers = 0;
        strcpy(fused_name, "fused:");
        for (const char *at = line + used; sscanf(at, "%127s%n", name, &used) == 1; at += used) {
            steps[count++] = find(name);
            scaled |= steps[count - 1]->loop[1] != NULL;
            wide |= strstr(name, "quantize64") || strcmp(name, "divide64") == 0;
            integers |= strstr(name, "quantize32") || strstr(name, "quantize64") || strstr(name, "round_saturate");
            strcat(strcat(fused_name, count > 1 ? "." : ""), name);
        }
        const entry_t *fused = has_fused ? find(fused_name) : NULL;
        make_source(source_bits);
        if (scaled) make_scales(integers && !strstr(fused_name, "dequantize"));
        for (int mode = 0; mode < (scaled ? 3 : 1); mode++)
            for (int points = 0; points < (scaled ? 2 : 1); points++) {
                const uint32_t *elements = mode == 2 ? spread : scale, *its_zeros = mode == 2 ? spread_zero : zero;
                static const uint32_t no_zero[SCALES];
                scales_t chain = {0}, own = {0};
                chain.scale = wide ? (void *)wide_scale : (void *)elements, chain.zero = points ? its_zeros : no_zero;
                chain.mode = mode ? 1 : 0;
                own.scale = mode == 2 ? runs : scale, own.zero = points ? (mode == 2 ? run_zero : zero) : NULL;
                own.reciprocal = reciprocal, own.offset = 16, own.run_shift = 5, own.mode = mode;
                const void *from = source;
                for (int i = 0; i < count; i++) {
                    void *to = i == count - 1 ? output : tiles[i % 2];
                    run(steps[i], mode ? 1 : 0, &chain, from, to, &p);
                    from = to;
                }
                const size_t size = ((size_t)N * output_bits + 7) / 8;
                printf("%016" PRIx64 " ", hash_of(output, size));
                if (!fused) continue;
                RECIPROCALS((const float *)own.scale, mode == 0 ? 1 : SCALES, reciprocal);
                run(fused, mode, &own, source, fused_output, &p);
                if (memcmp(output, fused_output, size) != 0) printf("fused differs "), failures++;
            }
        printf("%s\n", fused_name + strlen("fused:"));
    }
    return failures != 0;
}
