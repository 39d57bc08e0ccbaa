"""Mutants of C and Cython text, found by its tokens: comparisons, constants, signs, shifts, masks, removed checks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from .mutant import Mutant

C_SUFFIXES = (".h", ".cuh")
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


def find(path: Path, root: Path) -> list[Mutant]:
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
            line = text.count("\n", 0, replaced.start) + 1
            column = replaced.start - (text.rfind("\n", 0, replaced.start) + 1)
            found.append(Mutant(path.relative_to(root).as_posix(), line, column, replaced.text, by))
    return found


def sources(root: Path) -> dict[str, list[Path]]:
    """Return the files with mutants by the kind of their text; what a template writes is not among them."""
    native = root / "lowprec/_native"
    written = {path.with_suffix("") for path in native.glob("*.pxi.in")}
    cython = [path for path in sorted(native.iterdir()) if is_cython(path) and path not in written]
    return {
        "lowprec/_native/*.h": sorted(native.rglob("*.h")),
        "lowprec/_native/*.pxi": cython,
        "lowprec/*.pyx": sorted((root / "lowprec").glob("*.pyx")),
    }
