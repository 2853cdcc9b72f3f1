"""What lies where in a data folder, and where the folder is by default."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DataDir:
    """root: absolute. `create` makes it private to its owner: it holds passwords and users' texts."""

    root: Path

    @property
    def valkey(self) -> Path:
        return self.root / "valkey"

    @property
    def objects(self) -> Path:
        return self.root / "objects"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def models(self) -> Path:
        """A folder for each checkpoint that `rhapsode models pull` fetched."""
        return self.root / "models"

    @property
    def run(self) -> Path:
        """Working directory of every process: empty, so that nothing in it can shadow a package."""
        return self.root / "run"

    @property
    def metrics(self) -> Path:
        """What several API processes measure, of which each answers for all of them."""
        return self.root / "metrics"

    @property
    def state_file(self) -> Path:
        return self.root / "stack.json"

    @property
    def lock_file(self) -> Path:
        return self.root / "stack.lock"

    @property
    def users_file(self) -> Path:
        """Locked for sharing by commands that use a stack they did not start."""
        return self.root / "stack.users"

    def create(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.valkey, self.objects, self.logs, self.run, self.metrics):
            folder.mkdir(mode=0o700, exist_ok=True)

    def secret(self, name: str) -> str:
        """A random secret that is drawn once per data folder and kept in a file of mode 0600.

        Call under the folder's lock: two callers that both draw would disagree.
        """
        path = self.root / f"{name}.secret"
        if not path.exists():
            draft = path.with_suffix(".draft")
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(32))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        return path.read_text()


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """rhapsode/ in the user's XDG data folder."""
    base = environ.get("XDG_DATA_HOME", "")
    # The specification says to ignore relative paths.
    folder = Path(base) if base.startswith("/") else Path.home() / ".local" / "share"
    return folder / "rhapsode"
