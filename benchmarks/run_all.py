"""Run every benchmark of the folders beside this file that needs no GPU, one after the other, and print their
tables."""

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
    others = {Path(__file__).name, *ON_A_GPU, *ELSEWHERE}
    found = [*HERE.glob("*.py"), *HERE.glob("*/*.py")]
    scripts = [script for script in sorted(found) if script.name not in others]
    failed: list[str] = []
    for script in scripts:
        if script.name in SLOW and not arguments.slow:
            continue
        print(f"\n=== {script.name}", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(script.name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
