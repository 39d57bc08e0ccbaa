"""SHA-256 of what all float32 inputs become, by the oracle alone: of slices, in files; of variants, in this package."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from itertools import groupby
from pathlib import Path

from ..reference.cast_runs import Codes, Runs, cast_runs, pack_codes
from .exhaustive_variants import SLICE, SLICES, Variant, slice_name

__all__ = ["CHUNK", "expected_runs", "file_text", "kept_digests", "pieces", "read_digests", "slice_digest", "total"]

CHUNK = 1 << 17
"""How many inputs are converted at a time: few enough for one thread, unless `set_num_threads` asked for more, and for
what array-API calls keep between two steps to stay in the processor's cache."""

_HEADER = """\
# SHA-256 of what float32 inputs become, by `lowprec conformance --exhaustive --write-digests`, from exact arithmetic.
# Slice 0x3f is the inputs 0x3f000000 to 0x3fffffff, in this order; its digest is that of the codes they become, in
# little-endian bytes of the width of the code, 6- and 4-bit codes in a byte each unless they are packed. A range stands
# for slices that have the same digest.
"""

_known: dict[tuple[bytes, bytes, int], str] = {}
"""The digests of slices that are one run, by that and the packed bits: most slices of narrow formats are alike."""


def expected_runs(variant: Variant, index: int) -> Runs:
    """Return what the inputs of a slice become."""
    return cast_runs(variant.target, variant.options, index * SLICE, (index + 1) * SLICE)


def pieces(variant: Variant, runs: Runs) -> Iterator[tuple[int, Codes]]:
    """Yield the expected codes of a slice in chunks, packed where the variant is, each with its place in the slice."""
    codes = runs.expand()
    for start in range(0, SLICE, CHUNK):
        piece = codes[start : start + CHUNK]
        yield start, pack_codes(piece, variant.target.bits) if variant.packed else piece


def slice_digest(variant: Variant, runs: Runs) -> str:
    """Return the digest of a slice."""
    key = *runs.key, variant.target.bits if variant.packed else 0
    if key in _known:
        return _known[key]
    digest = hashlib.sha256()
    for _, piece in pieces(variant, runs):
        digest.update(piece.astype(piece.dtype.newbyteorder("<"), copy=False))
    if len(runs.codes) == 1:
        _known[key] = digest.hexdigest()
    return digest.hexdigest()


def total(digests: Iterable[str]) -> str:
    """Return the digest of a variant: that of the digests of its slices, 32 bytes each, in their order."""
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()


def file_text(digests: Mapping[str, list[str]]) -> str:
    """Return the text of a file: the digests of every slice of some variants, by their names."""
    lines = []
    for name, each in digests.items():
        for digest, group in groupby(range(SLICES), key=each.__getitem__):
            first, *others = group
            last = f"-{slice_name(others[-1])}" if others else ""
            lines.append(f"{digest}  {name}/{slice_name(first)}{last}\n")
    return _HEADER + "".join(lines)


def read_digests(folder: Path, variant: Variant) -> list[str]:
    """Return the digests of the slices of a variant from the file of its target in a folder, or raise ValueError."""
    path = folder / f"{variant.target.name}.txt"
    found: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        digest, _, rest = line.partition("  ")
        name, _, places = rest.partition("/")
        if name == variant.name:
            first, _, last = places.partition("-")
            try:
                begin, end = int(first, 16), int(last or first, 16)
                valid = len(bytes.fromhex(digest)) == 32 and begin == len(found) and begin <= end < SLICES
            except ValueError:
                valid = False
            if not valid:
                raise ValueError(f"{path}: must have a digest and the next slices; got {line[:120]!r}")
            found += [digest] * (end + 1 - begin)
    if len(found) != SLICES:
        raise ValueError(f"{path}: must have {SLICES} slices of {variant.name}; got {len(found)}")
    return found


@functools.cache
def kept_digests() -> Mapping[str, str]:
    """Return the digests of variants by their names, which ``--write-digests`` printed.

    Examples
    --------
    >>> len(kept_digests()["float4_e2m1fn-saturate"])
    64
    """
    text = resources.files(__package__).joinpath("exhaustive.txt").read_text(encoding="utf-8")
    return {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}
