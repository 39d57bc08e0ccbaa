# The tables of loops: name -> address, the same names in every instruction set.

TABLE = {
    "decode8": <size_t>&decode[uint8_t],
    "decode16": <size_t>&decode[uint16_t],
    "decode_ieee8": <size_t>&decode_ieee[uint8_t],
    "decode_ieee16": <size_t>&decode_ieee[uint16_t],
    "decode_half16": <size_t>&decode_half16,
    "decode8_to16": <size_t>&decode8_to16,
    "decode_ieee8_to16": <size_t>&decode_ieee8_to16,
    "decode_upper16": <size_t>&decode_upper16,
    "decode_power8": <size_t>&decode_power8,
    "load8": <size_t>&load8,
    "load16": <size_t>&load16,
    "load_int32": <size_t>&load_int32,
    "load_uint32": <size_t>&load_uint32,
    "load_int64": <size_t>&load_int64,
    "load_uint64": <size_t>&load_uint64,
    "sticky_int64": <size_t>&sticky_int64,
    "sticky_uint64": <size_t>&sticky_uint64,
    "single_int32": <size_t>&single[int32_t],
    "single_uint32": <size_t>&single[uint32_t],
    "single_int64": <size_t>&single[int64_t],
    "single_uint64": <size_t>&single[uint64_t],
    "narrow_odd": <size_t>&narrow_odd,
    "narrow_sticky": <size_t>&narrow_sticky,
    "narrow": <size_t>&narrow,
    "widen": <size_t>&widen,
    "encode8": <size_t>&encode8_lanes,
    "encode8_from16": <size_t>&encode8_from16_lanes,
    "encode8_from64": <size_t>&encode8_from64_lanes,
    "encode16": <size_t>&encode16,
    "encode_half16": <size_t>&encode_half16,
    "encode_upper16": <size_t>&encode_upper16,
    "encode_power8": <size_t>&encode_power8,
    "grid": <size_t>&grid,
    "grid_upper": <size_t>&grid_upper,
    "pack2": <size_t>&pack2,
    "pack4": <size_t>&pack4_lanes,
    "pack6": <size_t>&pack6,
    "unpack2": <size_t>&unpack2,
    "unpack4": <size_t>&unpack4_lanes,
    "unpack6": <size_t>&unpack6,
    "swap16": <size_t>&swap16,
    "swap32": <size_t>&swap32,
    "swap64": <size_t>&swap64,
    "truncate8": <size_t>&truncate8_lanes,
    "truncate16": <size_t>&truncate[uint16_t],
    "truncate32": <size_t>&truncate[uint32_t],
    "truncate_wide8": <size_t>&truncate_wide[uint8_t],
    "truncate_wide16": <size_t>&truncate_wide[uint16_t],
    "truncate_wide32": <size_t>&truncate_wide[uint32_t],
    "truncate_wide64": <size_t>&truncate_wide[uint64_t],
    "wrap8_8": <size_t>&wrap[uint8_t, uint8_t],
    "wrap8_16": <size_t>&wrap[uint8_t, uint16_t],
    "wrap8_32": <size_t>&wrap[uint8_t, uint32_t],
    "wrap8_64": <size_t>&wrap[uint8_t, uint64_t],
    "wrap16_8": <size_t>&wrap[uint16_t, uint8_t],
    "wrap16_16": <size_t>&wrap[uint16_t, uint16_t],
    "wrap16_32": <size_t>&wrap[uint16_t, uint32_t],
    "wrap16_64": <size_t>&wrap[uint16_t, uint64_t],
    "wrap32_8": <size_t>&wrap[uint32_t, uint8_t],
    "wrap32_16": <size_t>&wrap[uint32_t, uint16_t],
    "wrap32_32": <size_t>&wrap[uint32_t, uint32_t],
    "wrap32_64": <size_t>&wrap[uint32_t, uint64_t],
    "wrap64_8": <size_t>&wrap[uint64_t, uint8_t],
    "wrap64_16": <size_t>&wrap[uint64_t, uint16_t],
    "wrap64_32": <size_t>&wrap[uint64_t, uint32_t],
    "wrap64_64": <size_t>&wrap[uint64_t, uint64_t],
    "nonzero8": <size_t>&nonzero[uint8_t],
    "nonzero16": <size_t>&nonzero[uint16_t],
    "nonzero32": <size_t>&nonzero[uint32_t],
    "nonzero64": <size_t>&nonzero[uint64_t],
}

INVERT = <size_t>&inverses if HAS_LANES else 0

# Of each three: one scale for all elements, one for each, one for every power of two of them (0: not here).
LINEAR = {
    "quantize16": (<size_t>&quantize_row[uint16_t], <size_t>&quantize_each[uint16_t], 0),
    "quantize_wide8": (<size_t>&quantize_wide_row[uint8_t], <size_t>&quantize_wide_each[uint8_t], 0),
    "quantize_wide16": (<size_t>&quantize_wide_row[uint16_t], <size_t>&quantize_wide_each[uint16_t], 0),
    "place8": (<size_t>&place_row[uint8_t], <size_t>&place_each[uint8_t], 0),
    "place16": (<size_t>&place_row[uint16_t], <size_t>&place_each[uint16_t], 0),
    "divide": (<size_t>&divide_row, <size_t>&divide_each, 0),
    "divide_wide": (<size_t>&divide_wide_row, <size_t>&divide_wide_each, 0),
    "shift": (<size_t>&shift_row, <size_t>&shift_each, 0),
}
if HAS_LANES:
    LINEAR["quantize8"] = (
        <size_t>&quantize8_row_lanes, <size_t>&quantize8_each_lanes, <size_t>&quantize8_runs_lanes,
    )
    LINEAR["divide_encode8"] = (
        <size_t>&divide_encode8_row_lanes, <size_t>&divide_encode8_each_lanes, <size_t>&divide_encode8_runs_lanes,
    )
    LINEAR["multiply"] = (<size_t>&multiply_row, <size_t>&multiply_each_lanes, <size_t>&multiply_runs_lanes)
else:
    LINEAR["quantize8"] = (<size_t>&quantize_row[uint8_t], <size_t>&quantize_each[uint8_t], 0)
    LINEAR["divide_encode8"] = (<size_t>&divide_encode8_row, <size_t>&divide_encode8_each, 0)
    LINEAR["multiply"] = (<size_t>&multiply_row, <size_t>&multiply_each, 0)
