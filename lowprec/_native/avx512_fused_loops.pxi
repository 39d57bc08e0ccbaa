# Rendered from avx512_fused_loops.pxi.in: fused loops for AVX-512, which replace those of the table.
cdef extern from "avx512_stores.h" nogil:
    ctypedef struct lp_group:
        pass
    ctypedef struct lp_decoder:
        bint fits  # whether a load reads this format
    ctypedef struct lp_target:
        bint fits   # whether a store writes it
        bint plain  # whether every code has the sign of its value, in the first bit of a byte
    ctypedef struct lp_factors:
        pass
    enum:
        RUNS_BLOCK "LP_BLOCK"
    void factors_of "lp_factors_of" (
        lp_factors *f, int mode, bint divides, const void *scale, const void *zero, const float *reciprocal,
        Py_ssize_t offset, int shift,
    ) noexcept
    void prepare_runs "lp_prepare_runs" (lp_factors *f, Py_ssize_t at, Py_ssize_t n) noexcept
    lp_decoder decoder_of_float32 "lp_decoder_of_float32" (const params_t *p) noexcept
    lp_group load_float32 "lp_load_float32" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_decoder decoder_of_float8 "lp_decoder_of_float8" (const params_t *p) noexcept
    lp_group load_float8 "lp_load_float8" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_decoder decoder_of_half16 "lp_decoder_of_half16" (const params_t *p) noexcept
    lp_group load_half16 "lp_load_half16" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_decoder decoder_of_ieee8 "lp_decoder_of_ieee8" (const params_t *p) noexcept
    lp_group load_ieee8 "lp_load_ieee8" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_decoder decoder_of_integer8 "lp_decoder_of_integer8" (const params_t *p) noexcept
    lp_group load_integer8 "lp_load_integer8" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_decoder decoder_of_packed_float "lp_decoder_of_packed_float" (const params_t *p) noexcept
    lp_group load_packed_float "lp_load_packed_float" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_decoder decoder_of_packed_integer "lp_decoder_of_packed_integer" (const params_t *p) noexcept
    lp_group load_packed_integer "lp_load_packed_integer" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_decoder decoder_of_upper16 "lp_decoder_of_upper16" (const params_t *p) noexcept
    lp_group load_upper16 "lp_load_upper16" (
        const void *s, Py_ssize_t at, Py_ssize_t n, const lp_decoder *c,
    ) noexcept
    lp_target target_of_float32 "lp_target_of_float32" (const params_t *p) noexcept
    lp_target target_of_float8 "lp_target_of_float8" (const params_t *p) noexcept
    lp_target target_of_integer8 "lp_target_of_integer8" (const params_t *p) noexcept
    lp_group divide_group "lp_divide_group" (
        int mode, lp_group x, const lp_factors *f, Py_ssize_t at, Py_ssize_t n,
    ) noexcept
    lp_group divide_half16_group "lp_divide_half16_group" (
        int mode, lp_group x, const lp_factors *f, Py_ssize_t at, Py_ssize_t n,
    ) noexcept
    lp_group divide_upper16_group "lp_divide_upper16_group" (
        int mode, lp_group x, const lp_factors *f, Py_ssize_t at, Py_ssize_t n,
    ) noexcept
    lp_group multiply_group "lp_multiply_group" (
        int mode, lp_group x, const lp_factors *f, Py_ssize_t at, Py_ssize_t n,
    ) noexcept
    void store_float32 "lp_store_float32" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_float8 "lp_store_float8" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_half16 "lp_store_half16" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_packed_float8 "lp_store_packed_float8" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_packed_quotients "lp_store_packed_quotients" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_packed_rounded "lp_store_packed_rounded" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_quotients "lp_store_quotients" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_rounded "lp_store_rounded" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept
    void store_upper16 "lp_store_upper16" (
        int mode, bint plain, lp_group x, const lp_factors *f, void *d, Py_ssize_t at, Py_ssize_t n, const lp_target *t,
    ) noexcept

cdef void fused_decode8_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        decode8(s, d, n, remaining, params)
        return
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                load_float8(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            load_float8(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        decode_ieee8(s, d, n, remaining, params)
        return
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                load_ieee8(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            load_ieee8(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_encode_upper16_avx512(
    uint32_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_encode_half16_avx512(
    uint32_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_encode8__pack4_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_encode8__pack4(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    load_float32(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                load_float32(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    load_float32(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                load_float32(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__encode_half16_avx512(
    uint16_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                load_upper16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            load_upper16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__encode8_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__encode8(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    load_half16(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                load_half16(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    load_half16(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                load_half16(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__encode8__pack4_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__encode8__pack4(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    load_half16(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                load_half16(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    load_half16(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                load_half16(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__encode_upper16_avx512(
    uint16_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                load_half16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            load_half16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__encode8_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__encode8(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    load_float8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                load_float8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    load_float8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                load_float8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode8__encode8__pack4_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__encode8__pack4(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    load_float8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                load_float8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    load_float8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                load_float8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode8__encode_half16_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__encode_half16(s, d, n, remaining, params)
        return
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                load_float8(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            load_float8(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__encode8_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__encode8(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    load_ieee8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                load_ieee8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    load_ieee8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                load_ieee8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_ieee8__encode8__pack4_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__encode8__pack4(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    load_ieee8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                load_ieee8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    load_ieee8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                load_ieee8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_ieee8__encode_half16_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__encode_half16(s, d, n, remaining, params)
        return
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                load_ieee8(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            load_ieee8(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__encode8_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_integer8_to_float32__encode8(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    load_integer8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                load_integer8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    load_integer8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                load_integer8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_integer8_to_float32__encode8__pack4_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_integer8_to_float32__encode8__pack4(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    load_integer8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                load_integer8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 8, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    load_integer8(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                load_integer8(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_integer8_to_float32__encode_half16_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                load_integer8(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            load_integer8(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__encode_upper16_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                load_integer8(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            load_integer8(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                load_packed_float(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            load_packed_float(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__encode8_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_unpack4__decode8__encode8(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    load_packed_float(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                load_packed_float(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    load_packed_float(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                load_packed_float(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_unpack4__decode8__encode8__pack4_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_unpack4__decode8__encode8__pack4(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    load_packed_float(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                load_packed_float(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    load_packed_float(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                load_packed_float(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_unpack4__decode8__encode_half16_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                load_packed_float(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            load_packed_float(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                load_packed_integer(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            load_packed_integer(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__encode8_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_unpack4__integer8_to_float32__encode8(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    load_packed_integer(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                load_packed_integer(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    load_packed_integer(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                load_packed_integer(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_unpack4__integer8_to_float32__encode8__pack4_avx512(
    uint8_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_unpack4__integer8_to_float32__encode8__pack4(s, d, n, remaining, params)
        return
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    load_packed_integer(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                load_packed_integer(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 4, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    load_packed_integer(s, at, 64, &decoder),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                load_packed_integer(s, at, n % 64, &decoder),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_unpack4__integer8_to_float32__encode_half16_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                load_packed_integer(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            load_packed_integer(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__encode_upper16_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                load_packed_integer(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            load_packed_integer(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_quantize32_to8_uniform_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_UNIFORM, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_UNIFORM, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_quantize32_to8_elementwise_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_ELEMENTWISE, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_ELEMENTWISE, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_quantize32_to8_runs_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        prepare_runs(&factors, first, min(<Py_ssize_t>RUNS_BLOCK, n - first))
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_RUNS, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_RUNS, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_divide_encode8_uniform_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_divide_encode8_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    divide_group(SCALE_UNIFORM, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                divide_group(SCALE_UNIFORM, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    divide_group(SCALE_UNIFORM, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                divide_group(SCALE_UNIFORM, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_divide_encode8_elementwise_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_divide_encode8_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_group(SCALE_ELEMENTWISE, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, True,
                divide_group(SCALE_ELEMENTWISE, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_group(SCALE_ELEMENTWISE, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, False,
                divide_group(SCALE_ELEMENTWISE, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_divide_encode8_runs_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_divide_encode8_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, True,
                    divide_group(SCALE_RUNS, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, True,
                divide_group(SCALE_RUNS, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, False,
                    divide_group(SCALE_RUNS, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, False,
                divide_group(SCALE_RUNS, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__quantize32_to8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_UNIFORM, False,
                load_upper16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_UNIFORM, False,
            load_upper16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__quantize32_to8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_ELEMENTWISE, False,
                load_upper16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_ELEMENTWISE, False,
            load_upper16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__quantize32_to8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        prepare_runs(&factors, first, min(<Py_ssize_t>RUNS_BLOCK, n - first))
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_RUNS, False,
                load_upper16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_RUNS, False,
            load_upper16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide_encode8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide_encode8_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    divide_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                divide_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    divide_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                divide_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide_encode8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide_encode8_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, True,
                divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, False,
                divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide_encode8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide_encode8_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, True,
                    divide_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, True,
                divide_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, False,
                    divide_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, False,
                divide_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__quantize32_to8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_UNIFORM, False,
                load_half16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_UNIFORM, False,
            load_half16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__quantize32_to8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_ELEMENTWISE, False,
                load_half16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_ELEMENTWISE, False,
            load_half16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__quantize32_to8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        prepare_runs(&factors, first, min(<Py_ssize_t>RUNS_BLOCK, n - first))
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_quotients(
                SCALE_RUNS, False,
                load_half16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_quotients(
            SCALE_RUNS, False,
            load_half16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide_encode8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide_encode8_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    divide_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                divide_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    divide_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                divide_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide_encode8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide_encode8_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, True,
                divide_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, False,
                divide_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide_encode8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide_encode8_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, True,
                    divide_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, True,
                divide_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, False,
                    divide_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, False,
                divide_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide__round_to_upper16__round_saturate8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_rounded(
                SCALE_UNIFORM, False,
                divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_rounded(
            SCALE_UNIFORM, False,
            divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide__round_to_upper16__round_saturate8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_rounded(
                SCALE_ELEMENTWISE, False,
                divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_rounded(
            SCALE_ELEMENTWISE, False,
            divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide__round_to_upper16__round_saturate8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_rounded(
                SCALE_RUNS, False,
                divide_upper16_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_rounded(
            SCALE_RUNS, False,
            divide_upper16_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide__round_to_upper16__encode8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide__round_to_upper16__encode8_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide__round_to_upper16__encode8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide__round_to_upper16__encode8_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, True,
                divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, False,
                divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide__round_to_upper16__encode8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide__round_to_upper16__encode8_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, True,
                    divide_upper16_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, True,
                divide_upper16_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, False,
                    divide_upper16_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, False,
                divide_upper16_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide__round_to_precision__round_saturate8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_rounded(
                SCALE_UNIFORM, False,
                divide_half16_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_rounded(
            SCALE_UNIFORM, False,
            divide_half16_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide__round_to_precision__round_saturate8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_rounded(
                SCALE_ELEMENTWISE, False,
                divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_rounded(
            SCALE_ELEMENTWISE, False,
            divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide__round_to_precision__round_saturate8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 8, at, 64, n, remaining,
            )
            store_rounded(
                SCALE_RUNS, False,
                divide_half16_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_rounded(
            SCALE_RUNS, False,
            divide_half16_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide__round_to_precision__encode8_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide__round_to_precision__encode8_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, True,
                    divide_half16_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, True,
                divide_half16_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_UNIFORM, False,
                    divide_half16_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_UNIFORM, False,
                divide_half16_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide__round_to_precision__encode8_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide__round_to_precision__encode8_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, True,
                divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_ELEMENTWISE, False,
                divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide__round_to_precision__encode8_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide__round_to_precision__encode8_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, True,
                    divide_half16_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, True,
                divide_half16_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 8, at, 64, n, remaining,
                )
                store_float8(
                    SCALE_RUNS, False,
                    divide_half16_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_float8(
                SCALE_RUNS, False,
                divide_half16_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_quantize32_to8__pack4_uniform_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_UNIFORM, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_UNIFORM, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_quantize32_to8__pack4_elementwise_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_ELEMENTWISE, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_ELEMENTWISE, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_quantize32_to8__pack4_runs_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        prepare_runs(&factors, first, min(<Py_ssize_t>RUNS_BLOCK, n - first))
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 32, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_RUNS, False,
                load_float32(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_RUNS, False,
            load_float32(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_divide_encode8__pack4_uniform_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_divide_encode8__pack4_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    divide_group(SCALE_UNIFORM, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                divide_group(SCALE_UNIFORM, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    divide_group(SCALE_UNIFORM, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                divide_group(SCALE_UNIFORM, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_divide_encode8__pack4_elementwise_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_divide_encode8__pack4_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_group(SCALE_ELEMENTWISE, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, True,
                divide_group(SCALE_ELEMENTWISE, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_group(SCALE_ELEMENTWISE, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, False,
                divide_group(SCALE_ELEMENTWISE, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_divide_encode8__pack4_runs_avx512(
    uint32_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float32(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_divide_encode8__pack4_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, True,
                    divide_group(SCALE_RUNS, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, True,
                divide_group(SCALE_RUNS, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 32, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, False,
                    divide_group(SCALE_RUNS, load_float32(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, False,
                divide_group(SCALE_RUNS, load_float32(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__quantize32_to8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_UNIFORM, False,
                load_upper16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_UNIFORM, False,
            load_upper16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__quantize32_to8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_ELEMENTWISE, False,
                load_upper16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_ELEMENTWISE, False,
            load_upper16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__quantize32_to8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        prepare_runs(&factors, first, min(<Py_ssize_t>RUNS_BLOCK, n - first))
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_RUNS, False,
                load_upper16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_RUNS, False,
            load_upper16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide_encode8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide_encode8__pack4_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    divide_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                divide_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    divide_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                divide_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide_encode8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide_encode8__pack4_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, True,
                divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, False,
                divide_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide_encode8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide_encode8__pack4_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, True,
                    divide_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, True,
                divide_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, False,
                    divide_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, False,
                divide_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__quantize32_to8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_UNIFORM, False,
                load_half16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_UNIFORM, False,
            load_half16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__quantize32_to8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_ELEMENTWISE, False,
                load_half16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_ELEMENTWISE, False,
            load_half16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__quantize32_to8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        prepare_runs(&factors, first, min(<Py_ssize_t>RUNS_BLOCK, n - first))
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_quotients(
                SCALE_RUNS, False,
                load_half16(s, at, 64, &decoder),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_quotients(
            SCALE_RUNS, False,
            load_half16(s, at, n % 64, &decoder),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide_encode8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide_encode8__pack4_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    divide_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                divide_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    divide_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                divide_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide_encode8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide_encode8__pack4_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, True,
                divide_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, False,
                divide_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide_encode8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide_encode8__pack4_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, True,
                    divide_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, True,
                divide_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, False,
                    divide_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, False,
                divide_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide__round_to_upper16__round_saturate8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_rounded(
                SCALE_UNIFORM, False,
                divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_rounded(
            SCALE_UNIFORM, False,
            divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide__round_to_upper16__round_saturate8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_rounded(
                SCALE_ELEMENTWISE, False,
                divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_rounded(
            SCALE_ELEMENTWISE, False,
            divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide__round_to_upper16__round_saturate8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_rounded(
                SCALE_RUNS, False,
                divide_upper16_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_rounded(
            SCALE_RUNS, False,
            divide_upper16_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_upper16__divide__round_to_upper16__encode8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide__round_to_upper16__encode8__pack4_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                divide_upper16_group(SCALE_UNIFORM, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide__round_to_upper16__encode8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide__round_to_upper16__encode8__pack4_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, True,
                divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, False,
                divide_upper16_group(SCALE_ELEMENTWISE, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_upper16__divide__round_to_upper16__encode8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_upper16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_upper16__divide__round_to_upper16__encode8__pack4_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, True, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, True,
                    divide_upper16_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, True,
                divide_upper16_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, False,
                    divide_upper16_group(SCALE_RUNS, load_upper16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, False,
                divide_upper16_group(SCALE_RUNS, load_upper16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide__round_to_precision__round_saturate8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_rounded(
                SCALE_UNIFORM, False,
                divide_half16_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_rounded(
            SCALE_UNIFORM, False,
            divide_half16_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide__round_to_precision__round_saturate8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_rounded(
                SCALE_ELEMENTWISE, False,
                divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_rounded(
            SCALE_ELEMENTWISE, False,
            divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide__round_to_precision__round_saturate8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_integer8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 16, d, 4, at, 64, n, remaining,
            )
            store_packed_rounded(
                SCALE_RUNS, False,
                divide_half16_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_packed_rounded(
            SCALE_RUNS, False,
            divide_half16_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_half16__divide__round_to_precision__encode8__pack4_uniform_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide__round_to_precision__encode8__pack4_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, True,
                    divide_half16_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, True,
                divide_half16_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_UNIFORM, False,
                    divide_half16_group(SCALE_UNIFORM, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_UNIFORM, False,
                divide_half16_group(SCALE_UNIFORM, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide__round_to_precision__encode8__pack4_elementwise_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide__round_to_precision__encode8__pack4_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, True,
                    divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, True,
                divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_ELEMENTWISE, False,
                    divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_ELEMENTWISE, False,
                divide_half16_group(SCALE_ELEMENTWISE, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_decode_half16__divide__round_to_precision__encode8__pack4_runs_avx512(
    uint16_t_source s, uint8_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_half16(params)
    cdef lp_target target = target_of_float8(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_half16__divide__round_to_precision__encode8__pack4_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    if target.plain:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, True,
                    divide_half16_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, True,
                divide_half16_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )
    else:
        for block in range(block_count(n, RUNS_BLOCK)):
            first = block * RUNS_BLOCK
            for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
                prefetch_bits(
                    s, 16, d, 4, at, 64, n, remaining,
                )
                store_packed_float8(
                    SCALE_RUNS, False,
                    divide_half16_group(SCALE_RUNS, load_half16(s, at, 64, &decoder), &factors, at, 64),
                    &factors, d, at, 64, &target,
                )
        if n % 64 != 0:
            at = n - n % 64
            store_packed_float8(
                SCALE_RUNS, False,
                divide_half16_group(SCALE_RUNS, load_half16(s, at, n % 64, &decoder), &factors, at, n % 64),
                &factors, d, at, n % 64, &target,
            )

cdef void fused_integer8_to_float32__dequantize_uniform_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize_elementwise_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize_runs_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize__encode_upper16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize__encode_upper16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize__encode_upper16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize__encode_half16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize__encode_half16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_integer8_to_float32__dequantize__encode_half16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_integer8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_integer8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_integer8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize_uniform_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize_elementwise_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize_runs_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize__encode_upper16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize__encode_upper16_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize__encode_upper16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize__encode_upper16_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize__encode_upper16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize__encode_upper16_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize__encode_half16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize__encode_half16_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize__encode_half16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize__encode_half16_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode8__dequantize__encode_half16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_float8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode8__dequantize__encode_half16_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_float8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_float8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize_uniform_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize_elementwise_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize_runs_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize__encode_upper16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize__encode_upper16_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize__encode_upper16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize__encode_upper16_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize__encode_upper16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize__encode_upper16_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize__encode_half16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize__encode_half16_uniform(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize__encode_half16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize__encode_half16_elementwise(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_decode_ieee8__dequantize__encode_half16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_ieee8(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    if not (decoder.fits and target.fits):
        fused_decode_ieee8__dequantize__encode_half16_runs(s, d, n, remaining, scales, params)
        return
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 8, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_ieee8(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_ieee8(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize_uniform_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize_elementwise_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize_runs_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize__encode_upper16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize__encode_upper16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize__encode_upper16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize__encode_half16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize__encode_half16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__integer8_to_float32__dequantize__encode_half16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_integer(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_packed_integer(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_packed_integer(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize_uniform_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize_elementwise_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize_runs_avx512(
    uint8_t_source s, uint32_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 32, at, 64, n, remaining,
            )
            store_float32(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_float32(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize__encode_upper16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize__encode_upper16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize__encode_upper16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_upper16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_upper16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize__encode_half16_uniform_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_UNIFORM, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_UNIFORM, False,
                multiply_group(SCALE_UNIFORM, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_UNIFORM, False,
            multiply_group(SCALE_UNIFORM, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize__encode_half16_elementwise_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_ELEMENTWISE, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_ELEMENTWISE, False,
                multiply_group(SCALE_ELEMENTWISE, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_ELEMENTWISE, False,
            multiply_group(SCALE_ELEMENTWISE, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

cdef void fused_unpack4__decode8__dequantize__encode_half16_runs_avx512(
    uint8_t_source s, uint16_t_output d, Py_ssize_t n, remaining_t remaining,
    const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef lp_decoder decoder = decoder_of_packed_float(params)
    cdef lp_target target = target_of_float32(params)
    cdef lp_factors factors
    cdef Py_ssize_t block, first, at
    factors_of(
        &factors, SCALE_RUNS, False, scales.scale, scales.zero, scales.reciprocal, scales.offset,
        scales.run_shift,
    )
    for block in range(block_count(n, RUNS_BLOCK)):
        first = block * RUNS_BLOCK
        for at in range(first, min(first + RUNS_BLOCK, n - 63), 64):
            prefetch_bits(
                s, 4, d, 16, at, 64, n, remaining,
            )
            store_half16(
                SCALE_RUNS, False,
                multiply_group(SCALE_RUNS, load_packed_float(s, at, 64, &decoder), &factors, at, 64),
                &factors, d, at, 64, &target,
            )
    if n % 64 != 0:
        at = n - n % 64
        store_half16(
            SCALE_RUNS, False,
            multiply_group(SCALE_RUNS, load_packed_float(s, at, n % 64, &decoder), &factors, at, n % 64),
            &factors, d, at, n % 64, &target,
        )

LOOPS.update({
    "decode8": <size_t>&fused_decode8_avx512,
    "decode_ieee8": <size_t>&fused_decode_ieee8_avx512,
    "encode_upper16": <size_t>&fused_encode_upper16_avx512,
    "encode_half16": <size_t>&fused_encode_half16_avx512,
})
FUSED_LOOPS.update({
    "encode8.pack4": <size_t>&fused_encode8__pack4_avx512,
    "decode_upper16.encode_half16": <size_t>&fused_decode_upper16__encode_half16_avx512,
    "decode_half16.encode8": <size_t>&fused_decode_half16__encode8_avx512,
    "decode_half16.encode8.pack4": <size_t>&fused_decode_half16__encode8__pack4_avx512,
    "decode_half16.encode_upper16": <size_t>&fused_decode_half16__encode_upper16_avx512,
    "decode8.encode8": <size_t>&fused_decode8__encode8_avx512,
    "decode8.encode8.pack4": <size_t>&fused_decode8__encode8__pack4_avx512,
    "decode8.encode_half16": <size_t>&fused_decode8__encode_half16_avx512,
    "decode_ieee8.encode8": <size_t>&fused_decode_ieee8__encode8_avx512,
    "decode_ieee8.encode8.pack4": <size_t>&fused_decode_ieee8__encode8__pack4_avx512,
    "decode_ieee8.encode_half16": <size_t>&fused_decode_ieee8__encode_half16_avx512,
    "integer8_to_float32.encode8": <size_t>&fused_integer8_to_float32__encode8_avx512,
    "integer8_to_float32.encode8.pack4": <size_t>&fused_integer8_to_float32__encode8__pack4_avx512,
    "integer8_to_float32.encode_half16": <size_t>&fused_integer8_to_float32__encode_half16_avx512,
    "integer8_to_float32.encode_upper16": <size_t>&fused_integer8_to_float32__encode_upper16_avx512,
    "unpack4.decode8": <size_t>&fused_unpack4__decode8_avx512,
    "unpack4.decode8.encode8": <size_t>&fused_unpack4__decode8__encode8_avx512,
    "unpack4.decode8.encode8.pack4": <size_t>&fused_unpack4__decode8__encode8__pack4_avx512,
    "unpack4.decode8.encode_half16": <size_t>&fused_unpack4__decode8__encode_half16_avx512,
    "unpack4.integer8_to_float32": <size_t>&fused_unpack4__integer8_to_float32_avx512,
    "unpack4.integer8_to_float32.encode8": <size_t>&fused_unpack4__integer8_to_float32__encode8_avx512,
    "unpack4.integer8_to_float32.encode8.pack4": <size_t>&fused_unpack4__integer8_to_float32__encode8__pack4_avx512,
    "unpack4.integer8_to_float32.encode_half16": <size_t>&fused_unpack4__integer8_to_float32__encode_half16_avx512,
    "unpack4.integer8_to_float32.encode_upper16": <size_t>&fused_unpack4__integer8_to_float32__encode_upper16_avx512,
})
FUSED_SCALE_LOOPS.update({
    "quantize32_to8": (
        <size_t>&fused_quantize32_to8_uniform_avx512,
        <size_t>&fused_quantize32_to8_elementwise_avx512,
        <size_t>&fused_quantize32_to8_runs_avx512,
    ),
    "divide_encode8": (
        <size_t>&fused_divide_encode8_uniform_avx512,
        <size_t>&fused_divide_encode8_elementwise_avx512,
        <size_t>&fused_divide_encode8_runs_avx512,
    ),
    "decode_upper16.quantize32_to8": (
        <size_t>&fused_decode_upper16__quantize32_to8_uniform_avx512,
        <size_t>&fused_decode_upper16__quantize32_to8_elementwise_avx512,
        <size_t>&fused_decode_upper16__quantize32_to8_runs_avx512,
    ),
    "decode_upper16.divide_encode8": (
        <size_t>&fused_decode_upper16__divide_encode8_uniform_avx512,
        <size_t>&fused_decode_upper16__divide_encode8_elementwise_avx512,
        <size_t>&fused_decode_upper16__divide_encode8_runs_avx512,
    ),
    "decode_half16.quantize32_to8": (
        <size_t>&fused_decode_half16__quantize32_to8_uniform_avx512,
        <size_t>&fused_decode_half16__quantize32_to8_elementwise_avx512,
        <size_t>&fused_decode_half16__quantize32_to8_runs_avx512,
    ),
    "decode_half16.divide_encode8": (
        <size_t>&fused_decode_half16__divide_encode8_uniform_avx512,
        <size_t>&fused_decode_half16__divide_encode8_elementwise_avx512,
        <size_t>&fused_decode_half16__divide_encode8_runs_avx512,
    ),
    "decode_upper16.divide.round_to_upper16.round_saturate8": (
        <size_t>&fused_decode_upper16__divide__round_to_upper16__round_saturate8_uniform_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__round_saturate8_elementwise_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__round_saturate8_runs_avx512,
    ),
    "decode_upper16.divide.round_to_upper16.encode8": (
        <size_t>&fused_decode_upper16__divide__round_to_upper16__encode8_uniform_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__encode8_elementwise_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__encode8_runs_avx512,
    ),
    "decode_half16.divide.round_to_precision.round_saturate8": (
        <size_t>&fused_decode_half16__divide__round_to_precision__round_saturate8_uniform_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__round_saturate8_elementwise_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__round_saturate8_runs_avx512,
    ),
    "decode_half16.divide.round_to_precision.encode8": (
        <size_t>&fused_decode_half16__divide__round_to_precision__encode8_uniform_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__encode8_elementwise_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__encode8_runs_avx512,
    ),
    "quantize32_to8.pack4": (
        <size_t>&fused_quantize32_to8__pack4_uniform_avx512,
        <size_t>&fused_quantize32_to8__pack4_elementwise_avx512,
        <size_t>&fused_quantize32_to8__pack4_runs_avx512,
    ),
    "divide_encode8.pack4": (
        <size_t>&fused_divide_encode8__pack4_uniform_avx512,
        <size_t>&fused_divide_encode8__pack4_elementwise_avx512,
        <size_t>&fused_divide_encode8__pack4_runs_avx512,
    ),
    "decode_upper16.quantize32_to8.pack4": (
        <size_t>&fused_decode_upper16__quantize32_to8__pack4_uniform_avx512,
        <size_t>&fused_decode_upper16__quantize32_to8__pack4_elementwise_avx512,
        <size_t>&fused_decode_upper16__quantize32_to8__pack4_runs_avx512,
    ),
    "decode_upper16.divide_encode8.pack4": (
        <size_t>&fused_decode_upper16__divide_encode8__pack4_uniform_avx512,
        <size_t>&fused_decode_upper16__divide_encode8__pack4_elementwise_avx512,
        <size_t>&fused_decode_upper16__divide_encode8__pack4_runs_avx512,
    ),
    "decode_half16.quantize32_to8.pack4": (
        <size_t>&fused_decode_half16__quantize32_to8__pack4_uniform_avx512,
        <size_t>&fused_decode_half16__quantize32_to8__pack4_elementwise_avx512,
        <size_t>&fused_decode_half16__quantize32_to8__pack4_runs_avx512,
    ),
    "decode_half16.divide_encode8.pack4": (
        <size_t>&fused_decode_half16__divide_encode8__pack4_uniform_avx512,
        <size_t>&fused_decode_half16__divide_encode8__pack4_elementwise_avx512,
        <size_t>&fused_decode_half16__divide_encode8__pack4_runs_avx512,
    ),
    "decode_upper16.divide.round_to_upper16.round_saturate8.pack4": (
        <size_t>&fused_decode_upper16__divide__round_to_upper16__round_saturate8__pack4_uniform_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__round_saturate8__pack4_elementwise_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__round_saturate8__pack4_runs_avx512,
    ),
    "decode_upper16.divide.round_to_upper16.encode8.pack4": (
        <size_t>&fused_decode_upper16__divide__round_to_upper16__encode8__pack4_uniform_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__encode8__pack4_elementwise_avx512,
        <size_t>&fused_decode_upper16__divide__round_to_upper16__encode8__pack4_runs_avx512,
    ),
    "decode_half16.divide.round_to_precision.round_saturate8.pack4": (
        <size_t>&fused_decode_half16__divide__round_to_precision__round_saturate8__pack4_uniform_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__round_saturate8__pack4_elementwise_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__round_saturate8__pack4_runs_avx512,
    ),
    "decode_half16.divide.round_to_precision.encode8.pack4": (
        <size_t>&fused_decode_half16__divide__round_to_precision__encode8__pack4_uniform_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__encode8__pack4_elementwise_avx512,
        <size_t>&fused_decode_half16__divide__round_to_precision__encode8__pack4_runs_avx512,
    ),
    "integer8_to_float32.dequantize": (
        <size_t>&fused_integer8_to_float32__dequantize_uniform_avx512,
        <size_t>&fused_integer8_to_float32__dequantize_elementwise_avx512,
        <size_t>&fused_integer8_to_float32__dequantize_runs_avx512,
    ),
    "integer8_to_float32.dequantize.encode_upper16": (
        <size_t>&fused_integer8_to_float32__dequantize__encode_upper16_uniform_avx512,
        <size_t>&fused_integer8_to_float32__dequantize__encode_upper16_elementwise_avx512,
        <size_t>&fused_integer8_to_float32__dequantize__encode_upper16_runs_avx512,
    ),
    "integer8_to_float32.dequantize.encode_half16": (
        <size_t>&fused_integer8_to_float32__dequantize__encode_half16_uniform_avx512,
        <size_t>&fused_integer8_to_float32__dequantize__encode_half16_elementwise_avx512,
        <size_t>&fused_integer8_to_float32__dequantize__encode_half16_runs_avx512,
    ),
    "decode8.dequantize": (
        <size_t>&fused_decode8__dequantize_uniform_avx512,
        <size_t>&fused_decode8__dequantize_elementwise_avx512,
        <size_t>&fused_decode8__dequantize_runs_avx512,
    ),
    "decode8.dequantize.encode_upper16": (
        <size_t>&fused_decode8__dequantize__encode_upper16_uniform_avx512,
        <size_t>&fused_decode8__dequantize__encode_upper16_elementwise_avx512,
        <size_t>&fused_decode8__dequantize__encode_upper16_runs_avx512,
    ),
    "decode8.dequantize.encode_half16": (
        <size_t>&fused_decode8__dequantize__encode_half16_uniform_avx512,
        <size_t>&fused_decode8__dequantize__encode_half16_elementwise_avx512,
        <size_t>&fused_decode8__dequantize__encode_half16_runs_avx512,
    ),
    "decode_ieee8.dequantize": (
        <size_t>&fused_decode_ieee8__dequantize_uniform_avx512,
        <size_t>&fused_decode_ieee8__dequantize_elementwise_avx512,
        <size_t>&fused_decode_ieee8__dequantize_runs_avx512,
    ),
    "decode_ieee8.dequantize.encode_upper16": (
        <size_t>&fused_decode_ieee8__dequantize__encode_upper16_uniform_avx512,
        <size_t>&fused_decode_ieee8__dequantize__encode_upper16_elementwise_avx512,
        <size_t>&fused_decode_ieee8__dequantize__encode_upper16_runs_avx512,
    ),
    "decode_ieee8.dequantize.encode_half16": (
        <size_t>&fused_decode_ieee8__dequantize__encode_half16_uniform_avx512,
        <size_t>&fused_decode_ieee8__dequantize__encode_half16_elementwise_avx512,
        <size_t>&fused_decode_ieee8__dequantize__encode_half16_runs_avx512,
    ),
    "unpack4.integer8_to_float32.dequantize": (
        <size_t>&fused_unpack4__integer8_to_float32__dequantize_uniform_avx512,
        <size_t>&fused_unpack4__integer8_to_float32__dequantize_elementwise_avx512,
        <size_t>&fused_unpack4__integer8_to_float32__dequantize_runs_avx512,
    ),
    "unpack4.integer8_to_float32.dequantize.encode_upper16": (
        <size_t>&fused_unpack4__integer8_to_float32__dequantize__encode_upper16_uniform_avx512,
        <size_t>&fused_unpack4__integer8_to_float32__dequantize__encode_upper16_elementwise_avx512,
        <size_t>&fused_unpack4__integer8_to_float32__dequantize__encode_upper16_runs_avx512,
    ),
    "unpack4.integer8_to_float32.dequantize.encode_half16": (
        <size_t>&fused_unpack4__integer8_to_float32__dequantize__encode_half16_uniform_avx512,
        <size_t>&fused_unpack4__integer8_to_float32__dequantize__encode_half16_elementwise_avx512,
        <size_t>&fused_unpack4__integer8_to_float32__dequantize__encode_half16_runs_avx512,
    ),
    "unpack4.decode8.dequantize": (
        <size_t>&fused_unpack4__decode8__dequantize_uniform_avx512,
        <size_t>&fused_unpack4__decode8__dequantize_elementwise_avx512,
        <size_t>&fused_unpack4__decode8__dequantize_runs_avx512,
    ),
    "unpack4.decode8.dequantize.encode_upper16": (
        <size_t>&fused_unpack4__decode8__dequantize__encode_upper16_uniform_avx512,
        <size_t>&fused_unpack4__decode8__dequantize__encode_upper16_elementwise_avx512,
        <size_t>&fused_unpack4__decode8__dequantize__encode_upper16_runs_avx512,
    ),
    "unpack4.decode8.dequantize.encode_half16": (
        <size_t>&fused_unpack4__decode8__dequantize__encode_half16_uniform_avx512,
        <size_t>&fused_unpack4__decode8__dequantize__encode_half16_elementwise_avx512,
        <size_t>&fused_unpack4__decode8__dequantize__encode_half16_runs_avx512,
    ),
})
