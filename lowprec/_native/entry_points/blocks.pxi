# GGUF, MX and NVFP4 blocks of arrays.
cdef enum:
    BLOCK = 32  # elements of a block


cdef int find_blocks(str kind, Py_ssize_t n, Py_ssize_t size) except -1:
    # The number of a type in the table; `size` bytes must be those of `n` elements.
    if kind not in block_index:
        raise ValueError(f"`kind` must be one of {', '.join(block_index)}; got {kind!r}")
    cdef int index = block_index[kind]
    if n < 0 or n % BLOCK or size != n // BLOCK * blocks_in_use[index].nbytes:
        raise ValueError(f"`blocks` must hold {n} elements, whole blocks; got {size} bytes")
    return index


cdef int check_load(Program load, Py_ssize_t n, Py_ssize_t size) except -1:
    cdef int bits = 32 if load is None else load.steps.src_bits
    if size != n * bits // 8 or load is not None and load.steps.dst_bits != 32:
        raise ValueError(f"`src` must hold {n} elements, which `load` makes float32; got {size} bytes")
    if load is not None:
        check_operands(load, None)
    return 0


cdef inline const float *load_tile(
    const steps_t *load, const uint8_t *src, Py_ssize_t start, Py_ssize_t count, tiles_t *tiles,
) noexcept nogil:
    # The float32 values of up to a tile of elements: where they are, or in a tile.
    cdef remaining_t none
    none.src = none.dst = 0
    if load == NULL:
        return <const float *>tile_of(src, start, count, 32, <uint64_t *>tiles.values)
    run_loops(
        load, tile_of(src, start, count, load.src_bits, tiles.gathered), tiles.values, 0, count, none, NULL, tiles,
    )
    return tiles.values


def encode_blocks(str kind not None, Program load, const uint8_t[::1] src, uint8_t[::1] blocks, Py_ssize_t n) -> None:
    """Write the blocks of `n` finite elements, on one thread; `load` makes them float32, None where they are."""
    cdef block_loops_t one = blocks_in_use[find_blocks(kind, n, blocks.shape[0])]
    cdef const steps_t *before = NULL
    cdef const uint8_t *s
    cdef uint8_t *d
    cdef tiles_t *tiles
    cdef lp_mode mode
    cdef Py_ssize_t tile, start, count
    check_load(load, n, src.shape[0])
    if one.encode == NULL:
        raise ValueError(f"`kind` must be a type that is written; got {kind!r}")
    if n == 0:
        return
    s = &src[0]
    d = &blocks[0]
    if load is not None:
        before = &load.steps
    with nogil:
        mode = lp_mode_enter()
        tiles = thread_tiles()
        for tile in range((n + TILE - 1) // TILE):
            start = tile * TILE
            count = min(<Py_ssize_t>TILE, n - start)
            one.encode(load_tile(before, s, start, count, tiles), d + start // BLOCK * one.nbytes, count // BLOCK)
        lp_mode_leave(mode)


def decode_blocks(str kind not None, const uint8_t[::1] blocks, uint8_t[::1] out, Py_ssize_t n) -> None:
    """Write the float32 values of the blocks of `n` elements, on one thread."""
    cdef block_loops_t one = blocks_in_use[find_blocks(kind, n, blocks.shape[0])]
    cdef const uint8_t *s
    cdef uint8_t *d
    cdef tiles_t *tiles
    cdef lp_mode mode
    cdef Py_ssize_t tile, start, count
    if out.shape[0] != n * 4:
        raise ValueError(f"`out` must hold {n} elements; got {out.shape[0]} bytes")
    if n == 0:
        return
    s = &blocks[0]
    d = &out[0]
    with nogil:
        mode = lp_mode_enter()
        if fits(d, 32):
            one.decode(s, <float *>d, n // BLOCK)
        else:
            tiles = thread_tiles()
            for tile in range((n + TILE - 1) // TILE):
                start = tile * TILE
                count = min(<Py_ssize_t>TILE, n - start)
                one.decode(s + start // BLOCK * one.nbytes, tiles.again, count // BLOCK)
                memcpy(d + start * 4, tiles.again, count * 4)
        lp_mode_leave(mode)


def compare_blocks(str kind not None, Program load, const uint8_t[::1] src, const uint8_t[::1] blocks, Py_ssize_t n):
    """Return the error statistics of `n` elements of `src` that became `blocks`, on one thread.

    The tuple is what `compare` returns; the number after it counts elements that round beyond the codes of their block.
    """
    cdef seen_t seen = no_elements()
    cdef block_loops_t one = blocks_in_use[find_blocks(kind, n, blocks.shape[0])]
    cdef const steps_t *before = NULL
    cdef const uint8_t *s
    cdef const uint8_t *here
    cdef const float *x
    cdef tiles_t *tiles
    cdef lp_mode mode
    cdef Py_ssize_t tile, start, count
    check_load(load, n, src.shape[0])
    if not 1 <= n <= 0x7fffffff:
        raise ValueError(f"`n` must be from 1 to 2**31 - 1; got {n}")
    s = &src[0]
    here = &blocks[0]
    if load is not None:
        before = &load.steps
    with nogil:
        mode = lp_mode_enter()
        tiles = thread_tiles()
        for tile in range((n + TILE - 1) // TILE):
            start = tile * TILE
            count = min(<Py_ssize_t>TILE, n - start)
            x = load_tile(before, s, start, count, tiles)
            one.decode(here, tiles.again, count // BLOCK)
            compare_in_use(x, tiles.again, count, NULL, 0, 0, &seen)
            if one.beyond != NULL:
                seen.saturated += one.beyond(x, here, count // BLOCK)
            here += count // BLOCK * one.nbytes
        lp_mode_leave(mode)
    return as_tuple(seen), seen.saturated


# The entry point of MX and NVFP4 blocks: scales and elements in one pass over memory, blocks over threads.
cdef extern from "scalar_block_kernels.h" nogil:
    const int32_t TRANSFORMER_ENGINE "LP_TRANSFORMER_ENGINE"
    void start_scales "lp_start_scales" (block_params_t *p, float start) noexcept
    float start_of_scale "lp_start_of_scale" (float scale, const block_params_t *p) noexcept
    float start_of_largest "lp_start_of_largest" (float largest, const block_params_t *p) noexcept
    float scale_of_start "lp_scale_of_start" (float start, const block_params_t *p) noexcept

cdef enum:
    MAGNITUDE = 0x7fffffff
    STRIP = 512  # columns whose blocks are quantized together: their rows stay in the L2 cache

TILE_ELEMENTS = TILE

cdef enum:
    BLOCK_KINDS = 3

cdef find_scales_t block_scales_in_use[BLOCK_KINDS]   # powers of two; quotients that are divisors, or multiplied by
cdef find_codes_t block_codes_in_use[BLOCK_KINDS][3]  # without random bits, with them, to nearest even by adding
cdef clear_codes_t clear_codes_in_use
cdef mark_nan_t mark_nan_in_use
cdef drop_negative_zero_t drop_negative_zero_in_use
cdef to_integers_t to_integers_in_use
cdef raise_columns_t raise_columns_in_use
cdef whole_blocks_t whole_blocks_in_use
cdef block_slots_t block_slots_in_use


cdef void use_block_loops(tier):
    global clear_codes_in_use, mark_nan_in_use, drop_negative_zero_in_use, to_integers_in_use, raise_columns_in_use
    global whole_blocks_in_use, block_slots_in_use
    for kind in range(BLOCK_KINDS):
        scales, *codes = tier.BLOCK_QUANTIZERS[kind]
        block_scales_in_use[kind] = <find_scales_t><size_t>scales
        for how in range(3):
            block_codes_in_use[kind][how] = <find_codes_t><size_t>codes[how]
    clear, mark, drop, integers, columns = tier.BLOCK_REPAIRS
    clear_codes_in_use = <clear_codes_t><size_t>clear
    mark_nan_in_use = <mark_nan_t><size_t>mark
    drop_negative_zero_in_use = <drop_negative_zero_t><size_t>drop
    to_integers_in_use = <to_integers_t><size_t>integers
    raise_columns_in_use = <raise_columns_t><size_t>columns
    whole_blocks_in_use = <whole_blocks_t><size_t>tier.WHOLE_BLOCKS
    block_slots_in_use = <block_slots_t><size_t>tier.BLOCK_SLOTS


cdef struct block_steps_t:
    block_params_t params
    int kind               # of the scales, as in block_scales_in_use
    bint ignores           # NaN and Inf do not count; NaN has a code of its own
    bint is_random
    int how                # of block_codes_in_use
    bint integers          # codes are two's complement
    bint whole             # the loop over whole blocks may have these elements
    int negative_zero      # a code that becomes 0; -1: none
    int pack               # the loop that packs codes, or NO_LOOP
    int bits               # of an element in memory
    int group              # elements that fill whole bytes


cdef struct block_job_t:
    const block_steps_t *steps
    const steps_t *load    # NULL: float32
    const uint8_t *src
    uint8_t *elements
    uint8_t *scales
    Py_ssize_t length      # of an axis of blocks, and what follows it
    Py_ssize_t inner
    Py_ssize_t block
    Py_ssize_t blocks      # along the axis
    stream_t stream


cdef class BlockProgram:
    """The loops and the parameters of one block quantization."""

    cdef block_steps_t steps

    def __init__(
        self, dict params, *, int kind, bint ignores, bint is_random, bint by_adding, bint integers,
        int negative_zero, str pack, int bits, int group,
    ):
        memset(&self.steps, 0, sizeof(block_steps_t))
        cdef dict values = self.steps.params
        if params.keys() != values.keys():
            different = sorted(params.keys() ^ values.keys())
            raise ValueError(f"`params` must be the fields of block_params_t; got {different}")
        self.steps.params = params
        if not 0 <= kind < BLOCK_KINDS:
            raise ValueError(f"`kind` must be that of a rule of scales; got {kind}")
        self.steps.kind = kind
        self.steps.ignores, self.steps.is_random, self.steps.integers = ignores, is_random, integers
        self.steps.how = 1 if is_random else 2 if by_adding else 0
        self.steps.negative_zero = negative_zero
        self.steps.pack = loop_index[pack] if pack is not None else NO_LOOP
        self.steps.bits, self.steps.group = bits, group
        self.steps.whole = pack in (None, "pack4")


cdef void write_codes(
    const block_job_t *job, const float *x, const float *factors, Py_ssize_t start, Py_ssize_t n, bint clears,
    tiles_t *tiles,
) noexcept nogil:
    # The codes of `n` elements, up to a tile, from the one with the number `start` on.
    cdef const block_steps_t *steps = job.steps
    cdef uint8_t *codes = job.elements + start if steps.pack == NO_LOOP else <uint8_t *>tiles.converted
    cdef remaining_t none
    none.src = none.dst = 0
    if steps.is_random:
        block_slots_in_use(
            job.stream.position + start, job.stream.seed, steps.params.slot_bits, tiles.zero, n)
    block_codes_in_use[steps.kind][steps.how](
        <const uint32_t *>x, factors, tiles.zero, codes, n, &steps.params)
    if steps.negative_zero >= 0:
        drop_negative_zero_in_use(codes, n, <uint8_t>steps.negative_zero)
    if steps.ignores:
        mark_nan_in_use(<const uint32_t *>x, codes, n, &steps.params)
    if steps.integers:
        to_integers_in_use(codes, n)
    if clears:
        clear_codes_in_use(factors, codes, n)
    if steps.pack != NO_LOOP:
        loops[steps.pack](codes, job.elements + start * steps.bits // 8, n, none, NULL)


cdef int32_t largest_of_block(const block_job_t *job, Py_ssize_t start, Py_ssize_t n, tiles_t *tiles) noexcept nogil:
    # The largest magnitude of a block that does not fit a tile.
    cdef int32_t part = 0
    cdef int32_t largest = 0
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t count
    while done < n:
        count = min(<Py_ssize_t>TILE, n - done)
        ranges_in_use[2][0](
            load_tile(job.load, job.src, start + done, count, tiles), count, 1, TILE, MAGNITUDE, job.steps.params.last,
            NULL, &part)
        largest = max(largest, part)
        done += count
    return largest


cdef Py_ssize_t quantize_whole(
    const block_job_t *job, Py_ssize_t outer, Py_ssize_t first, Py_ssize_t count, tiles_t *tiles,
) noexcept nogil:
    # Whole blocks of one row, up to `count` from the one with the number `first` on: how many.
    cdef const block_steps_t *steps = job.steps
    cdef Py_ssize_t start = outer * job.length + first * job.block
    cdef Py_ssize_t ahead = 0
    cdef const float *x
    count = min(count, job.length // job.block - first)
    if not steps.whole or count < 1:
        return 0
    if job.load == NULL and fits(job.src, 32):
        x = <const float *>job.src + start
        ahead = (outer + 1) * job.length - start
    else:
        count = min(count, TILE // job.block)
        x = load_tile(job.load, job.src, start, count * job.block, tiles)
    return whole_blocks_in_use(
        x, job.scales + outer * job.blocks + first, job.elements + start * steps.bits // 8, count, ahead, steps.kind,
        job.block, steps.pack != NO_LOOP, steps.integers, steps.negative_zero, job.stream.seed,
        job.stream.position + start, &steps.params)


cdef void quantize_row(
    const block_job_t *job, Py_ssize_t outer, Py_ssize_t first, Py_ssize_t count,
) noexcept nogil:
    # Blocks of elements that follow each other: `count` from the one with the number `first` on, in one row.
    cdef const block_steps_t *steps = job.steps
    cdef tiles_t *tiles = thread_tiles()
    cdef int32_t *largest = <int32_t *>tiles.scale
    cdef Py_ssize_t block = job.block
    cdef Py_ssize_t step = max(<Py_ssize_t>1, TILE // block // steps.group * steps.group)
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t start, n, here, part, whole
    cdef const float *x = NULL
    cdef bint clears
    while done < count:
        here = first + done
        whole = quantize_whole(job, outer, here, count - done, tiles)
        done += whole
        if whole > 0:
            continue
        start = outer * job.length + here * block
        n = outer * job.length + min(job.length, min(here + step, first + count) * block) - start
        if n <= TILE:
            x = load_tile(job.load, job.src, start, n, tiles)
            ranges_in_use[2][0](x, n, 1, block, MAGNITUDE, steps.params.last, NULL, largest)
        else:
            largest[0] = largest_of_block(job, start, n, tiles)
        clears = block_scales_in_use[steps.kind](
            largest, job.scales + outer * job.blocks + here, tiles.reciprocal, (n + block - 1) // block, &steps.params)
        repeat_in_use[0](tiles.reciprocal, tiles.each_reciprocal, min(<Py_ssize_t>TILE, n), 0, block)
        part = 0
        while part < n:
            if n > TILE:
                x = load_tile(job.load, job.src, start + part, min(<Py_ssize_t>TILE, n - part), tiles)
            write_codes(job, x, tiles.each_reciprocal, start + part, min(<Py_ssize_t>TILE, n - part), clears, tiles)
            part += TILE
        done += step


cdef void quantize_strip(
    const block_job_t *job, Py_ssize_t outer, Py_ssize_t index, Py_ssize_t column,
) noexcept nogil:
    # One block of each of some columns: the rows of the blocks with the number `index`.
    cdef const block_steps_t *steps = job.steps
    cdef tiles_t *tiles = thread_tiles()
    cdef int32_t *largest = <int32_t *>tiles.scale
    cdef Py_ssize_t width = min(<Py_ssize_t>STRIP, job.inner - column)
    cdef Py_ssize_t row = outer * job.length + index * job.block
    cdef Py_ssize_t end = outer * job.length + min(job.length, (index + 1) * job.block)
    cdef Py_ssize_t here
    cdef const float *x
    cdef bint clears
    memset(largest, 0, width * sizeof(int32_t))
    for here in range(row, end):
        x = load_tile(job.load, job.src, here * job.inner + column, width, tiles)
        raise_columns_in_use(<const int32_t *>x, largest, width, steps.params.last)
    clears = block_scales_in_use[steps.kind](
        largest, job.scales + (outer * job.blocks + index) * job.inner + column, tiles.reciprocal, width, &steps.params)
    for here in range(row, end):
        x = load_tile(job.load, job.src, here * job.inner + column, width, tiles)
        write_codes(job, x, tiles.reciprocal, here * job.inner + column, width, clears, tiles)


cdef int quantize_memory(
    BlockProgram program, Program load, const uint8_t *src, Py_ssize_t src_size, uint8_t *elements,
    Py_ssize_t elements_size, uint8_t *scales, Py_ssize_t scales_size, Py_ssize_t outer, Py_ssize_t length,
    Py_ssize_t inner, Py_ssize_t block, float start, stream_t stream, int n_threads,
) except -1:
    cdef block_steps_t steps = program.steps
    cdef block_job_t job
    cdef lp_mode mode
    cdef Py_ssize_t blocks, parts, part, step, strips
    if min(outer, length, inner, block) < 1:
        raise ValueError("a shape and a block must have positive lengths")
    check_load(load, outer * length * inner, src_size)
    blocks = (length + block - 1) // block
    if inner == 1 and length % block == 0:
        outer, length, blocks = 1, outer * length, outer * blocks
    if scales_size != outer * blocks * inner or elements_size != (outer * length * inner * steps.bits + 7) // 8:
        raise ValueError(f"`elements` and `scales` must fit; got {elements_size} and {scales_size} bytes")
    whole = inner % steps.group == 0 if inner > 1 else (
        (outer == 1 or length % steps.group == 0) and (block % steps.group == 0 or block * steps.group <= TILE))
    if not whole:
        raise ValueError("packed elements must begin with a byte wherever a row of blocks does")
    mode = lp_mode_enter()
    start_scales(&steps.params, start)
    lp_mode_leave(mode)
    job.steps = &steps
    job.load = NULL if load is None else &load.steps
    job.src, job.elements, job.scales = src, elements, scales
    job.length, job.inner, job.block, job.blocks = length, inner, block, blocks
    job.stream = stream
    if inner == 1:
        step = max(<Py_ssize_t>1, CHUNK // block) // steps.group * steps.group
        step = max(<Py_ssize_t>steps.group, step)
        parts = (blocks + step - 1) // step
        with nogil:
            for part in prange(outer * parts, schedule="static", num_threads=max(1, min(n_threads, outer * parts))):
                mode = lp_mode_enter()
                quantize_row(&job, part // parts, part % parts * step, min(step, blocks - part % parts * step))
                lp_mode_leave(mode)
    else:
        strips = (inner + STRIP - 1) // STRIP
        parts = outer * blocks * strips
        with nogil:
            for part in prange(parts, schedule="static", num_threads=max(1, min(n_threads, parts))):
                mode = lp_mode_enter()
                quantize_strip(&job, part // strips // blocks, part // strips % blocks, part % strips * STRIP)
                lp_mode_leave(mode)
    return 0


def quantize_blocks(
    BlockProgram program not None, Program load, const uint8_t[::1] src not None, uint8_t[::1] elements not None,
    uint8_t[::1] scales not None, Py_ssize_t outer, Py_ssize_t length, Py_ssize_t inner, Py_ssize_t block,
    float start, uint64_t seed, uint64_t offset, int n_threads,
) -> None:
    """Write the elements and the scales of dense values of shape (outer, length, inner), blocks along the middle axis.

    `load` makes float32 values, None where they are. Packed elements must begin with a byte wherever a row of blocks
    does; `start` is what a rule of scales that are quotients starts from, a global scale or its inverse.
    """
    quantize_memory(
        program, load, &src[0] if src.shape[0] else NULL, src.shape[0], &elements[0] if elements.shape[0] else NULL,
        elements.shape[0], &scales[0] if scales.shape[0] else NULL, scales.shape[0], outer, length, inner, block,
        start, stream_t(seed, offset), n_threads,
    )
