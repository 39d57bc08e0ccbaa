"""The node cases of 17 releases of onnx, 1.14.0 to 1.23.2, at the opset of each: every element compared bit for bit.

Wheels come from a folder; with --download they are put there first, by `pip download --no-deps onnx==VERSION`. Every
difference is one that docs/onnx.md names and explains; any other, and any other number of cases or elements, fails.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from support.long_run import circumstances
from support.onnx_releases import DECIDED, RELEASES, Difference, cases_of_wheel, decision, differences


def download(release: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    subprocess.run([*command, f"onnx=={release}"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True, help="the folder of the wheels")
    parser.add_argument("--download", action="store_true", help="download those that are not there")
    parser.add_argument("--list", action="store_true", help="print every element that differs")
    given = parser.parse_args()
    wheels = {
        match[1]: path for path in given.wheels.glob("*.whl") if (match := re.match(r"onnx-([\d.]+)-", path.name))
    }
    failures, total, decided = [], Counter[str](), Counter[str]()
    for release, (cases_wanted, elements_wanted) in RELEASES.items():
        if release not in wheels and given.download:
            download(release, given.wheels)
            wheels[release] = next(given.wheels.glob(f"onnx-{release}-*.whl"))
        if release not in wheels:
            failures.append(f"{release}: there is no wheel in {given.wheels}; --download puts it there")
            continue
        cases, found = cases_of_wheel(wheels[release]), Counter[str]()
        for case in cases:
            for one in differences(case):
                if not isinstance(one, Difference):
                    found["elements"] += one
                    continue
                name = decision(one)
                found[name or "undecided"] += 1
                if name is None or given.list:
                    print(f"  {name}: {one}")
                if name is None:
                    failures.append(f"{release}: {one}")
        if (len(cases), found["elements"]) != (cases_wanted, elements_wanted):
            failures.append(
                f"{release}: {len(cases)} cases, {found['elements']} elements; it should have {RELEASES[release]}"
            )
        names = ", ".join(f"{name} {found[name]}" for name in DECIDED if found[name])
        print(f"{release}: {len(cases)} cases, {found['elements']:,} elements; decided: {names or 'none'}", flush=True)
        total.update(cases=len(cases), elements=found["elements"])
        decided.update({name: found[name] for name in DECIDED})
    print(
        f"{len(RELEASES)} releases, {total['cases']:,} cases, {total['elements']:,} elements; {sum(decided.values())} "
        f"decided differences of {len(+decided)} kinds; {len(failures)} failures; no seed"
    )
    print(circumstances())
    for failure in failures:
        print(f"FAILED {failure}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
