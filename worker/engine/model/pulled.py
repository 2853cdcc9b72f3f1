"""What `rhapsode models pull` fetched: a record beside the files says what each of them is."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from worker.engine.errors import CheckpointError

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

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())

    def faults(self, folder: Path) -> Iterator[str]:
        """A sentence for each file that is not as it was pulled. Reads all of them."""
        for path in self.files:
            try:
                self.digest_of(folder, path)
            except CheckpointError as error:
                yield str(error)

    def digest_of(self, folder: Path, path: str) -> str:
        """Raises `CheckpointError` where the file is not as it was pulled."""
        file, pulled = folder / path, self.files[path]
        remedy = f"`rhapsode models pull {self.name}` fetches it again"
        found = size_of(file)
        if found != pulled.size:
            raise CheckpointError(f"{file} has {found:,} bytes, and {pulled.size:,} were pulled: {remedy}")
        digest = sha256_of(file)
        if digest != pulled.sha256:
            raise CheckpointError(f"{file} has changed since it was pulled: {remedy}")
        return digest


def read_pulled(folder: Path) -> PulledModel | None:
    """None where there is no record. Raises `CheckpointError` for a record that cannot be read."""
    try:
        return PulledModel.model_validate_json((folder / RECORD).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise CheckpointError(f"{folder / RECORD} cannot be read; pull the model again ({error})") from error


def write_pulled(folder: Path, name: str, repository: str, revision: str, licence: str, paths: Collection[str]) -> None:
    files = {path: PulledFile(size=size_of(folder / path), sha256=sha256_of(folder / path)) for path in paths}
    pulled = PulledModel(name=name, repository=repository, revision=revision, licence=licence, files=files)
    draft = folder / f"{RECORD}.draft"
    draft.write_text(pulled.model_dump_json(indent=2))
    draft.replace(folder / RECORD)


def sha256_of(path: Path) -> str:
    """Raises `CheckpointError`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error}") from error


def size_of(path: Path) -> int:
    """Raises `CheckpointError`."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error}") from error
