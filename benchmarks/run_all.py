"""Run every benchmark that needs no GPU, one after the other, and print their tables."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SLOW = {"fresh_clone.py"}
ELSEWHERE = {"vllm_engine.py"}  # in the environment of vLLM
ON_A_GPU = {"gpu_engine.py", "kernels.py", "random_checkpoint.py", "reference_package.py", "talker_frame.py"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", action="store_true", help=f"also {', '.join(sorted(SLOW))}")
    arguments = parser.parse_args()
    failed: list[str] = []
    for script in _scripts():
        if script.name in SLOW and not arguments.slow:
            continue
        name = str(script.relative_to(HERE))
        print(f"\n=== {name}", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def _scripts() -> list[Path]:
    """What lies in this folder and its rooms and is a program, in the order of their names."""
    others = {Path(__file__).name, *ON_A_GPU, *ELSEWHERE}
    found = [*HERE.glob("*.py"), *HERE.glob("*/*.py")]
    return [script for script in sorted(found) if script.name not in others and _is_program(script)]


def _is_program(script: Path) -> bool:
    return '__name__ == "__main__"' in script.read_text(encoding="utf-8")


if __name__ == "__main__":
    main()
