"""What every report of a benchmark shares: the block that says where it was measured, and its form in a file."""

from __future__ import annotations

import platform
import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from worker.engine.cores import usable_cores

_ROOT = Path(__file__).resolve().parents[2]
_DRIVER = Path("/proc/driver/nvidia/version")
_GIT_TIMEOUT_S = 10


class Environment(BaseModel):
    """commit: of the checkout that this runs from, with `+` where files differ from it; None for an installed wheel.

    cpu: what its maker calls it, where the system says. nvidia_driver: the line that the kernel has of it.
    """

    version: str
    commit: str | None
    command: str
    began_at: datetime
    python: str
    system: str
    cpu: str
    cores: int
    nvidia_driver: str | None


def read_environment(command: Sequence[str]) -> Environment:
    return Environment(
        version=version("rhapsode"),
        commit=_commit(),
        command=shlex.join(command),
        began_at=datetime.now(UTC).replace(microsecond=0),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cpu=_cpu(),
        cores=usable_cores(),
        nvidia_driver=_DRIVER.read_text().partition("\n")[0].strip() if _DRIVER.is_file() else None,
    )


def _commit() -> str | None:
    """Of this checkout; None where there is none, or no git."""
    if not (_ROOT / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    try:
        outcome = subprocess.run(
            command, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=_GIT_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return outcome.stdout.strip() if outcome.returncode == 0 else None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


class ReportFile(BaseModel):
    """Its schema is a field `schema_` of the class below, called `schema` in the file."""

    model_config = ConfigDict(populate_by_name=True)

    def write(self, path: Path) -> None:
        path.write_text(self.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises pydantic's `ValidationError` for what is none, or of another schema."""
        return cls.model_validate_json(path.read_text(encoding="utf-8"))
