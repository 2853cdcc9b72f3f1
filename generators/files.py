"""Generated files: compared with those that are there, or put in their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Files = Mapping[Path, str]
"""Texts by their path below the root."""


def stale(files: Files) -> list[Path]:
    """Those that are not there as they should be."""
    return sorted(path for path, text in files.items() if not _is_there(path, text))


def put_in_place(path: Path, text: str) -> None:
    """At once: another process may read it meanwhile."""
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (unfinished := (ROOT / path).with_suffix(".made")).write_text(text)
    unfinished.replace(ROOT / path)


def _is_there(path: Path, text: str) -> bool:
    return (ROOT / path).is_file() and (ROOT / path).read_text() == text
