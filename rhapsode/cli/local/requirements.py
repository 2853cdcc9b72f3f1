"""Which packages each part of Rhapsode needs, and which of them are missing here."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass

from rhapsode.stack.errors import PartMissing


@dataclass(frozen=True, slots=True)
class Part:
    """A part as one installs it: `extra` of the distribution, and the modules it brings."""

    name: str
    extra: str
    modules: tuple[str, ...]

    def missing(self) -> tuple[str, ...]:
        """Found without importing anything: torch alone would take seconds."""
        return tuple(module for module in self.modules if importlib.util.find_spec(module) is None)


_STORAGE = ("boto3", "celery", "packaging", "redis", "structlog", "ulid")

PARTS = (
    Part("stores and queue", "storage", _STORAGE),
    Part("API", "api", ("av", "fastapi", "uvicorn")),
    Part(
        "workers", "worker", ("av", "huggingface_hub", "numpy", "nupunkt", "safetensors", "soxr", "tokenizers", "torch")
    ),
)


def require_stack_packages() -> None:
    """Raises `PartMissing` saying what to install."""
    _refuse_missing("the server", (part.extra for part in PARTS), "all")


def require_packages(extra: str) -> None:
    """Of the part that this extra installs, with the stores that every part needs. Raises `PartMissing`."""
    part = next(part for part in PARTS if part.extra == extra)
    _refuse_missing(f"this part ({part.name})", ("storage", extra), extra)


def _refuse_missing(who: str, extras: Iterable[str], remedy: str) -> None:
    wanted = frozenset(extras)
    missing = dict.fromkeys(module for part in PARTS if part.extra in wanted for module in part.missing())
    if missing:
        raise PartMissing(f"{who} needs packages that are not installed ({', '.join(missing)}): {install(remedy)}")


def install(extra: str) -> str:
    return f"pip install 'rhapsode[{extra}]'"
