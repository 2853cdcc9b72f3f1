"""Which packages each part of Rhapsode needs, and which of them are missing here."""

from __future__ import annotations

import importlib.util
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
    Part("workers", "worker", ("av", "numpy", "nupunkt", "safetensors", "soxr", "tokenizers", "torch")),
)


def require_stack_packages() -> None:
    """Raises `PartMissing` saying what to install."""
    missing = [module for part in PARTS for module in part.missing()]
    if missing:
        raise PartMissing(f"the server needs packages that are not installed ({', '.join(missing)}): {install('all')}")


def install(extra: str) -> str:
    return f"pip install 'rhapsode[{extra}]'"
