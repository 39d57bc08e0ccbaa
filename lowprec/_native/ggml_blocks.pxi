# The entry points of blocks: blocks from values, values of blocks, and the error statistics of values and their blocks.

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
