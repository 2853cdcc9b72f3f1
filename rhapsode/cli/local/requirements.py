"""The packages that each part of Rhapsode needs, the missing ones, and processes of the worker's modules."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import typer

from rhapsode import system_packages
from rhapsode.stack.errors import PartMissing


@dataclass(frozen=True, slots=True)
class Part:
    """An extra of the distribution, and the modules that it installs."""

    name: str
    extra: str
    modules: tuple[str, ...]

    def missing(self) -> tuple[str, ...]:
        """Modules that are not installed. It imports none of them: torch takes seconds."""
        return tuple(module for module in self.modules if importlib.util.find_spec(module) is None)


_STORAGE = ("boto3", "celery", "packaging", "pydantic_settings", "redis", "structlog", "ulid")

PARTS = (
    Part("stores and queue", "storage", _STORAGE),
    Part("API", "api", ("av", "fastapi", "uvicorn")),
    Part(
        "workers", "worker", ("av", "huggingface_hub", "numpy", "nupunkt", "safetensors", "soxr", "tokenizers", "torch")
    ),
)


def require_stack_packages() -> None:
    """Raises `PartMissing`, which says what to install."""
    _refuse_missing("the server", (part.extra for part in PARTS), "all")


def require_packages(extra: str) -> None:
    """For the part of this extra, with the stores that every part needs. Raises `PartMissing`."""
    part = next(part for part in PARTS if part.extra == extra)
    _refuse_missing(f"this part ({part.name})", ("storage", extra), extra)


def _refuse_missing(who: str, extras: Iterable[str], remedy: str) -> None:
    wanted = frozenset(extras)
    missing = dict.fromkeys(module for part in PARTS if part.extra in wanted for module in part.missing())
    if missing:
        raise PartMissing(f"{who} needs packages that are not installed ({', '.join(missing)}): {install(remedy)}")


def run_module(module: str, arguments: Iterable[str]) -> None:
    """Run a module of the worker package as a process. Its exit status becomes that of the command."""
    require_packages("worker")
    environment = os.environ | system_packages.environment(os.environ)
    status = subprocess.run([sys.executable, "-m", module, *arguments], check=False, env=environment).returncode
    if status:
        raise typer.Exit(status)


def given_options(**given: object) -> Iterator[str]:
    """`--name value` for each option that is not None."""
    for name, value in given.items():
        if value is not None:
            yield from (f"--{name}", str(value))


def install(extra: str) -> str:
    return f"pip install 'rhapsode[{extra}]'"
