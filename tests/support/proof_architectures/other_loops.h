/* The loops that no program names: MX, NVFP4 and GGUF blocks, ranges, error statistics, scales, random numbers. */

enum { BLOCK = 32 };
static float values[CAPACITY + BLOCK], again[CAPACITY + BLOCK], factors[CAPACITY + BLOCK];
static uint32_t slots[CAPACITY + BLOCK];
static uint8_t codes[2 * CAPACITY], scale_codes[CAPACITY];
static int32_t largest[CAPACITY];

/* Finite values whose exponents differ little within a block; with Inf, NaN and zeros where asked. */
static void make_values(int specials) {
    for (Py_ssize_t i = 0; i < count; i++) {
        const uint64_t r = next(), block = (uint64_t)i / BLOCK;
        const uint32_t exponent = (uint32_t)(block * 37 % 240 + r % 14);
        uint32_t bits = (uint32_t)(r >> 32 & LP_SIGN) | exponent << 23 | (uint32_t)(r >> 16 & 0x7fffff);
        if ((r >> 8 & 15) == 0) bits &= 0xfff00000u; /* near a tie */
        if (block % 11 == 3) bits &= LP_SIGN;
        if (specials && block % 7 == 2 && (r >> 40) % 32 == 0) bits = LP_INF | (uint32_t)(r & 1) << 22;
        if (specials && block % 13 == 5 && i % BLOCK == 3) bits = LP_INF | (uint32_t)(r >> 32 & LP_SIGN);
        if (specials && block % 17 == 6 && i % BLOCK == 4) bits = LP_QUIET_NAN | (uint32_t)(r >> 32 & LP_SIGN);
        values[i] = lp_float(bits);
        again[i] = lp_float(bits & 0xfff00000u);
    }
}

typedef int (*find_scales_t)(const int32_t *, uint8_t *, float *, Py_ssize_t, const block_params_t *);
typedef void (*find_codes_t)(
    const uint32_t *, const float *, const uint32_t *, uint8_t *, Py_ssize_t, const block_params_t *);

/* Whether whole blocks are quantized to the same scales and codes at once, as far as they are. */
static int same_at_once(
    Py_ssize_t blocks, int block, int kind, int integers, int negative_zero, const block_params_t *p
) {
    static uint8_t at_once[2 * CAPACITY], its_scales[CAPACITY];
    for (int packs = 0; packs <= (p->sign_mask == 8); packs++) {
        const Py_ssize_t done = lp_whole_blocks(
            values, its_scales, at_once, blocks, 0, kind, block, packs, integers, negative_zero, SEED, 0, p);
        if (memcmp(its_scales, scale_codes, (size_t)done)) return 0;
        for (Py_ssize_t i = 0; i < done * block; i++) {
            const int code = packs ? at_once[i / 2] >> 4 * (i & 1) & 15 : at_once[i];
            if (code != codes[i]) return 0;
        }
    }
    return 1;
}

/* A line: elements of a block, the kind of scales, NaN is ignored, two's complement, code of -0 that becomes 0 or -1,
   0 to nearest, 1 with random numbers, 2 by adding; parameters. What it prints: scales, factors, codes. Then without
   NaN and Inf, so that all blocks that have a loop of vectors are compared with it. */
static int run_blocks(void) {
    static const find_scales_t SCALES_OF[3] = {
        (find_scales_t)TIER(power_scales), (find_scales_t)TIER(quotient_scales), (find_scales_t)TIER(product_scales),
    };
    static const find_codes_t CODES[3][3] = {
        {TIER(power_codes), TIER(power_codes_random), TIER(power_codes_by_adding)},
        {TIER(quotient_codes), TIER(quotient_codes_random), TIER(quotient_codes_by_adding)},
        {TIER(product_codes), TIER(product_codes_random), TIER(product_codes_by_adding)},
    };
    int block, kind, ignores, integers, negative_zero, how, failures = 0;
    block_params_t p;
    while (scanf("%d %d %d %d %d %d", &block, &kind, &ignores, &integers, &negative_zero, &how) == 6) {
        read_bytes(&p, sizeof p);
        lp_start_scales(&p, 0.37f);
        for (int specials = 1; specials >= 0; specials--) {
            const Py_ssize_t n = count / block * block;
            make_values(specials);
            SPECIALIZED(2, absmax)(
                (int32_t *)values, n, 1, block, 0x7fffffff, (uint64_t)p.last, NULL, largest);
            const int clears = SCALES_OF[kind](largest, scale_codes, reciprocal, n / block, &p);
            for (Py_ssize_t i = 0; i < n; i++) factors[i] = reciprocal[i / block];
            if (how == 1) lp_random_numbers(output, (int)p.slot_bits / 8, 0, n, SEED, (int)p.slot_bits);
            for (Py_ssize_t i = 0; how == 1 && i < n; i++) slots[i] = (uint32_t)element(output, i, (int)p.slot_bits);
            CODES[kind][how]((uint32_t *)values, factors, slots, codes, n, &p);
            if (negative_zero >= 0) TIER(drop_negative_zero)(codes, n, (uint8_t)negative_zero);
            if (ignores) TIER(mark_nan)((uint32_t *)values, codes, n, &p);
            if (integers) TIER(to_integers)(codes, n);
            if (clears) TIER(clear_codes)(factors, codes, n);
            const int same = same_at_once(n / block, block, kind, integers, negative_zero, &p);
            printf("%016" PRIx64 " %016" PRIx64 " %016" PRIx64 "%s\n", hash_of(scale_codes, n / block, 8),
                   hash_of(factors, n, 32), hash_of(codes, n, 8), same ? "" : " at once differs");
            failures += !same;
        }
    }
    return failures != 0;
}

static void line(const char *name, int number, uint64_t hash) { printf("%s %d %016" PRIx64 "\n", name, number, hash); }

/* GGUF: values to blocks and back, values beyond them; every byte as a code. */
static void run_gguf(void) {
    typedef void (*encode_t)(const float *, uint8_t *, Py_ssize_t);
    typedef void (*decode_t)(const uint8_t *, float *, Py_ssize_t);
    typedef Py_ssize_t (*beyond_t)(const float *, const uint8_t *, Py_ssize_t);
    static const struct { const char *name; int size; encode_t encode; decode_t decode; beyond_t beyond; } TYPES[] = {
        {"Q4_0", 18, TIER(encode_q4_0), TIER(decode_q4_0), TIER(count_beyond_q4_0)},
        {"Q4_1", 20, NULL, TIER(decode_q4_1), NULL},
        {"Q5_0", 22, NULL, TIER(decode_q5_0), NULL},
        {"Q5_1", 24, NULL, TIER(decode_q5_1), NULL},
        {"Q8_0", 34, TIER(encode_q8_0), TIER(decode_q8_0), NULL},
        {"MXFP4", 17, TIER(encode_mxfp4), TIER(decode_mxfp4), TIER(count_beyond_mxfp4)},
    };
    const Py_ssize_t blocks = count / BLOCK;
    for (size_t type = 0; type < sizeof TYPES / sizeof *TYPES; type++) {
        const Py_ssize_t bytes = blocks * TYPES[type].size;
        make_values(0);
        if (TYPES[type].encode) {
            TYPES[type].encode(values, codes, blocks);
            line(TYPES[type].name, 0, hash_of(codes, bytes, 8));
            TYPES[type].decode(codes, again, blocks);
            line(TYPES[type].name, 1, hash_of(again, blocks * BLOCK, 32));
        }
        if (TYPES[type].beyond) line(TYPES[type].name, 2, (uint64_t)TYPES[type].beyond(values, codes, blocks));
        for (Py_ssize_t i = 0; i < bytes; i++) codes[i] = (uint8_t)(next() >> 40);
        TYPES[type].decode(codes, again, blocks);
        line(TYPES[type].name, 3, hash_of(again, blocks * BLOCK, 32));
    }
}

#define RANGES_OF(I, TYPE, BITS, INF)                                                                                  \
    do {                                                                                                               \
        static TYPE low[CAPACITY], high[CAPACITY];                                                                     \
        const uint64_t mask = ~(uint64_t)0 >> (65 - BITS);                                                             \
        make_source(BITS);                                                                                             \
        for (int which = 0; which < 5; which++) {                                                                      \
            static const Py_ssize_t BLOCKS[] = {1, 8, 16, 24, 1 << 20}, INNER[] = {1, 1, 1, 1, 5};                     \
            const Py_ssize_t inner = INNER[which], block = BLOCKS[which], rows = count / inner;                        \
            const Py_ssize_t results = (rows + block - 1) / block * inner;                                             \
            SPECIALIZED(I, absmax)((TYPE *)source, rows, inner, block, mask, (uint64_t)INF - 1, low, high);            \
            line("absmax" #BITS, which, hash_of(high, results, BITS));                                                 \
            SPECIALIZED(I, value_range)((TYPE *)source, rows, inner, block, mask, (uint64_t)INF - 1, low, high);       \
            line("range" #BITS, which, hash_of(high, results, BITS) ^ 3 * hash_of(low, results, BITS));                \
        }                                                                                                              \
    } while (0)

static void run_statistics(void) {
    for (int mode = 0; mode < 4; mode++) { /* no scales; one for all, for each, for runs */
        struct __pyx_t_7lowprec_7_native_12kernel_types_seen_t seen;
        scales_t scales = {0};
        memset(&seen, 0, sizeof seen);
        seen.low = lp_float(LP_INF), seen.high = -lp_float(LP_INF);
        make_values(mode == 1);
        make_scales(0);
        scales.scale = mode == 3 ? runs : scale, scales.mode = mode - 1, scales.offset = 16, scales.run_shift = 5;
        TIER(compare)(values, again, count, mode ? &scales : NULL, -448, 448, &seen);
        line("low, high", mode, (uint64_t)lp_bits(seen.low) << 32 | lp_bits(seen.high));
        line("error, ratio", mode, (uint64_t)lp_bits(seen.error) << 32 | lp_bits(seen.ratio));
        line("signal", mode, hash_of(seen.signal, 17, 64));
        line("noise", mode, hash_of(seen.noise, 17, 64));
        line("flushed", mode, (uint64_t)seen.flushed);
        line("nan, inf", mode, (uint64_t)seen.nan << 32 | (uint64_t)seen.inf);
        line("saturated", mode, (uint64_t)seen.saturated);
    }
}

static int run_others(void) {
    run_gguf();
    RANGES_OF(0, int8_t, 8, 0x7f);
    RANGES_OF(1, int16_t, 16, 0x7f80);
    RANGES_OF(2, int32_t, 32, LP_INF);
    RANGES_OF(3, int64_t, 64, LP_DOUBLE_INF);
    run_statistics();
    make_values(1);
    memset(largest, 0, sizeof largest);
    for (int row = 0; row < 5; row++)
        TIER(raise_columns)((int32_t *)values + row * (count / 5), largest, count / 5, LP_INF - 1);
    line("columns", 0, hash_of(largest, count / 5, 32));
    make_scales(1);
    for (Py_ssize_t length = 1; length < 100; length += 33) {
        const Py_ssize_t n = count - 64;
        SPECIALIZED(0, repeat_scales)(scale, (uint32_t *)output, n, length / 2, length);
        line("repeat32", (int)length, hash_of(output, n, 32));
        SPECIALIZED(1, repeat_scales)(wide_scale, output, n, length / 2, length);
        line("repeat64", (int)length, hash_of(output, n, 64));
    }
    scale[5] = lp_bits(0x1p120f);
    line("in reach", 0, (uint64_t)TIER(reciprocals)((float *)scale, 5, reciprocal));
    line("in reach", 1, (uint64_t)TIER(reciprocals)((float *)scale, count, reciprocal));
    line("reciprocals", 0, hash_of(reciprocal, count, 32));
    for (int bits = 1; bits <= 32; bits++) {
        const int item = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
        lp_random_numbers(output, item, 12345, count, (uint64_t)SEED << 33 | 7, bits);
        line("random", bits, hash_of(output, count, 8 * item));
    }
    return 0;
}
