"""Compares all values of the formats of IEEE P3109 with the tables that its working group publishes; no test itself.

The tables are in https://github.com/P3109/Public, folder Value Tables/Hexadecimal, a CSV file for each format:

    python tests/spec/check_p3109_tables.py CLONE            # 454 formats, 5,742,576 codes; 50 are beyond float64
    python tests/spec/check_p3109_tables.py CLONE --digests  # the digests in test_p3109.py
"""

from __future__ import annotations

import argparse
import csv
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import lowprec as lp
from lowprec.spec.p3109 import p3109_problem

_SPECIAL = {"NaN": math.nan, "Inf": math.inf, "-Inf": -math.inf}


def tables(clone: Path) -> Iterator[tuple[str, list[float]]]:
    """Yield the name of each format and its values by code, as the files have them."""
    for path in sorted(clone.glob("Value Tables/Hexadecimal/K*/P*/*signed/*.csv")):
        with path.open(newline="") as stream:
            rows = [(row["codepoint"], row["value"].strip()) for row in csv.DictReader(stream)]
        if p3109_problem(path.stem):
            continue
        if [int(code, 16) for code, _ in rows] != list(range(len(rows))):
            raise SystemExit(f"{path}: codes are missing")
        yield path.stem.lower(), [_SPECIAL[text] if text in _SPECIAL else float.fromhex(text) for _, text in rows]


def digest(values: list[float]) -> int:
    """Return the CRC-32 of values as little-endian float64, NaN as 7FF8000000000000."""
    return zlib.crc32(b"".join(struct.pack("<d", math.nan if math.isnan(value) else value) for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path)
    parser.add_argument("--digests", action="store_true")
    options = parser.parse_args()
    formats = codes = 0
    for name, values in tables(options.clone):
        if options.digests:
            if len(values) <= 256:
                print(f"{name} {digest(values):08x}")
            continue
        fmt = lp.as_format(name)
        if digest([fmt.value(code) for code in range(1 << fmt.bits)]) != digest(values):
            raise SystemExit(f"{name}: differs")
        formats, codes = formats + 1, codes + len(values)
    if formats:
        print(f"{formats} formats, {codes:,} codes: no difference")


if __name__ == "__main__":
    main()
