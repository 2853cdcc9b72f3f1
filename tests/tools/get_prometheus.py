"""Gets promtool and prometheus for the tests of the alerts and of KEDA's questions, unless they are there.

Debian's, unpacked beside this Python and not installed, so that no server is started.

    python tests/tools/get_prometheus.py

Ends with 1 and says what to do if they are not to be had.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tools.wanted import HOW_TO_GET_PROMETHEUS, find_prometheus

NAMES = ("promtool", "prometheus")
PATIENCE_S = 300


def main() -> int:
    if _missing() and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        with tempfile.TemporaryDirectory() as folder:
            _unpack(Path(folder))
    if _missing():
        print(HOW_TO_GET_PROMETHEUS, file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _missing() -> list[str]:
    return [name for name in NAMES if find_prometheus(name) is None]


def _unpack(folder: Path) -> None:
    # `download` needs no rights. What it says where it finds nothing is long, and whoever reads it can do the same.
    command = ["apt-get", "download", "-q", "prometheus"]
    subprocess.run(command, check=False, cwd=folder, timeout=PATIENCE_S, capture_output=True)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder / "whole"], check=True, timeout=PATIENCE_S)
        for name in _missing():
            shutil.copy(folder / "whole" / "usr" / "bin" / name, Path(sys.executable).parent / name)


if __name__ == "__main__":
    sys.exit(main())
