"""Generated files: as ruff formats them, compared with those that are there, or put in their place."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Files = Mapping[Path, str]
"""Texts by their path below the root."""


def formatted(files: Files) -> dict[Path, str]:
    """Imports sorted, those that nothing uses left out, lines broken."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text)
        _ruff(folder, "check", "--fix-only", "--unsafe-fixes", "--select", "I,F401")
        _ruff(folder, "format")
        return {path: (Path(folder) / path).read_text() for path in files}


def stale(files: Files) -> list[Path]:
    """Those that are not there as they should be."""
    return sorted(path for path, text in files.items() if not _is_there(path, text))


def put_in_place(path: Path, text: str) -> None:
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / path).write_text(text)


def _is_there(path: Path, text: str) -> bool:
    return (ROOT / path).is_file() and (ROOT / path).read_text() == text


def _ruff(folder: str, *command: str) -> None:
    ruff = str(Path(sys.executable).with_name("ruff"))
    settings = ["--quiet", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    subprocess.run([ruff, *command, *settings, "."], cwd=folder, check=True)
