# The entry point of the error statistics of codes that have scales.

def compare_scaled(
    Program load, Program back not None, const uint8_t[::1] src, const uint8_t[::1] codes, Py_ssize_t n,
    Operands operands not None, float low, float high,
):
    """Return the error statistics of `n` elements of `src` that became `codes`, on one thread.

    `load` makes float32 values of the source, None where it holds them; `back` makes them of codes and float32 scales.
    The tuple is what `compare` returns; the number after it counts elements whose finite quotient by the scale lies
    below `low` or above `high`, with `low` <= 0 <= `high`.
    """
    cdef seen_t seen = no_elements()
    cdef lp_mode mode
    cdef const steps_t *before = NULL
    cdef int src_bits = 32 if load is None else load.steps.src_bits
    cdef int bits = back.steps.src_bits
    if n < 1 or n > 0x7fffffff or src.shape[0] < (n * src_bits + 7) // 8 or codes.shape[0] < (n * bits + 7) // 8:
        raise ValueError(f"`src` and `codes` must hold {n} elements; got {src.shape[0]} and {codes.shape[0]} bytes")
    if load is not None and load.steps.dst_bits != 32 or back.steps.dst_bits != 32 or operands.view.scale_item != 4:
        raise ValueError("the programs and the scales must fit each other")
    if not low <= 0 <= high:
        raise ValueError(f"`low` and `high` must be a range that holds 0; got {low} and {high}")
    check_operands(back, operands)
    if load is not None:
        check_operands(load, None)
        before = &load.steps
    with nogil:
        mode = lp_mode_enter()
        compare_tiles(before, &back.steps, &src[0], &codes[0], n, &operands.view, low, high, &seen)
        lp_mode_leave(mode)
    return as_tuple(seen), seen.saturated


cdef const uint8_t *tile_of(
    const uint8_t *memory, Py_ssize_t start, Py_ssize_t count, int bits, uint64_t *tile,
) noexcept nogil:
    # Elements at the alignment of their C type: where they are, or copied to a tile.
    memory += start * bits // 8
    if fits(memory, bits):
        return memory
    memcpy(tile, memory, count * bits // 8)
    return <const uint8_t *>tile


cdef void compare_tiles(
    const steps_t *load, const steps_t *back, const uint8_t *src, const uint8_t *codes, Py_ssize_t n,
    const operands_t *operands, float low, float high, seen_t *seen,
) noexcept nogil:
    cdef tiles_t *tiles = thread_tiles()
    cdef bint runs = reads_runs(back)
    cdef int src_bits = 32 if load == NULL else load.src_bits
    cdef const uint8_t *here
    cdef const float *x
    cdef scales_t scales
    cdef place_t at
    cdef remaining_t none
    cdef Py_ssize_t tile, start, count
    none.src = none.dst = 0
    for tile in range((n + TILE - 1) // TILE):
        start = tile * TILE
        count = min(<Py_ssize_t>TILE, n - start)
        at = place_of(operands, start)
        scales = locate_scales(operands, &at, count, runs, tiles)
        here = tile_of(src, start, count, src_bits, tiles.gathered)
        x = <const float *>here
        if load != NULL:
            x = tiles.values
            run_loops(load, here, tiles.values, 0, count, none, NULL, tiles)
        here = tile_of(codes, start, count, back.src_bits, tiles.converted)
        if back.fused != NO_LOOP and not back.multiplies:
            scales.zero = scales.zero if operands.zero != NULL else NULL
            fused_scale_loops[scales.mode][back.fused](here, tiles.again, count, none, &scales, &back.params)
        else:
            run_loops(back, here, tiles.again, 0, count, none, &scales, tiles)
        compare_in_use(x, tiles.again, count, &scales, low, high, seen)
