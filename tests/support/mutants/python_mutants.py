"""The mutants of a Python file: what could be changed in its code, found in the syntax tree."""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from support.mutants.mutant import Mutant
from support.paths import ROOT

COMPARISONS = {  # "is not" and "not in" are written with one blank
    "<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("!=",), "!=": ("==",),
    "in": ("not in",), "not in": ("in",), "is": ("is not",), "is not": ("is",),
}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "<<": ">>", ">>": "<<", "*": "//", "//": "*", "&": "|", "|": "&"}
NAMES = {"min": "max", "max": "min", "all": "any", "any": "all"}
CHECK = re.compile(r"_?(check|require|refuse|reject|validate|verify|ensure|forbid|raise)(_|$)")
LOOKS = {
    "anchor", "border", "columns", "filled", "gap", "gradientLength", "grid", "height", "horizontal", "labelAngle",
    "labelLimit", "labelOverlap", "labelSeparation", "minBandSize", "opacity", "padding", "paddingInner", "range",
    "show_spinner", "size", "strokeDash", "strokeWidth", "symbolOpacity", "symbolSize", "symbolStrokeWidth",
    "thickness", "tickCount", "ticks", "width", "wrap_lines", "yOffset",
}  # fmt: skip
"""Constants of the explorer with these names are left alone: how a page looks is for people to judge."""
NOT_CODE = {"TYPE_CHECKING", "__name__"}  # `if` with one of these is left alone


def find(path: str | Path, root: Path = ROOT) -> list[Mutant]:
    """Return the mutants of a file under `root`, in the order of the text."""
    path = Path(path)
    name = (path.relative_to(root) if path.is_absolute() else path).as_posix()
    return sorted(find_in_text((root / name).read_text(encoding="utf-8"), name))


def find_in_text(text: str, path: str) -> list[Mutant]:
    """Return the mutants of the text of a file."""
    return list(_Finder(text, path).of_tree())


class _Finder:
    """Walks the tree; the text between two nodes says where an operator is."""

    def __init__(self, text: str, path: str) -> None:
        self._path = path
        self._lines = text.splitlines(keepends=True)
        self._tree = ast.parse(text)
        self._tokens = [
            token
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in (tokenize.OP, tokenize.NAME)
        ]

    def of_tree(self) -> Iterator[Mutant]:
        for statement in self._tree.body:
            yield from self._of_node(statement)

    # Where a node is

    def _start(self, node: ast.AST) -> tuple[int, int]:
        """Return line and column in characters: the tree counts bytes."""
        return node.lineno, self._characters(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> tuple[int, int]:
        return node.end_lineno, self._characters(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _characters(self, line: int, column: int) -> int:
        return len(self._lines[line - 1].encode()[:column].decode())

    def _text(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        if start[0] == end[0]:
            return self._lines[start[0] - 1][start[1] : end[1]]
        between = self._lines[start[0] : end[0] - 1]
        return self._lines[start[0] - 1][start[1] :] + "".join(between) + self._lines[end[0] - 1][: end[1]]

    def _replaced(self, node: ast.AST, after: str) -> Mutant:
        start = self._start(node)
        return Mutant(self._path, *start, self._text(start, self._end(node)), after)

    def _operator(self, left: ast.AST, right: ast.AST, text: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return where the operator between two nodes starts and ends."""
        words = text.split()
        first, last = (
            bisect.bisect_left(self._tokens, place, key=_place) for place in (self._end(left), self._start(right))
        )
        between = self._tokens[first:last]
        for first in range(len(between) - len(words) + 1):
            if [token.string for token in between[first : first + len(words)]] == words:
                return between[first].start, between[first + len(words) - 1].end
        return None

    def _changed_operator(self, left: ast.AST, right: ast.AST, text: str, after: str) -> Iterator[Mutant]:
        place = self._operator(left, right, text)
        if place is not None:
            yield Mutant(self._path, *place[0], self._text(*place), after)

    # What can be changed in it

    def _of_node(self, node: ast.AST) -> Iterator[Mutant]:
        if _is_no_code(node):
            return
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if not self._is_look(getattr(key, "value", None), value):
                    yield from self._of_node(value)
            return
        if isinstance(node, ast.keyword) and self._is_look(node.arg, node.value):
            return
        of_kind = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if of_kind is not None:
            yield from of_kind(node)
        widths = []
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "columns":
            widths = node.args[:1]
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "exc", "cause", "bases", "type_params", "msg"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.arg):
                    continue
                if isinstance(child, ast.AST) and not (child in widths and self._is_look("columns", child)):
                    yield from self._of_node(child)

    def _is_look(self, name: object, value: ast.AST) -> bool:
        """Whether a named value says, in constants alone, how a page of the explorer looks."""
        is_named = isinstance(name, str) and name in LOOKS and self._path.startswith("explorer/")
        return is_named and not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(value))

    def _of_compare(self, node: ast.Compare) -> Iterator[Mutant]:
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            text = _SYMBOLS[type(operator)]
            for after in COMPARISONS[text]:
                yield from self._changed_operator(left, right, text, after)

    def _of_binop(self, node: ast.BinOp) -> Iterator[Mutant]:
        text = _SYMBOLS.get(type(node.op), "")
        if text in ARITHMETIC and not _has_text(node):
            yield from self._changed_operator(node.left, node.right, text, ARITHMETIC[text])

    def _of_augassign(self, node: ast.AugAssign) -> Iterator[Mutant]:
        text = _SYMBOLS.get(type(node.op), "")
        if text in ARITHMETIC and not _has_text(node.value):
            yield from self._changed_operator(node.target, node.value, text + "=", ARITHMETIC[text] + "=")

    def _of_boolop(self, node: ast.BoolOp) -> Iterator[Mutant]:
        text, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self._changed_operator(left, right, text, after)

    def _of_unaryop(self, node: ast.UnaryOp) -> Iterator[Mutant]:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            operand = self._text(self._start(node.operand), self._end(node.operand))
            yield self._replaced(node, f"({operand})" if isinstance(node.operand, ast.NamedExpr) else operand)

    def _of_constant(self, node: ast.Constant) -> Iterator[Mutant]:
        value = node.value
        if isinstance(value, bool):
            yield self._replaced(node, str(not value))
        elif isinstance(value, int):
            for after in {value + 1, value - 1, *({1 - value} if value in (0, 1) else ())}:
                yield self._replaced(node, str(after) if after >= 0 else f"({after})")
        elif isinstance(value, float) and value == value:
            yield self._replaced(node, repr(value + 1.0))

    def _of_call(self, node: ast.Call) -> Iterator[Mutant]:
        if isinstance(node.func, ast.Name) and node.func.id in NAMES:
            yield self._replaced(node.func, NAMES[node.func.id])
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("minimum", "maximum", "all", "any"):
            swapped = {"minimum": "maximum", "maximum": "minimum", **NAMES}[node.func.attr]
            line, column = self._end(node.func)
            yield Mutant(self._path, line, column - len(node.func.attr), node.func.attr, swapped)

    def _of_if(self, node: ast.If) -> Iterator[Mutant]:
        if isinstance(node.body[-1], ast.Raise) and not node.orelse:
            yield self._replaced(node.test, "False")

    def _of_raise(self, node: ast.Raise) -> Iterator[Mutant]:
        yield self._replaced(node, "pass")

    def _of_expr(self, node: ast.Expr) -> Iterator[Mutant]:
        call = node.value
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if CHECK.match(name):
                yield self._replaced(node, "pass")

    def _of_return(self, node: ast.Return) -> Iterator[Mutant]:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield self._replaced(node, "return None")


def _place(token: tokenize.TokenInfo) -> tuple[int, int]:
    return token.start


def _is_no_code(node: ast.AST) -> bool:
    """Whether a node is text, a type, a list of names, or is not run by a test."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Delete):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If):
        return bool(NOT_CODE & {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)})
    if isinstance(node, ast.Assign):  # __all__, and names of types
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return "__all__" in names or "__slots__" in names or _is_type(node.value)
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ("cast", "TypeVar", "NewType", "overload")
    return type(node).__name__ == "TypeAlias"


def _is_type(value: ast.AST) -> bool:
    """Whether an expression is a union of types, or a type with parameters: `A | B`, `Callable[[int], str]`."""
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Name) and value.value.id[:1].isupper() and not value.value.id.isupper()
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return _is_type(value.left) or _is_type(value.right) or getattr(value.right, "value", 0) is None
    return False


def _has_text(node: ast.AST) -> bool:
    """Whether an operand is a text: `+` joins texts, and `-` of them is an error that no test needs to find."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str | bytes))
        for part in (getattr(node, "left", node), getattr(node, "right", node))
    )


_SYMBOLS: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
    ast.Add: "+", ast.Sub: "-", ast.LShift: "<<", ast.RShift: ">>", ast.Mult: "*", ast.FloorDiv: "//",
    ast.BitAnd: "&", ast.BitOr: "|",
}  # fmt: skip
