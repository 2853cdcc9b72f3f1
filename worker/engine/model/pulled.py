"""What `rhapsode models pull` fetched: a record beside the files says what each of them is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from worker.engine.errors import CheckpointError

PACKAGED = {name: Path(__file__).parents[2] / name for name in ("kokoro", "small_voice")}
"""The checkpoints of the package `rhapsode-voices`, which settings and options may name."""

ALIGNER = Path(__file__).parents[2] / "speech/alignment/weights"
"""The networks that time words, of the same package."""

FAMILY = "qwen3_tts"
VOICES_MISSING = "the voices are missing: pip install 'rhapsode[voices]'"

RECORD = ".rhapsode-model.json"
"""Written last: a folder without it is another's, or its download has not ended."""


class PulledFile(BaseModel):
    size: int
    sha256: str


class PulledModel(BaseModel):
    """files: by their paths in the folder. revision: the commit of the repository."""

    version: Literal[1] = 1
    name: str
    repository: str
    revision: str
    licence: str
    files: dict[str, PulledFile]

    def faults(self, folder: Path) -> Iterator[str]:
        """A sentence for each file that is not as it was pulled. Reads all of them."""
        for path in self.files:
            try:
                self.digest_of(folder, path)
            except CheckpointError as error:
                yield str(error)

    def digest_of(self, folder: Path, path: str) -> str:
        """Raises `CheckpointError` where the file is not as it was pulled."""
        found = look_at(folder / path)
        if found != self.files[path]:
            remedy = f"`rhapsode models pull {self.name}` fetches it again"
            raise CheckpointError(f"{folder / path} has changed since it was pulled: {remedy}")
        return found.sha256


def read_pulled(folder: Path) -> PulledModel | None:
    """None where there is no record. Raises `CheckpointError` for a record that cannot be read."""
    try:
        return PulledModel.model_validate_json((folder / RECORD).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise CheckpointError(f"{folder / RECORD} cannot be read; pull the model again ({error})") from error


def write_pulled(folder: Path, pulled: PulledModel) -> None:
    draft = folder / f"{RECORD}.draft"
    draft.write_text(pulled.model_dump_json(indent=2))
    draft.replace(folder / RECORD)


def look_at(path: Path) -> PulledFile:
    """Raises `CheckpointError`."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return PulledFile(size=file.tell(), sha256=digest)
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error}") from error
