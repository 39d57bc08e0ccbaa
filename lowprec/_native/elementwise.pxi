# The functions and constants of scalar_kernels.h that loops which are written out use.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from lowprec._native.kernel_types cimport params_t

cdef extern from "scalar_kernels.h" nogil:
    float as_float "lp_float" (uint32_t u) noexcept
    uint32_t as_bits "lp_bits" (float f) noexcept
    double as_double "lp_double" (uint64_t u) noexcept
    uint64_t as_double_bits "lp_double_bits" (double d) noexcept
    uint32_t integer_part32 "lp_integer_part32" (uint32_t bits) noexcept
    uint64_t integer_part64 "lp_integer_part64" (uint64_t bits) noexcept
    const uint32_t SIGN "LP_SIGN"
    const uint32_t INF "LP_INF"
    const uint32_t QUIET_NAN "LP_QUIET_NAN"
    const uint32_t HIDDEN_BIT "LP_HIDDEN_BIT"
    const uint32_t TWO_31 "LP_TWO_31"
    const bint NAN_PASSES_THROUGH "LP_NAN_PASSES_THROUGH"
    const uint64_t DOUBLE_SIGN "LP_DOUBLE_SIGN"
    const uint64_t DOUBLE_TWO_31 "LP_DOUBLE_TWO_31"
    const uint64_t DOUBLE_TWO_63 "LP_DOUBLE_TWO_63"
