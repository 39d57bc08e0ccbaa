"""Fuzzing of every reader of checkpoints, guided by coverage: `pip install atheris`, then see --help.

Each input is a file in memory that `inspect`, `open` with every tensor, `check` and, for one in eight, `convert` get. A
result or a FileError of one line that names the file is right; all else is a defect: another exception, a warning, a
file left behind, 5 s of processor time, 512 MiB of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READERS = ("safetensors", "npy", "npz", "onnx", "index", "config", "gguf")
MEMORY = 512 << 20
TURN = 20_000
"""Inputs of a reader before the next one's turn, where all are read: what is stopped early has read of all kinds."""

ROUNDS = 80
"""At most so many turns of each reader: a turn begins with seconds of instrumentation."""

SHARES = {"npz": 1 / 2, "config": 1 / 4}
"""Shorter turns: an input of these readers takes two and six times as long as the mean of the others."""

LARGEST = 1 << 13

MOST_KEPT = 36
"""Inputs of a reader in the repository, the smallest first."""

FROM_SEEDS = 0.3
"""The share of inputs that are mutations of whole files: most of what has been found new is refused early."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", choices=[*READERS, "all"], default="all")
    parser.add_argument("--inputs", type=int, default=100_000, help="how many in all (100000)")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many, whatever --inputs says")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="a folder for the grown corpus and defects; kept, and used again")
    parser.add_argument("--keep", action="store_true", help="renew the corpus of the repository from that of --work")
    parser.add_argument("--replay", type=Path, nargs="+", help="give these files to --reader, without atheris")
    return parser.parse_args()


def memory_folder() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def limit_memory() -> None:
    """Let the process have so much more than it has now: a MemoryError is a defect then."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def replay(reader: str, files: list[Path]) -> int:
    from support.fuzz.reading import DefectError, Examiner

    status = 0
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        examiner = Examiner(reader, Path(name))
        for file in files:
            try:
                print(f"{file}: {examiner.examine(file.read_bytes()) or 'read'}", end="\n")
            except DefectError as error:
                status = 1
                print(f"{file}: DEFECT: {error}")
                if error.__cause__:
                    import traceback

                    traceback.print_exception(error.__cause__)
    return status


def keep(reader: str, grown: Path) -> None:
    """Renew the corpus of a reader: the smallest input for each kind of outcome, and what was a defect once."""
    from support.fuzz.reading import DefectError, Examiner, kind_of
    from support.fuzz.seeds import corpus_of, keep_corpus, seeds_of

    before = corpus_of(reader)
    kept = {name: content for name, content in before.items() if name.startswith("defect-")}
    once = list(kept.values())
    grown_inputs = [file.read_bytes() for file in grown.iterdir()] if grown.is_dir() else []
    found = ({*before.values(), *grown_inputs, *seeds_of(reader)}).difference(once)
    kinds: set[str] = set()
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        examiner = Examiner(reader, Path(name))
        for content in [*once, *sorted(found, key=lambda one: (len(one), one))]:
            try:
                kind = kind_of(examiner.examine(content))
            except DefectError:
                continue
            if kind not in kinds and len(kinds) < MOST_KEPT and content not in once:
                kept[f"kind-{len(kinds):02}"] = content
            kinds.add(kind)
    keep_corpus(reader, kept)
    print(f"{reader}: {len(kept)} inputs, {sum(map(len, kept.values())):,} bytes")


def fuzz(reader: str, inputs: int, minutes: float, seed: int, work: Path) -> None:
    """Give inputs to one reader, then leave the process: libFuzzer does not return."""
    import atheris

    with atheris.instrument_imports(include=["lowprec.checkpoints"]):
        import lowprec.checkpoints  # noqa: F401
    from support.fuzz.mutations import mutate
    from support.fuzz.reading import DefectError, Examiner, kind_of
    from support.fuzz.seeds import corpus_of, seeds_of

    grown, defects = work / reader, work / "defects"
    grown.mkdir(parents=True, exist_ok=True)
    defects.mkdir(exist_ok=True)
    seeds = seeds_of(reader)
    for place, content in enumerate(seeds):
        (grown / f"seed{place}").write_bytes(content)
    for name, content in corpus_of(reader).items():
        (grown / name).write_bytes(content)
    folder = Path(tempfile.mkdtemp(dir=memory_folder()))
    examiner = Examiner(reader, folder)
    examiner.examine((grown / "seed0").read_bytes())
    counts = {"inputs": 0, "defects": 0}
    kinds: dict[str, str] = {}
    end = time.monotonic() + 60 * minutes
    limit_memory()

    def leave() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        result = {**counts, **examiner.outcomes, "kinds": kinds}
        (work / f"{reader}.json").write_text(json.dumps(result), encoding="utf-8")
        sys.stdout.flush()
        os._exit(counts["defects"] > 0)

    def one(content: bytes) -> None:
        try:
            examiner.examine(content)
        except DefectError as error:
            counts["defects"] += 1
            kind = kind_of(str(error))
            if kind not in kinds:
                kinds[kind] = str(defects / f"{reader}-{seed}-{len(kinds)}")
                Path(kinds[kind]).write_bytes(content)
                print(
                    f"{reader}: DEFECT: {error}\n  python {__file__} --reader {reader} --replay {kinds[kind]}",
                    flush=True,
                )
        counts["inputs"] += 1
        if counts["inputs"] >= inputs or time.monotonic() > end:
            leave()

    def change(content: bytes, largest: int, number: int) -> bytes:
        rng = random.Random(number)
        if rng.random() < FROM_SEEDS:
            content = rng.choice(seeds)
        return mutate(reader, content, rng, largest) if rng.random() < 0.75 else atheris.Mutate(content, largest)

    options = [
        f"-seed={seed}", f"-max_len={LARGEST}", "-timeout=300", "-rss_limit_mb=0", "-verbosity=0", "-len_control=0",
    ]  # fmt: skip
    options += [
        f"-artifact_prefix={defects}/{reader}-{seed}-", "-report_slow_units=100000", "-use_value_profile=0",
        "-detect_leaks=0", "-reload=0",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], str(grown), *options], one, custom_mutator=change)
    atheris.Fuzz()


def run_all(inputs: int, minutes: float, seed: int, work: Path) -> int:
    """Give inputs to each reader in turn, in processes of their own, until there were enough."""
    total, status, end, round_number = dict.fromkeys(READERS, 0), 0, time.monotonic() + 60 * minutes, 0
    kinds: dict[str, str] = {}
    started = time.monotonic()
    while sum(total.values()) < inputs and time.monotonic() < end:
        for reader in READERS:
            turn = int(SHARES.get(reader, 1) * max(TURN, inputs // ROUNDS))
            left = min(turn, inputs - sum(total.values()))
            minutes_left = (end - time.monotonic()) / 60
            if left <= 0 or minutes_left <= 0:
                break
            result = work / f"{reader}.json"
            result.unlink(missing_ok=True)
            command = [sys.executable, __file__, "--reader", reader, "--inputs", str(left), "--work", str(work)]
            command += ["--minutes", str(minutes_left), "--seed", str(seed + round_number)]
            code = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
            status |= code.returncode != 0
            if result.exists():
                found = json.loads(result.read_text(encoding="utf-8"))
                total[reader] += found["inputs"]
                kinds |= found["kinds"]
            else:
                print(f"{reader}: ended with {code.returncode}; {code.stderr[-2000:]}", flush=True)
                return 1
        round_number += 1
        each = ", ".join(f"{reader} {count:,}" for reader, count in total.items())
        print(
            f"{sum(total.values()):,} inputs ({each}), {len(kinds)} defects, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return status


def main() -> None:
    given = arguments()
    if given.replay:
        sys.exit(replay(given.reader, given.replay))
    if given.keep:
        for reader in READERS if given.reader == "all" else [given.reader]:
            keep(reader, given.work / reader)
        return
    work = given.work or Path(tempfile.mkdtemp(prefix="lowprec-fuzz-"))
    work.mkdir(parents=True, exist_ok=True)
    if given.reader != "all":
        fuzz(given.reader, given.inputs, given.minutes, given.seed, work.resolve())
    print(f"seed {given.seed}", flush=True)
    status = run_all(given.inputs, given.minutes, given.seed, work.resolve())
    from support.long_run import circumstances

    print(f"seed {given.seed}; grown corpus in {work}; {circumstances()}")
    sys.exit(status)


if __name__ == "__main__":
    main()
