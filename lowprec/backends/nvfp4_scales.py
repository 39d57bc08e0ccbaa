"""The scales of NVFP4, of the tensor and of its blocks, by lowprec's rule and by others: float32 steps, on the host.

Sources of the others: torchao 0.18.0, ``nvfp4_quantize`` with a global scale; ModelOpt, ``NVFP4QTensor.quantize``, its
scales clamped as they are exported; Transformer Engine, ``core_nvfp4.cuh`` and the kernels that call it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._float_mode import default_mode
from ..plans.block_plan import BlockPlan
from ..plans.cast_plan import plan_of
from ..spec.formats import FLOAT32
from ..spec.scale_rules import MODELOPT, OWN_RULE, TORCHAO, TRANSFORMER_ENGINE, global_scale
from .backend_choice import dispatch
from .jobs import Job

__all__ = ["factors_of", "global_scale_of", "scale_codes_of", "start_of", "start_of_tensor"]

_Array = np.ndarray[Any, Any]
_ONE = np.float32(1)
_MOST = np.finfo(np.float32).max


@default_mode
def start_of(global_scale: Any, plan: BlockPlan) -> _Array:
    """Return what the rule starts from for a global scale, float32: that, or its inverse for Transformer Engine's."""
    scale = np.asarray(global_scale, np.float32)
    if plan.scale_rule != TRANSFORMER_ENGINE:
        return scale
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(_ONE / scale, _MOST))


@default_mode
def start_of_tensor(largest: Any, plan: BlockPlan) -> _Array:
    """Return what the rule starts from for the largest finite magnitude of a tensor, a float32."""
    if plan.scale_rule != TRANSFORMER_ENGINE:
        return global_scale(largest, plan.element, plan.scale)
    most = np.float32(float(plan.element.max) * float(plan.scale.max))
    with np.errstate(over="ignore", divide="ignore"):
        largest = np.float32(largest)
        return np.asarray(_ONE if largest == 0 else np.minimum(most / largest, _MOST))


@default_mode
def global_scale_of(start: Any, plan: BlockPlan) -> _Array:
    """Return the global scale, by which blocks are decoded, for what the rule starts from."""
    if plan.scale_rule != TRANSFORMER_ENGINE:
        return np.asarray(start)
    with np.errstate(under="ignore"):
        return np.asarray(_ONE / start)


@default_mode
def scale_codes_of(largest: _Array, start: _Array, plan: BlockPlan) -> _Array:
    """Return the codes of the scales of blocks for their largest magnitudes, float32."""
    rule, element = plan.scale_rule, np.float32(plan.element.max)
    least: Any = np.float32(0)
    wanted: Any
    with np.errstate(all="ignore"):
        if rule == TRANSFORMER_ENGINE:
            wanted = largest * (start * (_ONE / element))
        elif rule == MODELOPT:
            quotient = largest / (element * start)
            wanted, least = np.where(quotient == 0, _ONE, quotient), np.float32(plan.scale.smallest_subnormal)
        else:
            wanted = largest / element / start
            least = np.float32(plan.scale.smallest_normal) if rule == TORCHAO else least
    clamped = np.clip(wanted, least, np.float32(plan.scale.max)).astype(np.float32)
    codes = np.asarray(dispatch(Job(clamped, plan_of(FLOAT32, plan.scale), codes=True)))
    return np.asarray(np.maximum(codes, largest > 0).astype(codes.dtype)) if rule == OWN_RULE else codes


@default_mode
def factors_of(codes: _Array, start: _Array, plan: BlockPlan) -> tuple[_Array, bool]:
    """Return what elements are divided by, or multiplied by, for codes of scales, and which of both; NaN for NaN.

    Inf stands for a divisor of 0, so that elements become zeros.
    """
    scales = np.asarray(dispatch(Job(codes.view(plan.scale.dtype), plan_of(plan.scale, FLOAT32))))
    with np.errstate(all="ignore"):
        if plan.scale_rule == TORCHAO:
            return np.asarray((_ONE / start) / scales), True
        if plan.scale_rule == TRANSFORMER_ENGINE:
            return np.asarray(np.minimum(_ONE / (scales * (_ONE / start)), _MOST)), True
        divisors = scales * start
        return np.where(divisors == 0, np.float32(np.inf), divisors), False
