# The tables of loops: name -> address. Programs name loops so, and CUDA functions have these names.

LOOPS = {
    "decode8": <size_t>&decode[uint8_t],
    "decode16": <size_t>&decode[uint16_t],
    "decode_ieee8": <size_t>&decode_ieee[uint8_t],
    "decode_ieee16": <size_t>&decode_ieee[uint16_t],
    "decode_half16": <size_t>&decode_half16,
    "decode8_to16": <size_t>&decode8_to16,
    "decode_ieee8_to16": <size_t>&decode_ieee8_to16,
    "decode_upper16": <size_t>&decode_upper16,
    "decode_power8": <size_t>&decode_power8,
    "integer8_to_float32": <size_t>&integer8_to_float32,
    "integer16_to_float32": <size_t>&integer16_to_float32,
    "int32_to_float64": <size_t>&int32_to_float64,
    "uint32_to_float64": <size_t>&uint32_to_float64,
    "int64_to_float64": <size_t>&int64_to_float64,
    "uint64_to_float64": <size_t>&uint64_to_float64,
    "int64_to_float64_odd": <size_t>&int64_to_float64_odd,
    "uint64_to_float64_odd": <size_t>&uint64_to_float64_odd,
    "int32_to_float32": <size_t>&integer_to_float32[int32_t],
    "uint32_to_float32": <size_t>&integer_to_float32[uint32_t],
    "int64_to_float32": <size_t>&integer_to_float32[int64_t],
    "uint64_to_float32": <size_t>&integer_to_float32[uint64_t],
    "float64_to_float32_odd": <size_t>&float64_to_float32_odd,
    "float64_to_float32_sticky": <size_t>&float64_to_float32_sticky,
    "float64_to_float32": <size_t>&float64_to_float32,
    "float32_to_float64": <size_t>&float32_to_float64,
    "encode8": <size_t>&encode8_avx512,
    "encode8_from16": <size_t>&encode8_from16_avx512,
    "encode8_from64": <size_t>&encode8_from64_avx512,
    "encode16": <size_t>&encode16,
    "encode_half16": <size_t>&encode_half16,
    "encode_upper16": <size_t>&encode_upper16,
    "encode_power8": <size_t>&encode_power8,
    "round_to_precision": <size_t>&round_to_precision,
    "round_to_upper16": <size_t>&round_to_upper16,
    "pack2": <size_t>&pack2,
    "pack4": <size_t>&pack4_avx512,
    "pack6": <size_t>&pack6,
    "unpack2": <size_t>&unpack2,
    "unpack4": <size_t>&unpack4_avx512,
    "unpack6": <size_t>&unpack6,
    "byteswap16": <size_t>&byteswap16,
    "byteswap32": <size_t>&byteswap32,
    "byteswap64": <size_t>&byteswap64,
    "truncate32_to8": <size_t>&truncate32_to8_avx512,
    "truncate32_to16": <size_t>&truncate[uint16_t],
    "truncate32_to32": <size_t>&truncate[uint32_t],
    "truncate64_to8": <size_t>&truncate64[uint8_t],
    "truncate64_to16": <size_t>&truncate64[uint16_t],
    "truncate64_to32": <size_t>&truncate64[uint32_t],
    "truncate64_to64": <size_t>&truncate64[uint64_t],
    "wrap8_to8": <size_t>&wrap[uint8_t, uint8_t],
    "wrap8_to16": <size_t>&wrap[uint8_t, uint16_t],
    "wrap8_to32": <size_t>&wrap[uint8_t, uint32_t],
    "wrap8_to64": <size_t>&wrap[uint8_t, uint64_t],
    "wrap16_to8": <size_t>&wrap[uint16_t, uint8_t],
    "wrap16_to16": <size_t>&wrap[uint16_t, uint16_t],
    "wrap16_to32": <size_t>&wrap[uint16_t, uint32_t],
    "wrap16_to64": <size_t>&wrap[uint16_t, uint64_t],
    "wrap32_to8": <size_t>&wrap[uint32_t, uint8_t],
    "wrap32_to16": <size_t>&wrap[uint32_t, uint16_t],
    "wrap32_to32": <size_t>&wrap[uint32_t, uint32_t],
    "wrap32_to64": <size_t>&wrap[uint32_t, uint64_t],
    "wrap64_to8": <size_t>&wrap[uint64_t, uint8_t],
    "wrap64_to16": <size_t>&wrap[uint64_t, uint16_t],
    "wrap64_to32": <size_t>&wrap[uint64_t, uint32_t],
    "wrap64_to64": <size_t>&wrap[uint64_t, uint64_t],
    "nonzero8": <size_t>&nonzero[uint8_t],
    "nonzero16": <size_t>&nonzero[uint16_t],
    "nonzero32": <size_t>&nonzero[uint32_t],
    "nonzero64": <size_t>&nonzero[uint64_t],
}

RECIPROCALS = <size_t>&reciprocals if HAS_AVX512 else 0

# The addresses of each are those for SCALE_UNIFORM, SCALE_ELEMENTWISE and SCALE_RUNS; 0: there is none.
SCALE_LOOPS = {
    "quantize32_to16": (<size_t>&quantize_uniform[uint16_t], <size_t>&quantize_elementwise[uint16_t], 0),
    "quantize64_to8": (<size_t>&quantize64_uniform[uint8_t], <size_t>&quantize64_elementwise[uint8_t], 0),
    "quantize64_to16": (<size_t>&quantize64_uniform[uint16_t], <size_t>&quantize64_elementwise[uint16_t], 0),
    "round_saturate8": (<size_t>&round_saturate_uniform[uint8_t], <size_t>&round_saturate_elementwise[uint8_t], 0),
    "round_saturate16": (<size_t>&round_saturate_uniform[uint16_t], <size_t>&round_saturate_elementwise[uint16_t], 0),
    "divide": (<size_t>&divide_uniform, <size_t>&divide_elementwise, 0),
    "divide64": (<size_t>&divide64_uniform, <size_t>&divide64_elementwise, 0),
    "add_zero_point": (<size_t>&add_zero_point_uniform, <size_t>&add_zero_point_elementwise, 0),
}
if HAS_AVX512:
    SCALE_LOOPS["quantize32_to8"] = (
        <size_t>&quantize8_uniform_avx512, <size_t>&quantize8_elementwise_avx512, <size_t>&quantize8_runs_avx512,
    )
    SCALE_LOOPS["divide_encode8"] = (
        <size_t>&divide_encode8_uniform_avx512, <size_t>&divide_encode8_elementwise_avx512,
        <size_t>&divide_encode8_runs_avx512,
    )
    SCALE_LOOPS["dequantize"] = (
        <size_t>&dequantize_uniform, <size_t>&dequantize_elementwise_avx512, <size_t>&dequantize_runs_avx512,
    )
else:
    SCALE_LOOPS["quantize32_to8"] = (<size_t>&quantize_uniform[uint8_t], <size_t>&quantize_elementwise[uint8_t], 0)
    SCALE_LOOPS["divide_encode8"] = (<size_t>&divide_encode8_uniform, <size_t>&divide_encode8_elementwise, 0)
    SCALE_LOOPS["dequantize"] = (<size_t>&dequantize_uniform, <size_t>&dequantize_elementwise, 0)
