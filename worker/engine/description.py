"""What checkpoints are, without an engine: a process reads them and ends, as torch is not for the worker's own.

    python -m worker.engine.description DIR ...

prints them as JSON, or one line about the first that cannot be used.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from worker.engine.config_digest import reproducibility_of
from worker.engine.errors import CheckpointError
from worker.engine.interface import EngineInfo
from worker.engine.kokoro.files import is_kokoro
from worker.engine.settings import EngineSettings, FakeEngineSettings

_INFOS = TypeAdapter(tuple[EngineInfo, ...])


def describe(checkpoints: Sequence[Path], settings: EngineSettings) -> tuple[EngineInfo, ...]:
    """In the order given, each as an engine with these settings would say it; but it has no slots.

    Raises `CheckpointError`.
    """
    if isinstance(settings, FakeEngineSettings):
        from worker.engine.fake import describe_fake

        return tuple(describe_fake(settings) for _ in checkpoints)
    command = [sys.executable, "-m", "worker.engine.description", *map(str, checkpoints)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise CheckpointError((ended.stderr.strip().splitlines() or ["a checkpoint cannot be read"])[-1])
    return tuple(
        replace(info, reproducibility=reproducibility_of(settings)) for info in _INFOS.validate_json(ended.stdout)
    )


def main() -> None:
    try:
        infos = tuple(_describe(Path(each)) for each in sys.argv[1:])
    except CheckpointError as error:
        sys.exit(str(error))
    sys.stdout.write(_INFOS.dump_json(infos).decode())


def _describe(checkpoint: Path) -> EngineInfo:
    if is_kokoro(checkpoint):
        from worker.engine.kokoro.description import describe_kokoro

        return describe_kokoro(checkpoint)
    from worker.engine.loading import describe_checkpoint

    return describe_checkpoint(checkpoint)


if __name__ == "__main__":
    main()
