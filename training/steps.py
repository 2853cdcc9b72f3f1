"""What every step of the recipe begins with: its command line, its log, and one line for what cannot be."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from worker.engine.errors import EngineError

_FORMAT = "%(asctime)s %(message)s"


class Unusable(Exception):
    """What the step was given cannot be worked on; the message is one sentence for who gave it."""


def step_parser(description: str | None) -> argparse.ArgumentParser:
    """description: the step's own module docstring, which names its command."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def run_step(step: Callable[[Sequence[str] | None], None]) -> None:
    """The step as a program, with the arguments of the process."""
    logging.basicConfig(level=logging.INFO, format=_FORMAT)
    try:
        step(None)
    except (Unusable, EngineError, OSError) as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")


@contextmanager
def log_file(path: Path) -> Generator[None]:
    """What is logged goes to this file as well."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
