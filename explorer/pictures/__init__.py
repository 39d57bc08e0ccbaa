"""Pictures to take along: SVG texts of what the pages draw in HTML, in the colours of a scheme; a module for each."""

from __future__ import annotations

from .bit_row import bit_row
from .cast_chain import cast_chain
from .cast_steps import cast_steps
from .code_table import code_table
from .interval import interval
from .one_block import one_block
from .packed_bytes import packed_bytes

__all__ = ["bit_row", "cast_chain", "cast_steps", "code_table", "interval", "one_block", "packed_bytes"]
