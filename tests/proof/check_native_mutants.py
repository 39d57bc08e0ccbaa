"""Break the C and the Cython text one token at a time, and see whether the tests of the file notice.

    PYTHONPATH=tests python tests/proof/check_native_mutants.py --seed 20 --draw 30

All mutants that are drawn stand in one build of a copy of the repository: `a < b` becomes
`(lowprec_mutant == 17 ? (a <= b) : (a < b))` in C, and the same as a conditional expression in Cython; an environment
variable chooses. A mutant is killed by a test that fails, by a crash, or by tests that do not end; one that its file's
tests let live has to outlive wider ones. The survivors are printed, and the exit status is 1 where one of them is not
explained in `mutant_survivors_native.toml`.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import concurrent.futures
import fnmatch
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy
from support.long_run import circumstances
from support.paths import ROOT


class Mutant(NamedTuple):
    """One change: at `start` of the text of a file, `before` becomes `after`."""

    path: str  # relative to the root of the repository, with forward slashes
    start: int
    before: str  # may span lines
    after: str

    def change(self) -> tuple[str, str, str]:
        """Return the file, and the line (or lines) before and after the change, without indentation."""
        text = (ROOT / self.path).read_text(encoding="utf-8")
        end = self.start + len(self.before)
        first, last = text.rfind("\n", 0, self.start) + 1, text.index("\n", end)
        lines = text[first:last], text[first : self.start] + self.after + text[end:last]
        before, after = (" ".join(map(str.strip, line.splitlines())) for line in lines)
        return self.path, before, after

    def __str__(self) -> str:
        path, before, after = self.change()
        return f"{path}\n  - {before}\n  + {after}"


CYTHON_SUFFIXES = (".pyx", ".pxi", ".pxd", ".pxi.in")

_NUMBER = (
    r"0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:p[+-]?\d+)?[uUlLfF]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[uUlLfF]*"
)
_OPERATOR = r"<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||//=|//|\*\*|[-+*/%&|^]=|[^\sA-Za-z_0-9]"
_C = re.compile(
    r"(?P<skip>/\*.*?\*/|//[^\n]*|(?m:^[ \t]*\#(?:[^\n\\]|\\.)*)|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    rf"|(?P<number>{_NUMBER})|(?P<name>[A-Za-z_]\w*)|(?P<operator>{_OPERATOR})",
    re.DOTALL,
)
_CYTHON = re.compile(
    r"(?P<skip>\{\{#.*?\}\}|\#[^\n]*|\"\"\".*?\"\"\"|[fr]?\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<line>(?m:^[ \t]*\{\{[^\n]*$)|\n)"
    rf"|(?P<name>\{{\{{.*?\}}\}}|[A-Za-z_]\w*)|(?P<number>{_NUMBER})|(?P<operator>{_OPERATOR})",
    re.DOTALL,
)

# A space on each side tells an operator of two operands from a sign, an address or a pointer.
_SPACED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
    "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|", "and": "or", "or": "and",
}  # fmt: skip
_NAMES = [
    ("_CMP_LT_", "_CMP_LE_"), ("_CMP_LE_", "_CMP_LT_"), ("_CMP_GT_", "_CMP_GE_"), ("_CMP_GE_", "_CMP_GT_"),
    ("_MM_CMPINT_LT", "_MM_CMPINT_LE"), ("_MM_FROUND_TO_ZERO", "_MM_FROUND_TO_NEAREST_INT"),
    ("_MM_FROUND_TO_NEAREST_INT", "_MM_FROUND_TO_ZERO"), ("unpacklo", "unpackhi"), ("_cmplt_", "_cmple_"),
    ("_cmple_", "_cmplt_"), ("_cmpgt_", "_cmpge_"), ("_cmpge_", "_cmpgt_"), ("_cmpeq_", "_cmpneq_"), ("_min_", "_max_"),
    ("_max_", "_min_"), ("_add_", "_sub_"), ("_sub_", "_add_"), ("_srli_", "_srai_"), ("_srai_", "_srli_"),
]  # fmt: skip
_CONSTANT_BLOCK = re.compile(r"(?:cdef|ctypedef) (?:enum|struct|union|extern)\b")
_HEADER = re.compile(r"(?:cdef|cpdef|def|class|ctypedef|from|cimport|import|include|DEF|global)\b")


class Token(NamedTuple):
    """One token; `line` is the end of a statement of Cython, or a line of a template."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The place after it."""
        return self.start + len(self.text)


def is_cython(path: Path) -> bool:
    """Whether a file is Cython, or a template of it."""
    return path.name.endswith(CYTHON_SUFFIXES)


def tokens_of(text: str, cython: bool) -> list[Token]:
    """Return the tokens, without comments and strings; in Cython, the ends of lines outside brackets are tokens."""
    found = []
    depth = 0
    for match in (_CYTHON if cython else _C).finditer(text):
        kind, word = match.lastgroup or "", match.group()
        if kind == "operator":
            depth += (word in "([{") - (word in ")]}")
        if kind == "line" and word == "\n" and depth:
            continue
        if kind == "skip":  # its place stays known: what it stands between is not one expression
            kind = "text" if word[0] in "\"'fr" else ""
        if kind:
            found.append(Token(kind, word, match.start()))
    return found


def _spaced(text: str, token: Token) -> bool:
    return text[token.start - 1].isspace() and text[token.end : token.end + 1].isspace()


def changed_number(number: str) -> str | None:
    """Return a constant with its last bit flipped (hexadecimal), one more (decimal), or doubled (floating point)."""
    body = number.rstrip("uUlL")
    suffix = number[len(body) :]
    if body[:2] in ("0x", "0X"):
        if "p" in body:
            mantissa, exponent = body.rstrip("fF").split("p")
            return f"{mantissa}p{int(exponent) + 1}{'f' if body[-1] in 'fF' else ''}"
        digit = int(body[-1], 16) ^ 1
        return body[:-1] + f"{digit:x}" + suffix
    if re.fullmatch(r"\d+", body):
        return f"{int(body) + 1}{suffix}"
    value = body.rstrip("fF")
    return f"{2 * float(value) or 1.0}{body[len(value) :]}"


def _changes(text: str, tokens: list[Token], at: int, cython: bool) -> list[tuple[Token, str]]:
    """Return the changes of one token: what is replaced, and by what."""
    token = tokens[at]
    before = tokens[at - 1] if at else Token("line", "", 0)
    after = tokens[at + 1] if at + 1 < len(tokens) else Token("line", "", len(text))
    if token.kind == "number":
        alone = before.text == "[" and after.text == "]"  # the length of an array, most often
        changed = None if alone or before.text in ("case", "except") else changed_number(token.text)
        return [(token, changed)] if changed else []
    if token.text in _SPACED and _spaced(text, token) and before.kind != "line":
        return [(token, _SPACED[token.text])]
    if token.kind == "name":
        if token.text == "not" and after.text != "None" and before.text != "is" and after.text != "in":
            return [(Token("name", text[token.start : after.start], token.start), "")]
        if token.text in ("if", "elif") and cython and before.kind == "line":
            return _removed_check(text, tokens, at + 1, ":", "0")
        if token.text == "if" and not cython and after.text == "(":
            return _removed_check(text, tokens, at + 2, ")", "0")
        if not cython and token.text.startswith(("_mm", "_MM", "_CMP")):
            for old, new in _NAMES:
                if old in token.text and not token.text.endswith(("_ps", "_pd")):
                    return [(token, token.text.replace(old, new))]
        return []
    if token.text == "!" and after.kind in ("name", "operator"):
        return [(token, "")]
    if token.text == "~" or (
        token.text == "-" and not _spaced(text, token) and before.text in ("(", ",", "=", "return", "?", ":", "*", "+")
    ):
        return [(token, "")]
    return []


def _removed_check(text: str, tokens: list[Token], first: int, end: str, by: str) -> list[tuple[Token, str]]:
    depth = 0
    for token in tokens[first:]:
        if token.text == end and depth == 0:
            start = tokens[first].start
            return [(Token("name", text[start : token.start], start), by)]
        if token.kind == "line" and token.text == "\n":
            return []
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
    return []


def _excluded(text: str, tokens: list[Token], cython: bool) -> list[tuple[int, int]]:
    """Return the parts that hold no expression: declarations, the headers of functions, casts, attributes."""
    parts = []
    if not cython:
        parts += [m.span() for m in re.finditer(r"__attribute__\(\(.*?\)\)|__declspec\(.*?\)", text)]
        parts += [m.span() for m in re.finditer(r"typedef (?:struct|enum|union)[^{;]*\{.*?\}[^;]*;", text, re.DOTALL)]
        parts += [m.span() for m in re.finditer(r"(?m)^(?:static )?const \w+ \w+\[.*?\};", text, re.DOTALL)]
        parts += [m.span() for m in re.finditer(r"\benum\s*\{.*?\}", text, re.DOTALL)]
        return parts
    for match in re.finditer(r"<(?:const )?\w+(?: \*+)?>", text):  # casts
        parts.append(match.span())
    starts = [0, *(at + 1 for at, token in enumerate(tokens) if token.kind == "line")]
    hidden = -1  # the indentation of a declaration whose body has no expressions
    for first, after in zip(starts, [*starts[1:], len(tokens)], strict=True):
        line = tokens[first:after]
        if not line or line[0].kind == "line":
            continue
        begin, end = line[0].start, line[-1].end
        indentation = begin - (text.rfind("\n", 0, begin) + 1)
        hidden = hidden if hidden >= 0 and indentation > hidden else -1
        source = text[begin:end].strip()
        if hidden < 0 and _CONSTANT_BLOCK.match(source):
            hidden = indentation
        declares = source.startswith("cdef") and not source.endswith(":")
        if hidden >= 0 or (declares and "=" not in source) or (not declares and _HEADER.match(source)):
            parts.append((begin, end))
    return parts


def find(path: Path) -> list[Mutant]:
    """Return the mutants of a file, in its order."""
    text = path.read_text(encoding="utf-8")
    cython = is_cython(path)
    tokens = tokens_of(text, cython)
    excluded = _excluded(text, tokens, cython)
    found = []
    for at, token in enumerate(tokens):
        if any(start <= token.start < end for start, end in excluded):
            continue
        for replaced, by in _changes(text, tokens, at, cython):
            found.append(Mutant(path.relative_to(ROOT).as_posix(), replaced.start, replaced.text, by))
    return found


def sources() -> dict[str, list[Path]]:
    """Return the files with mutants by the kind of their text; what a template writes is not among them."""
    native = ROOT / "lowprec/_native"
    written = {path.with_suffix("") for path in native.glob("*.pxi.in")}
    cython = [path for path in sorted(native.iterdir()) if is_cython(path) and path not in written]
    return {
        "lowprec/_native/*.h": sorted(native.rglob("*.h")),
        "lowprec/_native/*.pxi": cython,
        "lowprec/*.pyx": sorted((ROOT / "lowprec").glob("*.pyx")),
    }


VARIABLE = "lowprec_mutant"
HEADER = f"""/* The number of the mutant in use, from the environment, when a module is loaded. */
#include <stdlib.h>
int {VARIABLE};
__attribute__((constructor)) static void {VARIABLE}_chosen(void) {{
    const char *number = getenv("LOWPREC_MUTANT");
    {VARIABLE} = number ? atoi(number) : 0;
}}
"""
DECLARATION = f"cdef extern from * nogil:\n    int {VARIABLE}\n"

_ASSIGNMENT = re.compile(r"(?:[-+*/%&|^]|//|<<|>>)?=\Z")
_CONSTANT_ARGUMENTS = re.compile(r"_mm|_MM|LP_|__builtin|[A-Z][A-Z0-9_]+\Z")
_C_ENDS = {";", "{", "}", ",", "?", ":", "return", "else", "do", "case"}
_CYTHON_ENDS = {",", ":", "return", "if", "elif", "else", "for", "while", "raise", "yield", "lambda", "assert", "with"}


class Place(NamedTuple):
    """The expression that holds a change."""

    start: int
    end: int


def _matching(tokens: list[Token], at: int, step: int) -> int:
    depth = 0
    while 0 <= at < len(tokens):
        depth += (tokens[at].text in ("(", "[", "{")) - (tokens[at].text in (")", "]", "}"))
        if depth == 0:
            return at
        at += step
    return at


def _ends(tokens: list[Token], at: int, cython: bool) -> bool:
    token = tokens[at]
    if token.kind == "line" or _ASSIGNMENT.match(token.text):
        return True
    if cython and token.text == "in":  # of a loop, not of a comparison
        return any(before.text == "for" for before in tokens[max(0, at - 6) : at])
    return token.kind != "text" and token.text in (_CYTHON_ENDS if cython else _C_ENDS)


def _constant_call(tokens: list[Token], at: int) -> int | None:
    """Return where the call begins whose arguments hold a place, if it is one of an intrinsic or of a macro."""
    while at > 0 and tokens[at].text not in (";", "{", "}", "["):
        if tokens[at].text == "(":
            return at - 1 if _CONSTANT_ARGUMENTS.match(tokens[at - 1].text) else None
        at = _matching(tokens, at, -1) - 1 if tokens[at].text in (")", "]") else at - 1
    return None


def expression_around(tokens: list[Token], first: int, last: int, cython: bool) -> Place | None:
    """Return the whole expression around some tokens, whose value may be chosen while the program runs.

    The arguments of intrinsics and of macros may have to be constants: the expression is the one around the call.
    """
    call = None if cython else _constant_call(tokens, first - 1)
    if call is not None:
        return expression_around(tokens, call, _matching(tokens, call + 1, 1), cython)
    at = first - 1
    while at >= 0 and not _ends(tokens, at, cython) and tokens[at].text not in ("(", "[", "{"):
        if tokens[at].text in (")", "]"):
            opening = _matching(tokens, at, -1)
            if not cython and tokens[opening - 1].text in ("if", "for", "while", "switch"):
                break
            at = opening
        at -= 1
    start = at + 1
    at = last + 1
    while at < len(tokens) and not _ends(tokens, at, cython) and tokens[at].text not in (")", "]", "}"):
        at = _matching(tokens, at, 1) + 1 if tokens[at].text in ("(", "[", "{") else at + 1
    if at == len(tokens) or start > first or at <= last or (tokens[at].kind != "line" and "=" in tokens[at].text):
        return None
    return Place(tokens[start].start, tokens[at - 1].end)


def places(text: str, mutants: list[Mutant], cython: bool) -> dict[Mutant, Place]:
    """Return the expression of each mutant; those that have none, or one that overlaps an earlier, are left out."""
    tokens = tokens_of(text, cython)
    starts = [token.start for token in tokens]
    found: dict[Mutant, Place] = {}
    for mutant in mutants:
        end = mutant.start + len(mutant.before.rstrip())
        first, last = bisect.bisect_left(starts, mutant.start), bisect.bisect_left(starts, end) - 1
        place = expression_around(tokens, first, last, cython)
        if place is None or place.start > mutant.start or place.end < end:
            continue
        if all(place == other or place.end <= other.start or other.end <= place.start for other in found.values()):
            found[mutant] = place
    return found


def text_with_choices(text: str, numbers: dict[Mutant, int], cython: bool) -> str:
    """Return the text of a file in which the variable chooses between the mutants, by their numbers."""
    by_place: dict[Place, list[Mutant]] = {}
    for mutant, place in places(text, list(numbers), cython).items():
        by_place.setdefault(place, []).append(mutant)
    for place in sorted(by_place, reverse=True):
        whole = text[place.start : place.end]
        chosen = f"({whole})"
        for mutant in by_place[place]:
            start = mutant.start - place.start
            changed = whole[:start] + mutant.after + whole[start + len(mutant.before) :]
            test = f"{VARIABLE} == {numbers[mutant]}"
            chosen = f"(({changed}) if {test} else {chosen})" if cython else f"({test} ? ({changed}) : {chosen})"
        text = text[: place.start] + chosen + text[place.end :]
    return text


MODULES = ("_native.tier_v4", "_native.tier_v3", "_native.tier_base", "_kernels")
COPIED = ("lowprec", "tests", "setup.py", "conftest.py", "pyproject.toml", "README.md", "docs")
FLAGS = ["-O1", "-include", "mutant_choice.h"]
BUILD = f"""
import runpy
setup = runpy.run_path("setup.py", run_name="setup")
setup["GNU_FLAGS"][0:1] = {FLAGS}
modules = [module for module in setup["modules"]() if module.name.removeprefix("lowprec.") in {MODULES}]
setup["setup"](
    name="lowprec", py_modules=[], packages=[], cmdclass={{"build_ext": setup["BuildKernels"]}}, ext_modules=modules,
    script_args=["build_ext", "--inplace"],
)
"""

# The tests of a file: those of the first pattern that it matches. The quick ones come first, and the first failure ends
# a run.
_CASTS = [
    "tests/ops/cast/test_cast_layouts.py", "tests/native/test_programs.py", "tests/spec/test_packing.py",
    "tests/ops/cast/test_cast_sweeps.py", "tests/native/test_fused_loops.py",
]  # fmt: skip
_BLOCKS = ["tests/ops/blocks/test_whole_blocks.py", "tests/ops/blocks/test_mx.py", "tests/ops/blocks/test_nvfp4.py"]
_QUOTIENTS = [
    "tests/ops/quantize/test_quotients.py", "tests/native/test_fused_scales.py",
    "tests/proof/test_random_calls.py",
]  # fmt: skip
_ROUNDINGS = ["tests/native/test_rounding_loops.py", "tests/native/test_stochastic_loops.py"]
_ERRORS = ["tests/loss/test_error_stats.py", "tests/ops/quantize/test_quantize_errors.py"]
_CALLS = ["tests/backends/test_known_calls.py", "tests/native/test_fused_scales.py"]
_THREADS = ["tests/native/test_threads.py", "tests/native/test_stream_output.py"]
TESTS = {
    "*/vector_kernels/round.h": [*_ROUNDINGS, "tests/ops/cast/test_rounding_against_peers.py"],
    "*/vector_kernels/packing.h": ["tests/spec/test_packing.py", "tests/native/test_vector_loops.py"],
    "*/vector_kernels/mx_nvfp4_blocks.h": [*_BLOCKS, "tests/native/test_block_loops.py"],
    "*/vector_kernels/quantize.h": _QUOTIENTS, "*/instruction_sets/*": [*_CASTS, *_QUOTIENTS],
    "*/philox.h": ["tests/reference/test_philox.py", *_ROUNDINGS, *_BLOCKS], "*rounding*": _ROUNDINGS,
    "*/scalar_kernels.h": [*_CASTS, *_ROUNDINGS, *_QUOTIENTS, "tests/spec/test_convertible_formats.py"],
    "*/scalar_block_kernels.h": _BLOCKS, "*/block_*.pxi*": [*_BLOCKS, "tests/ops/blocks/test_block_arguments.py"],
    "*/blocks.pxi": [*_BLOCKS, "tests/ops/blocks/test_block_arguments.py", "tests/native/test_block_loops.py"],
    "*/ggml_*": ["tests/native/test_block_loops.py"], "*/error_*": _ERRORS, "*/compare_arrays.pxi": _ERRORS,
    "*/range*": ["tests/ops/quantize/test_scales.py", "tests/ops/quantize/test_dynamic_quantize.py",
                 "tests/ops/blocks/test_nvfp4.py"],
    "*/torch_tensors.pxi": ["tests/backends/test_small_calls.py", "tests/arrays/test_torch_tensor_kinds.py"],
    "*/call_cache.pxi": [
        "tests/native/test_programs.py", "tests/backends/test_small_calls.py", *_CALLS,
        "tests/backends/test_known_scales.py", *_QUOTIENTS,
    ],
    "*/array_calls.pxi": ["tests/backends/test_known_scales.py"], "*/scale*": [*_QUOTIENTS, *_CALLS],
    "*/repeat_scales.pxi": [*_QUOTIENTS, *_CALLS], "*/streaming_*": [*_THREADS, *_CASTS],
    "*/programs.pxi": [*_THREADS, *_CASTS, *_QUOTIENTS], "*/dense_arrays.pxi": [*_THREADS, *_CASTS, *_QUOTIENTS],
    "*/random_numbers.pxi": ["tests/reference/test_philox.py", *_ROUNDINGS],
    "*/_kernels.pyx": ["tests/native/test_programs.py", *_CASTS, "tests/native/test_build_info.py"],
    "*": [*_CASTS, *_QUOTIENTS, *_ROUNDINGS],
}  # fmt: skip
# What a mutant that outlives those has to outlive too.
WIDER = sorted({name for tests in TESTS.values() for name in tests})


def tests_of(path: str) -> list[str]:
    """Return the tests of a file."""
    return next(tests for pattern, tests in TESTS.items() if fnmatch.fnmatch(path, pattern))


def _numbers_in_message(message: str, folder: Path) -> set[int]:
    """Return the numbers of the mutants in the lines that a compiler names."""
    numbers: set[int] = set()
    for name, line in set(re.findall(r"(?m)([\w./-]+\.(?:h|pxi|pyx|pxd|c)):(\d+)", message)):
        path = Path(name) if name.startswith("/") else folder / name
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        near = lines[int(line) - 1 : int(line)] if path.suffix == ".c" else lines[max(0, int(line) - 3) : int(line) + 2]
        numbers |= {int(number, 0) for number in re.findall(rf"{VARIABLE} == (\w+)", " ".join(near))}
    return numbers


def build(folder: Path, mutants: list[Mutant]) -> dict[Mutant, int]:
    """Build a copy in an empty folder; return the numbers of the mutants that it has.

    Those whose choice does not compile are left out, as are those of text that no module has here.
    """
    numbers = {mutant: number for number, mutant in enumerate(mutants, 1)}
    ignored = shutil.ignore_patterns("__pycache__", "explorer", "*.so.debug")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=None if name == "lowprec" else ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / "lowprec/_native/mutant_choice.h").write_text(HEADER, encoding="utf-8")
    while True:
        for name in {mutant.path for mutant in mutants}:
            own = {mutant: number for mutant, number in numbers.items() if mutant.path == name}
            text = (ROOT / name).read_text(encoding="utf-8")
            (folder / name).write_text(text_with_choices(text, own, is_cython(Path(name))), encoding="utf-8")
        for module in MODULES:
            path = folder / f"lowprec/{module.replace('.', '/')}.pyx"
            text = path.read_text(encoding="utf-8")
            first = text.index("\n", text.index('"""', 3)) + 1
            if DECLARATION not in text:
                path.write_text(text[:first] + DECLARATION + text[first:], encoding="utf-8")
        # cythonize() compares times, and a copy keeps those of the files it is made from
        for written in [*folder.glob("lowprec/**/tier_*.c"), folder / "lowprec/_kernels.c"]:
            written.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, "-c", BUILD], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        refused = _numbers_in_message(done.stdout + done.stderr, folder) & set(numbers.values())
        if not refused:
            raise RuntimeError(f"the build with mutants failed:\n{(done.stdout + done.stderr)[-4000:]}")
        print(f"left out, since their choice does not compile: {sorted(refused)}", flush=True)
        numbers = {mutant: number for mutant, number in numbers.items() if number not in refused}
    compiled = _compiled_numbers(folder)
    return {mutant: number for mutant, number in numbers.items() if number in compiled}


def _compiled_numbers(folder: Path) -> set[int]:
    """Return the numbers that are left after the preprocessor: other platforms' text has gone."""
    numbers: set[int] = set()
    flags = {"_native.tier_v4": ["-march=x86-64-v4"], "_native.tier_v3": ["-march=x86-64-v3"], "_kernels": ["-fopenmp"]}
    for module in MODULES:
        folders = ["-Ilowprec/_native", f"-I{numpy.get_include()}", f"-I{sysconfig.get_path('include')}"]
        source = f"lowprec/{module.replace('.', '/')}.c"
        text = subprocess.run(
            ["gcc", "-E", "-P", "-O1", *folders, *flags.get(module, []), source], cwd=folder, capture_output=True,
            text=True, check=True,
        ).stdout  # fmt: skip
        numbers |= {int(number.rstrip("uUlL"), 0) for number in re.findall(rf"{VARIABLE} == (\w+)", text)}
    return numbers


class Result(NamedTuple):
    """How the tests ended: `killed`, `killed by a signal`, `killed by time` or `survived`."""

    end: str
    seconds: float
    test: str  # that failed


LIMIT = """
import os, time, pytest

def pytest_runtest_logfinish(nodeid, location):
    if time.process_time() > int(os.environ["LOWPREC_LIMIT"]):
        pytest.exit("no further test begins", returncode=0)
"""
"""A plugin of pytest: after so many seconds of a core the tests that are left are not run."""


def run_tests(folder: Path, number: int, tests: list[str], limit: int) -> Result:
    """Run tests of the copy with a mutant, 0 for none, until one fails or `limit` seconds of a core have passed.

    What takes ten times as long is taken to have no end.
    """
    (folder / "mutant_limit.py").write_text(LIMIT, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-q", "-p", "mutant_limit", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"LOWPREC_MUTANT": str(number), "LOWPREC_LIMIT": str(limit)}
    environment["PYTHONPATH"] = f"{folder}{os.pathsep}{folder / 'tests'}"
    began = time.monotonic()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            text, _ = process.communicate(timeout=10 * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the processes of its tests too
            return Result("killed by time", time.monotonic() - began, "")
    seconds = time.monotonic() - began
    if process.returncode < 0:
        return Result("killed by a signal", seconds, signal.Signals(-process.returncode).name)
    if process.returncode > 1 and number == 0:  # with a mutant the import fails, or the collection
        raise RuntimeError(f"the tests do not run:\n{text[-2000:]}")
    failed = re.search(r"(?m)^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text)
    return Result("killed" if process.returncode else "survived", seconds, failed[1] if failed else "")


def draw(seed: int, count: int, only: str) -> dict[str, list[Mutant]]:
    """Return `count` mutants of each kind of text, drawn among all of its mutants that can be chosen in one build."""
    drawn = {}
    for kind, paths in sources().items():
        mutants = [mutant for path in paths if only in path.name for mutant in find(path)]
        random.Random(f"{seed} {kind}").shuffle(mutants)
        chosen: list[Mutant] = []
        for path in paths:
            own = [mutant for mutant in mutants if mutant.path == path.relative_to(ROOT).as_posix()]
            chosen += places(path.read_text(encoding="utf-8"), own, is_cython(path))
        possible = set(chosen)
        drawn[kind] = [mutant for mutant in mutants if mutant in possible][:count]
    return drawn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20, help="of the draw; default: %(default)s")
    parser.add_argument("--draw", type=int, default=30, help="mutants of each kind of text; default: %(default)s")
    parser.add_argument("--only", default="", help="files whose names have this text")
    parser.add_argument("--limit", type=int, default=60, help="seconds of a core for the tests of one mutant")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tested at the same time")
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"), help="where the copy is built")
    arguments = parser.parse_args()
    drawn = draw(arguments.seed, arguments.draw, arguments.only)
    rows = tomllib.loads((ROOT / "tests/proof/mutant_survivors_native.toml").read_text(encoding="utf-8"))["survivor"]
    reasons = {(row["path"], row["before"], row["after"]): row["reason"] for row in rows}
    wanted = [mutant for mutants in drawn.values() for mutant in mutants]
    results: dict[Mutant, Result] = {}
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        folder = Path(name)
        numbers = build(folder, wanted)
        run_tests(folder, 0, ["--collect-only", *WIDER], arguments.limit)
        print(f"seed {arguments.seed}; {len(numbers)} of {len(wanted)} mutants compiled", flush=True)

        def judge(mutant: Mutant) -> None:
            result = run_tests(folder, numbers[mutant], tests_of(mutant.path), arguments.limit)
            if result.end == "survived":
                result = run_tests(folder, numbers[mutant], WIDER, 10 * arguments.limit)
            results[mutant] = result
            print(f"{result.end}, {result.seconds:.1f} s {result.test}\n{mutant}", flush=True)

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(judge, numbers))
        killing = {result.test for result in results.values() if result.test.startswith("tests/")}
        unchanged = run_tests(folder, 0, sorted(killing), 10 * arguments.limit)
    survivors = [mutant for mutant, result in results.items() if result.end == "survived"]
    counts = {
        kind: collections.Counter(results[mutant].end for mutant in mutants if mutant in results)
        for kind, mutants in drawn.items()
    }
    for kind, ends in counts.items():
        print(f"{kind}: {ends.total()} mutants, {ends.total() - ends['survived']} killed; {dict(ends)}")
    print(f"without a mutant, the tests that killed: {unchanged.end.replace('survived', 'pass')}")
    unexplained = [mutant for mutant in survivors if mutant.change() not in reasons]
    for mutant in survivors:
        print(f"survived: {mutant}\n  {reasons.get(mutant.change(), 'not explained')}")
    print(circumstances())
    return bool(unexplained) or unchanged.end != "survived"


if __name__ == "__main__":
    sys.exit(main())
