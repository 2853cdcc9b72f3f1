"""Run every benchmark that needs no GPU, one after the other, print their tables, and keep each as a result.

    python benchmarks/run_all.py [--slow] [queue/store.py "suite/books.py --hours 1 10" ...]

What a script printed goes into results/components/, with the environment block of every report of `rhapsode bench`;
`make generated` makes RESULTS.md of it. A script that fails keeps the result that it had.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.component_result import ComponentResult
from rhapsode.bench.environment import read_environment

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "components"
SLOW = {"fresh_clone.py"}
ELSEWHERE = {"vllm_engine.py"}  # in the environment of vLLM
GATES = {"regression.py"}  # says no figure, but whether one got worse: `make bench-gate`
KEEPERS = {"keep.py", "agreement.py"}  # read reports, and measure nothing
ON_A_GPU = {"gpu_engine.py", "kernels.py", "random_checkpoint.py", "reference_package.py", "talker_frame.py"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", action="store_true", help=f"also {', '.join(sorted(SLOW))}")
    parser.add_argument(
        "scripts", nargs="*", help="these alone, as the README lists them, each with options of its own"
    )
    arguments = parser.parse_args()
    known = {str(script.relative_to(HERE)): script for script in _scripts()}
    asked = [shlex.split(each) for each in arguments.scripts]
    if unknown := [name for name, *_ in asked if name not in known]:
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    usual = [[name] for name in known if arguments.slow or Path(name).name not in SLOW]
    failed = [name for name, *options in asked or usual if not _run(name, options)]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def _run(name: str, options: Sequence[str]) -> bool:
    """Whether it ended well, and its result is kept."""
    print(f"\n=== {shlex.join([name, *options])}", flush=True)
    command = [sys.executable, str(HERE / name), *options]
    environment = read_environment(["python", f"benchmarks/{name}", *options])
    load, began_s = _load(), time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        printed = list(_shown(process))
    if process.returncode:
        return False
    result = ComponentResult(
        environment=environment,
        script=name,
        load=load,
        wall_s=round(time.monotonic() - began_s, 1),
        printed=printed,
    )
    RESULTS.mkdir(parents=True, exist_ok=True)
    result.write(RESULTS / f"{name.removesuffix('.py').replace('/', '-')}.json")
    return True


def _shown(process: subprocess.Popen[str]) -> Sequence[str]:
    """Its lines, shown while they come."""
    lines: list[str] = []
    for line in process.stdout or ():
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line.rstrip())
    return lines


def _load() -> float | None:
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _scripts() -> list[Path]:
    """What lies in this folder and its rooms and is a program, in the order of their names."""
    others = {Path(__file__).name, *ON_A_GPU, *ELSEWHERE, *GATES, *KEEPERS}
    found = [*HERE.glob("*.py"), *HERE.glob("*/*.py")]
    return [script for script in sorted(found) if script.name not in others and _is_program(script)]


def _is_program(script: Path) -> bool:
    return '__name__ == "__main__"' in script.read_text(encoding="utf-8")


if __name__ == "__main__":
    main()
