"""Run every benchmark that needs no GPU, one after the other, print their tables, and keep each as a result.

    python benchmarks/run_all.py [--slow] [speech/planning.py "suite/books.py --hours 1 10" ...]

What a script printed goes into results/components/, with the environment block of every report of `rhapsode bench`;
`make generated` makes RESULTS.md of it. A script that fails keeps the result that it had.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import RESULTS, ComponentResult
from benchmarks.rig import parser
from rhapsode.bench.report import read_environment

HERE = Path(__file__).resolve().parent
SLOW = {"fresh_clone.py"}
LEFT_OUT = {
    "engine/gpu_engine.py",  # a GPU
    *("run_all.py", "suite/regression.py"),  # no figures of their own
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--slow", action="store_true", help=f"also {', '.join(sorted(SLOW))}")
    options.add_argument("scripts", nargs="*", help="these alone, as the README lists them, each with its options")
    given = options.parse_args()
    scripts = sorted([*HERE.glob("*.py"), *HERE.glob("*/*.py")])
    known = [str(each.relative_to(HERE)) for each in scripts if '__name__ == "__main__"' in each.read_text()]
    asked = [shlex.split(each) for each in given.scripts]
    if unknown := [name for name, *_ in asked if name not in known]:
        options.error(f"no such benchmark: {', '.join(unknown)}")
    usual = [[name] for name in known if name not in LEFT_OUT and (given.slow or name not in SLOW)]
    if failed := [name for name, *rest in asked or usual if not _run(name, rest)]:
        raise SystemExit(f"failed: {', '.join(failed)}")


def _run(name: str, options: Sequence[str]) -> bool:
    """Whether it ended well, and its result is kept."""
    print(f"\n=== {shlex.join([name, *options])}", flush=True)
    environment = read_environment(["python", f"benchmarks/{name}", *options])
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    began_s, printed = time.monotonic(), list[str]()
    command = [sys.executable, str(HERE / name), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            printed.append(line.rstrip())
    if process.returncode:
        return False
    wall_s = round(time.monotonic() - began_s, 1)
    folder = RESULTS / "components"
    folder.mkdir(parents=True, exist_ok=True)
    result = ComponentResult(environment=environment, script=name, load=load, wall_s=wall_s, printed=printed)
    result.write(folder / f"{name.removesuffix('.py').replace('/', '-')}.json")
    return True


if __name__ == "__main__":
    main()
