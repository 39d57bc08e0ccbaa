"""All 2^32 float32 inputs by every variant of Cast, and the digests of their codes."""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from importlib import resources
from itertools import groupby, pairwise, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .._kernels import available_isas, isa, use_isa
from ..backends import array_api
from ..backends.jobs import Job
from ..ops.encode_pack import encode
from ..plans.cast_plan import ENCODE, CastOptions, resolve
from ..reference.exact_cast import encode as exact_code
from ..reference.values import bracket, decode, finite_count, magnitude_of
from ..reference.whole_arrays import is_power
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT32, ONNX_NUMERIC, Format
from ..spec.operator_versions import NEWEST
from ..spec.packing import is_packable
from ..spec.rounding_modes import OVERFLOWS, ROUND_MODES, ROUNDINGS, STOCHASTIC, RoundingOptions

__all__ = [
    "Codes",
    "DifferenceError",
    "LIBRARIES",
    "Runs",
    "SLICE",
    "SLICES",
    "Variant",
    "Way",
    "array_api_way",
    "cast_runs",
    "check_slice",
    "chosen",
    "expected_runs",
    "file_text",
    "first_float32",
    "kept_digests",
    "pack_codes",
    "pieces",
    "read_digests",
    "slice_digest",
    "slice_name",
    "tier_ways",
    "total",
    "variants",
]


Codes = np.ndarray[Any, Any]

CODES = 1 << 32
"""How many float32 codes there are."""

_SIGN = 1 << 31
_INF = 0x7F800000


class Runs(NamedTuple):
    """What consecutive float32 codes become: each of `codes` as often as `lengths` says."""

    lengths: Codes
    codes: Codes

    @property
    def key(self) -> tuple[bytes, bytes]:
        """What equal runs have in common."""
        return self.lengths.tobytes(), self.codes.tobytes()

    def expand(self) -> Codes:
        """Return a code for every input."""
        return np.repeat(self.codes, self.lengths)


def first_float32(magnitude: Fraction) -> int:
    """Return the first code of float32, without sign, whose value is not below a magnitude; Inf's and later beyond.

    Examples
    --------
    >>> hex(first_float32(Fraction(1))), hex(first_float32(Fraction(1, 3))), first_float32(Fraction(1, 2**160))
    ('0x3f800000', '0x3eaaaaab', 1)
    """
    top, bottom = magnitude.numerator, magnitude.denominator
    if not top:
        return 0
    exponent = top.bit_length() - bottom.bit_length()
    if top << max(-exponent, 0) < bottom << max(exponent, 0):
        exponent -= 1
    exponent = max(exponent, -126)  # the subnormals have the step of the first binade
    shift = 23 - exponent
    steps = -(-(top << max(shift, 0)) // (bottom << max(-shift, 0)))  # rounded up
    return ((exponent + 126) << 23) + steps


def _places(target: Format, low: Fraction, high: Fraction) -> Iterator[Fraction]:
    """Yield the values of the target around two magnitudes and between them, and the middles of those."""
    first, last = max(bracket(low, target)[0], 0), min(bracket(high, target)[1], finite_count(target))
    for code in range(first, last + 1):
        value = magnitude_of(code, target)
        yield value
        if code < last:
            yield (value + magnitude_of(code + 1, target)) / 2


def _stretches(target: Format, first: int, end: int) -> list[int]:
    """Return where stretches of magnitude codes of float32 begin, then `end`: within each the result is the same."""
    cuts = {first, end, 1}  # zero is a stretch by itself
    finite = min(end, _INF)
    if first < finite:
        low, high = (decode(code, FLOAT32).magnitude for code in (first, finite - 1))
        for place in _places(target, low, high):
            code = first_float32(place)
            cuts.add(code)
            if code < _INF and decode(code, FLOAT32).magnitude == place:
                cuts.add(code + 1)
    cuts |= {_INF, _INF + 1}  # then Inf, then the NaNs, whose payloads the exact oracle does not know
    return sorted(cut for cut in cuts if first <= cut <= end)


def cast_runs(target: Format, options: Mapping[str, Any], first: int, end: int) -> Runs:
    """Return what the float32 codes from `first` to below `end`, all of one sign, become.

    `target` is a float format of at most 16 bits; `options` are those of `reference.encode`.

    Examples
    --------
    >>> from lowprec import formats
    >>> runs = cast_runs(formats["float4_e2m1fn"], {}, 0x40000000, 0x40C00000)  # 2 to 6: ties at 2.5, 3.5 and 5
    >>> runs.codes.tolist(), [hex(length) for length in runs.lengths.tolist()]
    ([4, 5, 6, 7], ['0x200001', '0x3fffff', '0x400001', '0x1fffff'])
    """
    assert 0 <= first < end <= CODES
    assert target.is_float
    assert target.bits <= 16
    sign = first & _SIGN
    assert (end - 1) & _SIGN == sign
    cuts = _stretches(target, first - sign, end - sign)
    lengths: list[int] = []
    codes: list[int] = []
    for begin, after in pairwise(cuts):
        ends = {exact_code(decode(sign + code, FLOAT32), target, **options) for code in {begin, after - 1}}
        if len(ends) > 1:
            raise AssertionError(f"{target.name}: {sign + begin:#x} to {sign + after - 1:#x} is more than one run")
        (code,) = ends
        if codes and codes[-1] == code:
            lengths[-1] += after - begin
        else:
            lengths.append(after - begin)
            codes.append(code)
    return Runs(np.array(lengths, np.int64), np.array(codes, target.code_dtype))


def pack_codes(codes: Codes, bits: int) -> Codes:
    """Return codes in the order of ONNX's raw_data: the first in the lowest bits, the tail zero.

    Examples
    --------
    >>> pack_codes(np.array([1, 15, 3], np.uint8), 4).tolist()
    [241, 3]
    """
    each = np.unpackbits(codes.reshape(-1, 1), axis=1, count=bits, bitorder="little")
    return np.packbits(each, bitorder="little")


SLICE = 1 << 24
SLICES = CODES // SLICE
"""A slice is the inputs whose codes have the same upper 8 bits, which number it."""

TARGETS = tuple(row for row in ONNX_NUMERIC if row.is_float and row.bits <= 16)
ROUNDED_TARGETS = (FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT4_E2M1FN)
"""The targets of every rounding beyond ONNX."""

OPSETS = (NEWEST, 23)
"""The newest rules, and the last version that has others."""


class Variant(NamedTuple):
    """A cast of float32 with its options, which are those of `encode`."""

    name: str
    target: Format
    options: Mapping[str, Any]
    packed: bool = False


def _opsets(target: Format, options: Mapping[str, Any]) -> list[int]:
    """Return the opsets that treat Inf, the one input whose rule changed, in different ways; the newest first."""
    found: dict[int, int] = {}
    for opset in OPSETS:
        if target.since is not None and target.since <= opset:
            found.setdefault(exact_code("inf", target, opset=opset, **options), opset)
    return list(found.values())


def _make(target: Format, words: list[str], options: dict[str, Any], packed: bool = False) -> Variant:
    return Variant("-".join([target.name, *words, *["packed"] * packed]), target, MappingProxyType(options), packed)


def _by_onnx(target: Format) -> Iterator[Variant]:
    modes: tuple[str | None, ...] = ROUND_MODES if is_power(target) else (None,)
    for mode, saturate in product(modes, (True, False)):
        words = [*([] if mode is None else [mode]), "saturate" if saturate else "no_saturate"]
        options = {"saturate": saturate, **({} if mode is None else {"round_mode": mode})}
        for opset in _opsets(target, options):
            if opset == NEWEST:
                for packed in (False, True) if is_packable(target) else (False,):
                    yield _make(target, words, options, packed)
            else:
                yield _make(target, [*words, f"opset{opset}"], {**options, "opset": opset})


def _by_rounding(target: Format) -> Iterator[Variant]:
    for rounding, overflow in product((name for name in ROUNDINGS if name not in STOCHASTIC), OVERFLOWS):
        yield _make(target, [rounding, overflow], {"rounding": rounding, "overflow": overflow})


@functools.cache
def variants() -> Mapping[str, Variant]:
    """Return every variant by its name.

    Examples
    --------
    >>> [name for name in variants() if "fnuz-" in name][:3]
    ['float8_e4m3fnuz-saturate', 'float8_e4m3fnuz-saturate-opset23', 'float8_e4m3fnuz-no_saturate']
    >>> variants()["float8_e8m0fnu-down-no_saturate"].options
    mappingproxy({'saturate': False, 'round_mode': 'down'})
    """
    every = [one for target in TARGETS for one in _by_onnx(target)]
    every += [one for target in ROUNDED_TARGETS for one in _by_rounding(target)]
    return MappingProxyType({one.name: one for one in every})


def chosen(names: list[str] | None) -> list[Variant]:
    """Return the variants that have one of the names, or one of the target formats; all where None is given.

    Examples
    --------
    >>> [variant.name for variant in chosen(["float4_e2m1fn-saturate", "bfloat16"])]
    ['bfloat16-saturate', 'bfloat16-no_saturate', 'float4_e2m1fn-saturate']
    """
    every = variants().values()
    if names is None:
        return list(every)
    targets = [target.name for target in TARGETS]
    for name in names:
        if name not in variants() and name not in targets:
            wanted = f"one of {', '.join(targets)}, or a variant such as {next(iter(variants()))}"
            raise ValueError(f"`--target` must be {wanted}; got {name!r}")
    return [one for one in every if one.name in names or one.target.name in names]


def slice_name(index: int) -> str:
    """Return the number of a slice as files and messages have it: the upper 8 bits of its inputs.

    Examples
    --------
    >>> slice_name(63)
    '0x3f'
    """
    return f"0x{index:02x}"


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


LIBRARIES = ("numpy", "torch", "array_api_strict")
"""The array libraries whose calls may be compared."""


class DifferenceError(ValueError):
    """A result is not the expected one: the text names the first input."""


class Way(NamedTuple):
    """A way to convert an array: its name, and what returns the codes."""

    name: str
    convert: Callable[[Codes, Variant], Any]


@contextmanager
def _tier(name: str) -> Iterator[None]:
    active = isa()
    use_isa(name)
    try:
        yield
    finally:
        use_isa(active)


def _tier_way(name: str) -> Way:
    def convert(x: Codes, variant: Variant) -> Any:
        with _tier(name):
            return encode(x, variant.target, packed=variant.packed, **variant.options)

    return Way(name, convert)


def tier_ways(name: str = "all") -> list[Way]:
    """Return the ways by compiled loops: those of one instruction set, or of all that this machine and build have.

    Examples
    --------
    >>> [way.name for way in tier_ways("base")]
    ['base']
    """
    known = available_isas()
    if name != "all" and name not in known:
        raise ValueError(f"`--isa` must be one of {', '.join(known)}, all on this machine; got {name}")
    return [_tier_way(one) for one in (known if name == "all" else [name])]


def array_api_way(name: str) -> Way:
    """Return the way by array-API calls in a library; ValueError where it is not installed."""
    try:
        library = importlib.import_module(name)
    except ImportError:
        raise ValueError(f"`--array-api` must be an installed library; got {name}") from None
    put = library.from_numpy if name == "torch" else library.asarray

    def convert(x: Codes, variant: Variant) -> Any:
        array, rest = put(x), dict(variant.options)
        rules = [rest.pop("rounding", None), rest.pop("overflow", None)]
        beyond = RoundingOptions(*rules) if any(rules) else None
        plan = resolve(array, None, variant.target, ENCODE, CastOptions(**rest, options=beyond))
        return array_api.run(Job(array, plan, codes=True, packed=variant.packed))

    return Way(f"array API in {name}", convert)


def _refuse(variant: Variant, way: Way, first: int, expected: Codes, found: Codes) -> None:
    """Raise DifferenceError, which names the first input whose result is another."""
    what = f"{variant.name}, {way.name}"
    if found.dtype != expected.dtype or found.shape != expected.shape:
        kinds = [f"{array.dtype} of shape {array.shape}" for array in (found, expected)]
        raise DifferenceError(f"{what}: inputs from {first:#010x} give {kinds[0]}, expected {kinds[1]}")
    place = int(np.argmax(found != expected))
    code = first + (place * 8 // variant.target.bits if variant.packed else place)
    value = np.uint32(code).view(np.float32)
    width = 2 + 2 * expected.itemsize
    codes = [f"{int(array[place]):#0{width}x}" for array in (found, expected)]
    packed = "packed with its neighbours " if variant.packed else ""
    raise DifferenceError(f"{what}: input {code:#010x} ({value}) {packed}gives {codes[0]}, expected {codes[1]}")


def check_slice(
    variant: Variant, index: int, ways: list[Way], advance: Callable[[int], object] = lambda inputs: None
) -> str:
    """Compare a slice of the inputs in every way; return its digest, which is the oracle's, or raise DifferenceError.

    `advance` is called with numbers of inputs that were compared.

    Examples
    --------
    >>> from lowprec.conformance.exhaustive import variants
    >>> check_slice(variants()["float4_e2m1fn-saturate"], 0x40, tier_ways("base"))[:16]
    'fdbd8f08935fe3ec'
    """
    runs = expected_runs(variant, index)
    for start, expected in pieces(variant, runs):
        first = index * SLICE + start
        inputs = expected.size * 8 // variant.target.bits if variant.packed else expected.size
        x = (np.arange(inputs, dtype=np.uint32) + np.uint32(first)).view(np.float32)
        for way in ways:
            found = np.asarray(way.convert(x, variant))
            if found.dtype != expected.dtype or not np.array_equal(found, expected):
                _refuse(variant, way, first, expected, found)
        advance(inputs)
    return slice_digest(variant, runs)
