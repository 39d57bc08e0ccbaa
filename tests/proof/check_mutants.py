"""Breaks Python functions, one change at a time, by mutmut, and names the changes that no test notices.

    PYTHONPATH=tests python tests/proof/check_mutants.py --seed 20 --count 20 --folder lowprec/spec lowprec/plans

Of each folder `--count` mutants are drawn. They run in a copy of the repository, in which the explorer stands where an
installed package has it: first the tests of their folder that execute the function, then, for what outlives those, all
quick tests of the folders in `FOLDERS`, in a process of its own. Exit status 1: a survivor that `mutant_survivors.toml`
does not explain, by its file and the lines of its diff.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.utils.format_utils import get_mutant_name
from support.long_run import circumstances
from support.paths import ROOT, TESTS

FOLDERS = {  # folder of the package -> the folders of tests that test it, its own first
    "spec": ["spec", "ops"], "reference": ["reference"], "teaching": ["teaching"], "arrays": ["arrays", "spec"],
    "plans": ["spec", "ops"], "backends": ["backends", "native", "ops"], "loss": ["loss"], "onnx": ["onnx_models"],
    "ops": ["ops", "torch_ops", "backends", "spec"], "conformance": ["conformance"], "cli": ["cli"],
    "checkpoints": ["checkpoints", "proof"], "explorer": ["explorer"], "lowprec": ["native", "project"],
}  # fmt: skip
NOTICED = {1: "killed", 2: "killed", 3: "killed", 36: "killed by time", -24: "killed by time", -9: "killed by time"}
NOT_NOTICED = (0, 5, 33)  # the tests passed, or none executes the function
MUTMUT = [sys.executable, "-c", "from mutmut.__main__ import cli; cli()"]
PATIENCE = 1800  # seconds of the second tests of a mutant


def sources() -> dict[str, list[Path]]:
    """Return the Python files of each folder, relative to the root, as an installed package has them."""
    found: dict[str, list[Path]] = {}
    for path in sorted([*(ROOT / "lowprec").rglob("*.py"), *(ROOT / "explorer").rglob("*.py")]):
        name = path.relative_to(ROOT)
        name = "lowprec" / name if name.parts[0] == "explorer" else name
        if name.parent.name != "_native":  # its Python text writes loops when the package is built
            found.setdefault(name.parent.as_posix(), []).append(name)
    return found


def here(name: Path) -> Path:
    """Return where a file of the installed package is in the repository."""
    return ROOT / (name.relative_to("lowprec") if name.parts[1] == "explorer" else name)


def copy_repository(folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "_build", "*.c", "corpus")
    for name in ("lowprec", "explorer", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copytree(ROOT / "explorer", folder / "lowprec/explorer", ignore=ignored)
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*.py"), *ROOT.glob("*.toml")]:
        shutil.copy(path, folder)


class Draw:
    """The mutants drawn of one folder of the package, in a copy of the repository."""

    def __init__(self, folder: str, files: list[Path], seed: int, count: int, copy: Path):
        self.copy = copy
        self.paths = {}  # of each mutant
        self.functions = self.left_out = 0
        for path in files:
            text = here(path).read_text(encoding="utf-8")
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
            self.functions += len(nodes)
            taken = ([], ["staticmethod"], ["classmethod"])
            self.left_out += sum([ast.unparse(one) for one in node.decorator_list] not in taken for node in nodes)
            for name in mutate_file_contents(str(path), text).mutant_names:
                self.paths[get_mutant_name(path, name)] = path
        self.total = len(self.paths)
        names = random.Random(f"{seed} {folder}").sample(sorted(self.paths), min(count, self.total))
        self.paths = {name: self.paths[name] for name in names}
        part = folder.split("/")[1] if "/" in folder else folder
        own, *others = [f"tests/{name}" for name in FOLDERS[part]]
        beside = own + folder.removeprefix(f"lowprec/{part}")  # a test stands where its module stands
        self.tests = beside if (ROOT / beside).is_dir() else own
        self.wider = [own, *others]
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(copy / "mutants")}

    def run(self, jobs: int) -> dict[str, str]:
        """Return how each mutant ended."""
        shutil.rmtree(self.copy / "mutants", ignore_errors=True)
        (self.copy / "mutants").mkdir()  # at once: Python remembers that a folder of its path is missing
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        own = {"only_mutate": sorted({str(path) for path in self.paths.values()}),
               "pytest_add_cli_args_test_selection": [self.tests]}  # fmt: skip
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
        (self.copy / "pyproject.toml").write_text(text.replace("[tool.mutmut]\n", f"[tool.mutmut]\n{lines}"))
        command = [*MUTMUT, "run", "--max-children", str(jobs), *self.paths]
        done = subprocess.run(command, cwd=self.copy, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stdout + done.stderr).rpartition("Running ")[2])
        ends = {}
        for name, path in self.paths.items():
            code = json.loads((self.copy / f"mutants/{path}.meta").read_text())["exit_code_by_key"][name]
            ends[name] = self._again(name) if code in NOT_NOTICED else NOTICED.get(code, "killed by a crash")
        return ends

    def _again(self, name: str) -> str:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *self.wider]
        environment = {**self.environment, "MUTANT_UNDER_TEST": name}
        try:
            done = subprocess.run(
                command, cwd=self.copy / "mutants", env=environment, capture_output=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return "killed by time"
        return "killed" if done.returncode else "survived"

    def change(self, name: str) -> tuple[str, str, str]:
        """Return the file of a mutant in the repository, and the lines before and after the change."""
        command = [*MUTMUT, "show", name]
        text = subprocess.run(command, cwd=self.copy, env=self.environment, capture_output=True, text=True, check=True)
        diff = [line for line in text.stdout.splitlines() if not line.startswith(("---", "+++", "#"))]
        before, after = (" ".join(line[1:].strip() for line in diff if line[:1] == sign) for sign in "-+")
        return here(self.paths[name]).relative_to(ROOT).as_posix(), before, after


def main() -> int:
    folders = sources()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20, help="of the draw; default: %(default)s")
    parser.add_argument("--count", type=int, default=20, help="mutants of each folder; default: %(default)s")
    parser.add_argument("--folder", nargs="+", choices=sorted(folders), metavar="FOLDER", help="instead of all folders")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time; default: %(default)s")
    arguments = parser.parse_args()
    rows = tomllib.loads((TESTS / "proof/mutant_survivors.toml").read_text(encoding="utf-8"))["survivor"]
    reasons = {(row["path"], row["before"], row["after"]): row["reason"] for row in rows}
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        copy_repository(Path(name))
        for folder in arguments.folder or folders:
            draw = Draw(folder, folders[folder], arguments.seed, arguments.count, Path(name))
            ends: Counter[str] = Counter(drawn=len(draw.paths), mutants=draw.total)
            ends.update({"functions": draw.functions, "decorated and left out": draw.left_out})
            for mutant, end in draw.run(arguments.jobs).items() if draw.paths else ():
                if end == "survived":
                    change = draw.change(mutant)
                    end += " with a reason" if change in reasons else ""
                    print(f"{end}: {mutant}\n  - {change[1]}\n  + {change[2]}\n  {reasons.get(change, '')}", flush=True)
                ends[end] += 1
            print(f"{folder}: {dict(ends)}", flush=True)
            total += ends
    print(f"seed {arguments.seed}: {dict(total)}\n{circumstances()}")
    return 1 if total["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
