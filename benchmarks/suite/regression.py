"""Whether this tree's server is slower than a wheel of an earlier commit: both on this machine, measured in turns.

    python benchmarks/suite/regression.py [--baseline COMMIT] [--worse-than 1.5]

Both are wheels in separate environments over the packages of this one, with the engine without a model. So every
difference comes from our code. It reports only ratios of one run (`rhapsode bench --quick --baseline`). It exits with 1
if a figure is surely worse. It exits with 0 and a message if the earlier commit is not in this checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import time
import venv
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.environment import without_settings
from tests.run_guard import guarded_run

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "10a570b0"
"""Moved on by hand, with the reason in the commit, where a figure got worse on purpose."""
WORSE_THAN = 1.5
STEP_S = 0.02
SLOTS = 16
START_S = 120.0
_READY = re.compile(r"ready after .* at (http://\S+)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", default=BASELINE, help="a commit")
    parser.add_argument("--worse-than", type=float, default=WORSE_THAN, help="by which factor a figure has to be worse")
    arguments = parser.parse_args()
    if _git("cat-file", "-e", f"{arguments.baseline}^{{commit}}").returncode:
        print(f"bench-gate SKIPPED: this checkout has no commit {arguments.baseline}")
        return 0
    with guarded_run() as folder, ExitStack() as stacks:
        earlier = folder / "earlier"
        _check_out(arguments.baseline, earlier)
        urls = [
            stacks.enter_context(_served(_installed(tree, folder / name), folder / f"{name}.data"))
            for name, tree in (("ours", ROOT), ("theirs", earlier))
        ]
        asked = ["--url", urls[0], "--baseline", urls[1], "--quick", "--lengths", "short,medium"]
        command = [sys.executable, "-m", "rhapsode", "bench", *asked, "--worse-than", str(arguments.worse_than)]
        return subprocess.run(command, env=_environment(), check=False).returncode


def _check_out(commit: str, folder: Path) -> None:
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    with archive.open("wb") as file:
        subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=file, check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")


def _installed(tree: Path, place: Path) -> Path:
    """The interpreter of an environment with the tree's wheel; all else is found in this one."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place / "wheel")]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    venv.create(place / "env", with_pip=False)
    python = place / "env/bin/python"
    (wheel,) = (place / "wheel").glob("*.whl")
    install = ["install", "--quiet", "--no-deps", "--no-compile", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    (packages,) = place.glob("env/lib/python*/site-packages")
    beneath = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "beneath.pth").write_text("".join(f"{path}\n" for path in beneath))
    return python


@contextmanager
def _served(python: Path, data: Path) -> Generator[str]:
    """The URL of its stack."""
    log = data.with_suffix(".log")
    command = [str(python), "-P", "-m", "rhapsode", "up", "--port", "0", "--slots", str(SLOTS), "--data-dir", str(data)]
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file, env=_environment()) as process:
        try:
            yield _await_url(process, log)
        finally:
            process.terminate()
            process.wait()


def _await_url(process: subprocess.Popen[bytes], log: Path) -> str:
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s and process.poll() is None:
        if found := _READY.search(log.read_text()):
            return found[1]
        time.sleep(0.2)
    sys.exit(f"the stack did not start: {log.read_text()}")


def _environment() -> dict[str, str]:
    found = {name: value for name, value in without_settings(os.environ).items() if not name.startswith("PYTHON")}
    return {**found, "RHAPSODE_ENGINE": "fake", "RHAPSODE_FAKE_STEP_S": str(STEP_S)}


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
