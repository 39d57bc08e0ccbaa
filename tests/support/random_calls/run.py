"""Steps of random calls: the state of the machine, the call, the comparison, and how to repeat a failure."""

from __future__ import annotations

import dataclasses
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import _kernels
from support.float_modes import MODES, can_set, in_mode
from support.random_calls import blocks, casts, facts, linear, scales
from support.random_calls.calls import Call, DifferenceError, check
from support.random_calls.refusals import make_wrong

Rng = np.random.Generator


def _either(first: Callable[[Rng], Call], second: Callable[[Rng], Call], share: float) -> Callable[[Rng], Call]:
    """Return what draws a call by one of two generators; by the second one with a probability."""

    def draw(rng: Rng) -> Call:
        return (second if rng.random() < share else first)(rng)

    return draw


GENERATORS: dict[str, Callable[[Rng], Call]] = {
    **{name: getattr(casts, name) for name in ("cast", "cast_like", "encode", "decode", "bitcast", "pack", "unpack")},
    "cast": _either(casts.cast, casts.cast_from_text, 0.15),
    "dequantize_linear": _either(linear.dequantize_linear, linear.dequantize_beyond_onnx, 0.4),
    "quantize_linear": _either(linear.quantize_linear, linear.quantize_beyond_onnx, 0.4),
    **{name: getattr(blocks, name) for name in blocks.__all__},
    **{name: getattr(scales, name) for name in scales.__all__},
    **{name: getattr(facts, name) for name in facts.__all__},
}
"""What draws a call of each public function."""

_THREADS = (1, 1, 1, 2, 7)


@dataclasses.dataclass(frozen=True)
class Options:
    """What a run draws from."""

    seed: int = 0
    functions: tuple[str, ...] = tuple(GENERATORS)
    isas: tuple[str, ...] = tuple(_kernels.available_isas())


@dataclasses.dataclass
class Outcome:
    """The functions called in a step, how many elements were compared, and what went wrong."""

    calls: Counter[str]
    elements: Counter[str]
    failure: str = ""


def _carry_out(call: Call, mode: str) -> tuple[Any, BaseException | None]:
    result, raised = None, None
    try:
        with in_mode(mode):
            try:
                result = call.function(*call.args, **call.kwargs)
            except Exception as error:  # whatever a call raises is judged by `check`
                raised = error
    except AssertionError as error:  # another mode is in force after the call
        raised = error
    return result, raised


def _together(calls: Sequence[Call], mode: str) -> list[tuple[Any, BaseException | None]]:
    """Carry out each call in a thread of its own, all at once."""
    start = threading.Barrier(len(calls))
    found: list[tuple[Any, BaseException | None]] = [(None, None)] * len(calls)

    def work(index: int) -> None:
        start.wait()
        found[index] = _carry_out(calls[index], mode)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def step(options: Options, number: int) -> Outcome:
    """Carry out one step: a function of its seed and number, and of the options."""
    rng = np.random.default_rng((options.seed, number))
    isa = options.isas[int(rng.integers(len(options.isas)))]
    threads = int(rng.choice(_THREADS))
    several = int(rng.integers(2, 5)) if rng.random() < 0.03 else 1
    mode = str(rng.choice(MODES)) if rng.random() < 0.25 and can_set() else "nearest"
    names = [options.functions[int(rng.integers(len(options.functions)))] for _ in range(several)]
    outcome, calls = Outcome(Counter(names), Counter()), []
    state = where = f"isa {isa}, {threads} threads, {several} calls at once, mode {mode}"
    try:
        calls = [GENERATORS[name](rng) for name in names]
        for call in calls:
            if rng.random() < 0.08:
                make_wrong(rng, call)
        _kernels.use_isa(isa)
        lp.set_num_threads(threads)
        results = [_carry_out(calls[0], mode)] if several == 1 else _together(calls, mode)
        for name, call, (result, error) in zip(names, calls, results, strict=True):
            state = f"{call}; {where}"
            outcome.elements[name] += call.elements
            check(call, result, error)
            if not call.outs:  # what the first call left in a cache carries out the second
                check(call, *_carry_out(call, mode))
        if (_kernels.isa(), lp.get_num_threads()) != (isa, threads if _kernels.openmp() else 1):
            raise DifferenceError("another instruction set or number of threads is in use after the call")
    except DifferenceError as difference:
        outcome.failure = f"{state}: {difference}"
    except Exception:  # a generator that fails is a finding of the same kind
        outcome.failure = f"{state}: {traceback.format_exc()}"
    return outcome
