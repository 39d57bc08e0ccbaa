/* Runs the loops of the base tier, whose C is included, without Python:
   `driver programs|tails|codes|blocks|others N < lines`.

   N is the number of elements. Results are printed as numbers or as hashes of numbers, so that they do not depend on the
   order of bytes; the bytes of parameters on a line are in that of this machine. */
#define LP_LEAST_LOOKED_UP 1
#include TIER_C
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TIER(NAME) __pyx_f_7lowprec_7_native_9tier_base_##NAME
#define SPECIALIZED(I, NAME) __pyx_fuse_##I##__pyx_f_7lowprec_7_native_9tier_base_##NAME
#define CAPACITY (65536 + 3)
enum { STEPS = 10, SCALES = CAPACITY + 64, SEED = 20, COLUMNS = 192 };
typedef struct __pyx_t_7lowprec_7_native_12kernel_types_remaining_t remaining_t;
typedef struct __pyx_t_7lowprec_7_native_12kernel_types_scales_t scales_t;
typedef struct __pyx_t_7lowprec_7_native_12kernel_types_stream_t stream_t;
typedef void (*loop_t)(const void *, void *, Py_ssize_t, remaining_t, const params_t *);
typedef void (*random_loop_t)(const void *, void *, Py_ssize_t, remaining_t, const stream_t *, const params_t *);
typedef void (*scale_loop_t)(const void *, void *, Py_ssize_t, remaining_t, const scales_t *, const params_t *);
typedef struct { /* one loop, or one for each scale mode; and the one by tables of VBMI */
    const char *name;
    int is_random;
    void *loop[4], *by_tables;
} entry_t;
static const entry_t TABLE[] = {
#include "table.inc"
};

static Py_ssize_t count;
static uint64_t source[CAPACITY], output[CAPACITY], fused_output[CAPACITY], tiles[2][CAPACITY];
static uint64_t wide_scale[SCALES];
static uint32_t scale[SCALES], zero[SCALES], runs[SCALES], run_zero[SCALES], spread[SCALES], spread_zero[SCALES];
static uint32_t repeated[SCALES], repeated_zero[SCALES];
static float reciprocal[SCALES];
static int16_t zero_words[COLUMNS];
static remaining_t after; /* elements that follow; fewer than none: nothing is prefetched */

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

static uint64_t element(const void *memory, Py_ssize_t i, int bits) { /* of any type */
    const uint8_t *at = (const uint8_t *)memory + i * (bits < 8 ? 1 : bits / 8);
    uint64_t v64;
    uint32_t v32;
    uint16_t v16;
    if (bits == 64) return memcpy(&v64, at, 8), v64;
    if (bits == 32) return memcpy(&v32, at, 4), v32;
    return bits == 16 ? (memcpy(&v16, at, 2), v16) : *at;
}

static void put(void *memory, Py_ssize_t i, int bits, uint64_t v) {
    if (bits == 64) ((uint64_t *)memory)[i] = v;
    else if (bits == 32) ((uint32_t *)memory)[i] = (uint32_t)v;
    else if (bits == 16) ((uint16_t *)memory)[i] = (uint16_t)v;
    else ((uint8_t *)memory)[i] = (uint8_t)v;
}

/* Codes of 16 bits, every one where N is 2**16 or more; wider ones begin with these and end near a tie, or anyhow. */
static void make_source(int bits) {
    static const uint64_t ends[] = {0, 1, 1u << 31, (1u << 31) - 1, (1u << 31) + 1, ~0u, 1u << 20, 1u << 12};
    for (Py_ssize_t i = 0; i < count; i++) {
        const uint64_t r = next(), low = r >> 60 < 4 ? r : ends[r >> 61] << (r & 16), first = (uint64_t)i * 40503 & 0xffff;
        if (bits == 64) source[i] = first << 48 | (low & 0xffffffff) << 16 | (r >> 40 & 1);
        else if (bits == 32) put(source, i, 32, first << 16 | (low >> 16 & 0xffff));
        else put(source, i, bits, bits == 16 ? first : (uint64_t)i);
    }
}

/* Scales in reach; integers of 4 bits or floats as zero points. A run has 32 elements, the first one 16; columns have a
   scale each, the same in every row. */
static void make_scales(int integers) {
    for (Py_ssize_t i = 0; i < SCALES; i++) {
        const uint64_t r = next();
        const float one = lp_float((uint32_t)(127 - 20 + r % 40) << 23 | (uint32_t)(r >> 40 & 0x7fffff));
        const int32_t point = (int32_t)(r >> 32 & 15) - (integers ? 0 : 8);
        scale[i] = runs[i] = lp_bits(one);
        wide_scale[i] = lp_double_bits(one);
        zero[i] = run_zero[i] = integers ? (uint32_t)point : lp_bits((float)point);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        spread[i] = runs[(i + 16) >> 5], spread_zero[i] = run_zero[(i + 16) >> 5];
        repeated[i] = scale[i % COLUMNS], repeated_zero[i] = zero[i % COLUMNS];
    }
}

static uint64_t hash_of(const void *memory, Py_ssize_t n, int bits) { /* FNV-1a over numbers */
    uint64_t hash = 14695981039346656037u;
    for (Py_ssize_t i = 0; i < n; i++) hash = (hash ^ element(memory, i, bits)) * 1099511628211u;
    return hash;
}

static uint64_t hash_of_output(const void *memory, int bits) { /* packed ones are bytes */
    return bits < 8 ? hash_of(memory, (count * bits + 7) / 8, 8) : hash_of(memory, count, bits);
}

static void read_bytes(void *memory, size_t size) {
    static char hex[4096];
    if (size >= sizeof hex / 2 || scanf("%4095s", hex) != 1 || strlen(hex) != 2 * size) {
        fprintf(stderr, "%zu bytes of parameters expected\n", size);
        exit(2);
    }
    for (size_t i = 0; i < size; i++) sscanf(hex + 2 * i, "%2hhx", (uint8_t *)memory + i);
}

typedef struct {
    int source_bits, output_bits, steps, scaled, wide, integers;
    const entry_t *step[STEPS], *fused;
    char name[1024];
    params_t params;
} program_t;

/* Bits of an element of the source, of the output, whether there is a fused loop, parameters, names of loops. */
static int read_program(program_t *p) {
    static char rest[2048];
    char name[128];
    int has_fused, used;
    memset(p, 0, sizeof *p);
    if (scanf("%d %d %d", &p->source_bits, &p->output_bits, &has_fused) != 3) return 0;
    read_bytes(&p->params, sizeof p->params);
    if (fgets(rest, sizeof rest, stdin) == NULL) return 0;
    strcpy(p->name, "fused:");
    for (const char *at = rest; sscanf(at, "%127s%n", name, &used) == 1; at += used) {
        p->step[p->steps++] = find(name);
        p->scaled |= p->step[p->steps - 1]->loop[1] != NULL;
        p->wide |= strstr(name, "quantize64") || strcmp(name, "divide64") == 0;
        p->integers |= strstr(name, "quantize32") || strstr(name, "quantize64") || strstr(name, "round_saturate");
        strcat(strcat(p->name, p->steps > 1 ? "." : ""), name);
    }
    p->fused = has_fused ? find(p->name) : NULL;
    return 1;
}

static void run(
    const entry_t *entry, int mode, const scales_t *scales, const void *s, void *d, Py_ssize_t n, const params_t *p
) {
    static const stream_t stream = {SEED, 5};
    if (entry->loop[1]) ((scale_loop_t)entry->loop[mode])(s, d, n, after, scales, p);
    else if (entry->is_random) ((random_loop_t)entry->loop[0])(s, d, n, after, &stream, p);
    else ((loop_t)entry->loop[0])(s, d, n, after, p);
}

/* Whether the loop by tables has the bytes of the loop that it stands for; with several scales where it takes one: any
   for products, and those in reach for quotients. */
static int same_by_tables(const program_t *p) {
    static const float scales[] = {1, 1 + 0x1p-23f, 2 - 0x1p-23f, 0.01f, 448, 0x1p-59f, 0x1p59f, -3, 0, INFINITY, NAN,
                                   1e-45f};
    static uint64_t wanted[CAPACITY], found[CAPACITY];
    const entry_t *entry = p->fused ? p->fused : p->step[0];
    entry_t by_tables = *entry;
    if (entry->by_tables == NULL || (p->fused == NULL && p->steps > 1)) return 1;
    by_tables.loop[0] = entry->by_tables;
    for (int i = 0; i < (!p->scaled ? 1 : p->source_bits == 8 ? 12 + 20 : 7 + 20); i++) {
        const float one = i < 20 ? lp_float(scale[i]) : scales[i - 20], inverse = 1 / one;
        const scales_t own = {.scale = &one, .reciprocal = &inverse};
        run(entry, 0, &own, source, wanted, count, &p->params);
        run(&by_tables, 0, &own, source, found, count, &p->params);
        if (memcmp(wanted, found, (size_t)(count * p->output_bits / 8)) != 0) return 0;
    }
    return 1;
}

static int convert(const program_t *p, int mode, int points) { /* whether the fused loop has the same result */
    static const uint32_t no_zero[SCALES];
    const uint32_t *elements = mode == 3 ? repeated : mode == 2 ? spread : scale;
    const uint32_t *its_zeros = mode == 3 ? repeated_zero : mode == 2 ? spread_zero : zero;
    const Py_ssize_t n = mode == 3 ? count / COLUMNS * COLUMNS : count; /* whole rows */
    scales_t chain = {0}, own = {0};
    chain.scale = p->wide ? (void *)wide_scale : (void *)elements, chain.zero = points ? its_zeros : no_zero;
    chain.mode = mode ? 1 : 0;
    own.scale = mode == 2 ? runs : scale, own.zero = points ? (mode == 2 ? run_zero : zero) : NULL;
    own.reciprocal = reciprocal, own.offset = 16, own.run_shift = 5, own.mode = mode;
    own.columns = COLUMNS;
    if (mode == 3 && points) lp_zero_words(zero, COLUMNS, zero_words), own.zero_words = zero_words;
    const void *from = source;
    for (int i = 0; i < p->steps; i++) {
        void *to = i == p->steps - 1 ? output : tiles[i % 2];
        run(p->step[i], mode ? 1 : 0, &chain, from, to, count, &p->params);
        from = to;
    }
    if (mode == 0 && !points && !same_by_tables(p)) return 0;
    if (p->fused == NULL) return 1;
    if (p->scaled) TIER(reciprocals)((const float *)own.scale, mode == 0 ? 1 : count + SCALES - CAPACITY, reciprocal);
    int same = 1;
    for (int prefetches = 0; prefetches < 2; prefetches++) { /* with and without, loops by columns go other ways */
        after.src = after.dst = prefetches ? 0 : -CAPACITY;
        run(p->fused, mode, &own, source, fused_output, n, &p->params);
        same &= memcmp(output, fused_output, (size_t)(n * p->output_bits + 7) / 8) == 0;
    }
    return same;
}

/* A line for each program: a hash for each scale mode, without zero points and with them; of every length from the
   shortest one on. */
static int run_programs(Py_ssize_t shortest) {
    static program_t p;
    const Py_ssize_t longest = count;
    int failures = 0;
    while (read_program(&p)) {
        make_source(p.source_bits);
        if (p.scaled) make_scales(p.integers && !strstr(p.name, "dequantize"));
        const int modes = !p.scaled ? 1 : p.fused && p.fused->loop[3] ? 4 : 3;
        for (int mode = 0; mode < modes; mode++)
            for (int points = 0; points < (p.scaled ? 2 : 1); points++) {
                uint64_t hash = 0;
                int same = 1;
                for (count = shortest; count <= longest; count++) {
                    same &= convert(&p, mode, points);
                    hash = hash * 1099511628211u ^ hash_of_output(output, p.output_bits);
                }
                count = longest;
                printf("%016" PRIx64 " %s", hash, same ? "" : "fused differs ");
                failures += !same;
            }
        printf("%s\n", p.name + strlen("fused:"));
    }
    return failures != 0;
}

/* After each program the codes that it reads: how many, and each in hexadecimal. A line of output has what they become. */
static int run_codes(void) {
    static program_t p;
    int failures = 0;
    while (read_program(&p)) {
        if (scanf("%td", &count) != 1 || count > CAPACITY) return 2;
        for (Py_ssize_t i = 0; i < count; i++) {
            uint64_t code;
            if (scanf("%" SCNx64, &code) != 1) return 2;
            put(source, i, p.source_bits, code);
        }
        failures += !convert(&p, 0, 0);
        for (Py_ssize_t i = 0; i < count; i++) printf("%" PRIx64 " ", element(output, i, p.output_bits));
        printf("\n");
    }
    return failures != 0;
}

#include "other_loops.h"

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    count = atol(argv[2]);
    if (count > CAPACITY) return 2;
    if (strcmp(argv[1], "programs") == 0) return run_programs(count);
    if (strcmp(argv[1], "tails") == 0) return run_programs(1);
    if (strcmp(argv[1], "codes") == 0) return run_codes();
    if (strcmp(argv[1], "blocks") == 0) return run_blocks();
    return strcmp(argv[1], "others") == 0 ? run_others() : 2;
}
