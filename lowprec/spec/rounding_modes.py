"""Roundings, overflow and NaN rules, ONNX's round_mode, seeds and streams: names and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from .._notebook_display import aligned_table, html_table
from .formats import Format
from .scalar_arguments import as_integer, shown

__all__ = [
    "DEFAULT_RANDOM_BITS",
    "FIRST",
    "LaterSeed",
    "MOST_RANDOM_BITS",
    "NAN_RULES",
    "NaNName",
    "OVERFLOWS",
    "OverflowName",
    "PARAMETERS",
    "ROUNDINGS",
    "ROUNDING_TABLE",
    "ROUND_MODES",
    "RoundModeName",
    "Rounding",
    "RoundingName",
    "RoundingOptions",
    "STOCHASTIC",
    "Stream",
    "check_random_bits",
    "check_round_mode",
    "check_rounding",
    "check_stream",
    "make_stream",
    "named_arguments",
    "rounding_arguments",
    "slot_bits",
]


_Name = TypeVar("_Name", bound=str)

RoundingName = Literal[
    "nearest_even", "nearest_away", "nearest_zero", "toward_zero", "away_from_zero", "toward_positive",
    "toward_negative", "to_odd", "stochastic", "stochastic_a", "stochastic_b", "stochastic_c",
]  # fmt: skip
ROUNDINGS: tuple[RoundingName, ...] = get_args(RoundingName)
"""Which of the two neighbours a number becomes."""

STOCHASTIC: tuple[RoundingName, ...] = ("stochastic", "stochastic_a", "stochastic_b", "stochastic_c")
"""Roundings that need a seed; the first is another name of ``stochastic_b``."""

_TEXTS: dict[str, str] = {
    "nearest_even": "the nearer neighbour; of two as near the one whose code is even",
    "nearest_away": "the nearer neighbour; of two as near the one farther from zero",
    "nearest_zero": "the nearer neighbour; of two as near the one nearer to zero",
    "toward_zero": "the neighbour nearer to zero",
    "away_from_zero": "the neighbour farther from zero",
    "toward_positive": "the larger neighbour",
    "toward_negative": "the smaller neighbour",
    "to_odd": "the neighbour whose code is odd",
    "stochastic": "the same as stochastic_b",
    "stochastic_a": "either neighbour, the nearer the likelier; how near is truncated to N bits, as many as are random",
    "stochastic_b": "either neighbour, the nearer the likelier; how near is truncated to N + 1 bits, and a half added",
    "stochastic_c": "either neighbour, the nearer the likelier; how near is rounded to N bits",
}


class RoundingTable(Mapping[str, str]):
    """What each rounding does, in a line; shown as a table."""

    __slots__ = ()

    def __getitem__(self, name: str) -> str:
        """Return what a rounding does."""
        return _TEXTS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(ROUNDINGS)

    def __len__(self) -> int:
        return len(ROUNDINGS)

    def __repr__(self) -> str:
        return aligned_table([_HEADER, *self.items()])

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return html_table([_HEADER, *self.items()], "roundings")


_HEADER = ("rounding", "a number that is no value of the format becomes")
ROUNDING_TABLE = RoundingTable()
"""The roundings by name, in the order of `ROUNDINGS`."""

OverflowName = Literal["sat_finite", "sat_propagate", "ovf_inf"]
OVERFLOWS: tuple[OverflowName, ...] = get_args(OverflowName)
"""What becomes of Inf, and of what rounds beyond the largest value."""

NaNName = Literal["signed", "plain", "zero", "largest"]
NAN_RULES: tuple[NaNName, ...] = get_args(NaNName)
"""What becomes of NaN."""

DEFAULT_RANDOM_BITS = 16
FIRST = 0
"""The default `offset`: the place of the first element of a stream."""

MOST_RANDOM_BITS = 32
_SEEDS = 1 << 64
_OFFSETS = 1 << 63


class Rounding(NamedTuple):
    """The rules of one conversion, resolved for its target.

    Attributes
    ----------
    mode : str
        One of `ROUNDINGS`; ``"stochastic"`` is spelled ``"stochastic_b"``.
    overflow : str
        One of `OVERFLOWS`.
    nan : str
        One of `NAN_RULES`.
    random_bits : int
        How many random bits decide, 1 to 32; 0 where the mode is deterministic.
    """

    mode: str
    overflow: str
    nan: str
    random_bits: int = 0


class LaterSeed(NamedTuple):
    """A seed that is known when a traced computation runs: the array that stands for it."""

    array: Any


class Stream(NamedTuple):
    """Which random numbers the elements of an array take: element n those at ``offset + n`` of the seed's stream."""

    seed: int
    offset: int = 0


class RoundingOptions(NamedTuple):
    """The rules of one conversion, as the caller spelled them: what `check_rounding` makes a `Rounding` of."""

    rounding: object = None
    overflow: object = None
    nan: object = None
    random_bits: object = DEFAULT_RANDOM_BITS


def slot_bits(random_bits: int) -> int:
    """Return the width of the slot in the random stream that an element takes: 8, 16 or 32 bits."""
    return 8 if random_bits <= 8 else 16 if random_bits <= 16 else 32


def _one_of(value: object, names: tuple[_Name, ...], parameter: str) -> _Name:
    if isinstance(value, str) and value in names:
        return names[names.index(value)]
    raise ValueError(f"`{parameter}` must be one of {', '.join(names)}; got {shown(value)}")


def _within(value: object, first: int, end: int, parameter: str, last: str) -> int:
    number = as_integer(value)
    if number is None or not first <= number < end:
        raise ValueError(f"`{parameter}` must be an integer from {first} to {last}; got {shown(value)}")
    return number


def check_random_bits(random_bits: object, parameter: str = "random_bits") -> int:
    """Return a number of random bits, or raise ValueError."""
    return _within(random_bits, 1, MOST_RANDOM_BITS + 1, parameter, str(MOST_RANDOM_BITS))


def make_stream(seed: object, offset: object) -> Stream:
    """Return the stream of a seed from an offset on, or raise ValueError; a `LaterSeed` is not looked at."""
    first = _within(offset, 0, _OFFSETS, "offset", "2**63 - 1")
    if isinstance(seed, LaterSeed):
        return Stream(seed, first)  # type: ignore[arg-type]  # the back end puts the number in its place
    return Stream(_within(seed, 0, _SEEDS, "seed", "2**64 - 1"), first)


def check_stream(rounding: object, seed: object, random_bits: object, offset: object) -> Stream | None:
    """Return the stream of a stochastic rounding, None for any other; or raise ValueError.

    A seed, a number of random bits or an offset without use is an error.
    """
    bits = check_random_bits(random_bits)
    if isinstance(rounding, str) and rounding in STOCHASTIC:
        if seed is None:
            raise ValueError(f"`seed` must be an integer from 0 to 2**64 - 1 where `rounding` is {rounding}; got None")
        return make_stream(seed, offset)
    place = _within(offset, 0, _OFFSETS, "offset", "2**63 - 1")
    if seed is not None:
        raise ValueError(f"`seed` must be None unless `rounding` is stochastic; got {shown(seed)}")
    for name, number, default in (("random_bits", bits, DEFAULT_RANDOM_BITS), ("offset", place, FIRST)):
        if number != default:
            raise ValueError(f"`{name}` must be left out unless `rounding` is stochastic; got {number}")
    return None


def check_rounding(options: RoundingOptions, target: Format, parameter: str) -> Rounding:
    """Return the rules that options mean for a target, or raise ValueError.

    `parameter` is the caller's name of the target.
    """
    if not target.is_float:
        asked = "rounding" if options.rounding is not None else "overflow" if options.overflow is not None else "nan"
        raise ValueError(f"`{parameter}` must be a float format where `{asked}` is given; got {target.name}")
    mode = _one_of("nearest_even" if options.rounding is None else options.rounding, ROUNDINGS, "rounding")
    overflow: OverflowName = "sat_finite" if target.bits <= 8 else "ovf_inf"
    if options.overflow is not None:
        overflow = _one_of(options.overflow, OVERFLOWS, "overflow")
    nan = "signed" if options.nan is None else _one_of(options.nan, NAN_RULES, "nan")
    bits = check_random_bits(options.random_bits) if mode in STOCHASTIC else 0
    return Rounding("stochastic_b" if mode == STOCHASTIC[0] else mode, overflow, nan, bits)


PARAMETERS = ("rounding", "overflow", "nan", "seed", "random_bits", "offset")
"""The parameters of the rules beyond ONNX."""


def named_arguments(*rules: object) -> dict[str, object]:
    """Return the arguments of `rounding_arguments` by name."""
    return dict(zip(PARAMETERS, rules, strict=True))


def rounding_arguments(
    rounding: object, overflow: object, nan: object, seed: object, random_bits: object, offset: object
) -> tuple[RoundingOptions | None, Stream | None]:
    """Return the rules that a call has beyond ONNX, and the stream of its random numbers, None each; or raise."""
    stream = check_stream(rounding, seed, random_bits, offset)
    if rounding is None and overflow is None and nan is None:
        return None, None
    return RoundingOptions(rounding, overflow, nan, random_bits if stream is not None else DEFAULT_RANDOM_BITS), stream


# ---- ONNX's round mode of casts to powers of two

RoundModeName = Literal["up", "down", "nearest"]
ROUND_MODES: tuple[RoundModeName, ...] = get_args(RoundModeName)
"""Away from zero, toward zero, to nearest with ties away from zero; the first is the default."""


def check_round_mode(round_mode: object) -> str:
    """Return the name of a rounding mode, the default for None, or raise ValueError.

    Examples
    --------
    >>> check_round_mode(None), check_round_mode("nearest")
    ('up', 'nearest')
    """
    if round_mode is None:
        return ROUND_MODES[0]
    if isinstance(round_mode, str) and round_mode in ROUND_MODES:
        return round_mode
    raise ValueError(f"`round_mode` must be one of {', '.join(ROUND_MODES)} or None; got {shown(round_mode)}")
