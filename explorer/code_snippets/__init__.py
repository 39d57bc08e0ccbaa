"""Code snippets: the Python and the ONNX nodes that repeat what a page shows; a module for each page."""

from __future__ import annotations

from .anatomy import of_code
from .arithmetic import of_operation, of_sum
from .block_sweep import of_sweep
from .compare import of_comparison
from .conversion import of_conversion
from .describe import of_description
from .errors import of_errors
from .quantize import of_comparison_of_settings, of_quantization
from .rounding import of_number
from .saturation import of_opset
from .snippet_text import onnx_node, python_explain

__all__ = [
    "of_code",
    "of_comparison",
    "of_comparison_of_settings",
    "of_conversion",
    "of_description",
    "of_errors",
    "of_number",
    "of_operation",
    "of_opset",
    "of_quantization",
    "of_sweep",
    "of_sum",
    "onnx_node",
    "python_explain",
]
