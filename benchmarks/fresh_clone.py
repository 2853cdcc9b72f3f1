"""What a new user gets: minutes of `make demo` and `make test` in a fresh clone, size of the environment, peak memory.

Memory is the sum of the proportional set sizes of the command and all its descendants, sampled twice a second.
Processes that leave the process tree (daemons) would be missed; Rhapsode starts none.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.run_guard import guarded_run

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Run:
    minutes: float
    peak_mib: float
    output: str


def tree_mib(process: psutil.Process) -> float:
    """Resident memory of the process and its descendants, shared pages counted once, in MiB."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        for member in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += member.memory_full_info().pss
    return total / 2**20


def measure(command: list[str], folder: Path) -> Run:
    started = time.monotonic()
    log = folder / f"{command[-1]}.log"
    peak = 0.0
    with log.open("wb") as sink, subprocess.Popen(command, cwd=folder, stdout=sink, stderr=subprocess.STDOUT) as child:
        watched = psutil.Process(child.pid)
        while child.poll() is None:
            peak = max(peak, tree_mib(watched))
            time.sleep(0.5)
    output = log.read_text(errors="replace")
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {child.returncode}:\n{output[-4000:]}")
    return Run((time.monotonic() - started) / 60, peak, output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=["demo", "demo", "test"], help="make targets, in order")
    arguments = parser.parse_args()
    with guarded_run() as scratch:
        clone = scratch / "rhapsode"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for target in arguments.targets:
            run = measure(["make", target], clone)
            size = sum(f.lstat().st_size for f in (clone / ".venv").rglob("*") if not f.is_symlink()) / 2**20
            print(run.output[-3000:])
            print(f"make {target}: {run.minutes:.1f} min, peak {run.peak_mib:.0f} MiB, environment {size:.0f} MiB\n")


if __name__ == "__main__":
    main()
