"""The oracle and the sweeps of the conformance command, under one name for the tests."""

from lowprec.conformance.cast_inputs import landmarks, sweep_float32, sweep_float64, sweep_int64, sweep_uint64
from lowprec.conformance.expected_codes import Table, expected_from_float64, expected_from_integers, table

__all__ = [
    "Table", "expected_from_float64", "expected_from_integers", "landmarks", "sweep_float32", "sweep_float64",
    "sweep_int64", "sweep_uint64", "table",
]  # fmt: skip
