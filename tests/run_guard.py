"""Nothing that a run of tests or a benchmark started outlives it, not even after a kill -9 of pytest.

Every run has a folder of its own, and every process it starts inherits that folder's path in its environment. This
file, run as a program, is the run's guard: in a session of its own it waits for the end of a pipe that only the run
holds, then kills what is left of the run and removes the folder. Only Linux shows other processes' environments, so
elsewhere a killed run leaves its servers behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "TEST_RUN_FOLDER"


@contextmanager
def guarded_run(*more_folders: Path) -> Generator[Path]:
    """A new folder whose path leaves room for a Unix socket. It goes, with every process of the run, when this ends.

    more_folders: stay; but a process that works in one of them belongs to the run.
    """
    # Not pytest's folder: a server's socket needs a short path.
    folder = Path(tempfile.mkdtemp(prefix="rh-", dir="/tmp"))
    # A run within a run: the inner one's guard is left to do its work by the outer one's.
    unmarked = {name: value for name, value in os.environ.items() if name != MARK}
    command = [sys.executable, __file__, str(folder), *map(str, more_folders)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, env=unmarked, cwd="/") as guard:
        outer = os.environ.get(MARK)
        os.environ[MARK] = str(folder)
        try:
            yield folder
        finally:
            del os.environ[MARK]
            if outer is not None:
                os.environ[MARK] = outer
            # Popen's exit closes the pipe and waits.
    assert guard.returncode == 0, "the guard of the run failed"


def processes_of(folders: tuple[Path, ...]) -> list[int]:
    """All that carry the first folder in their environment or work in any of them."""
    mark = f"{MARK}={folders[0]}\0".encode()
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _belongs(entry, mark, folders)]


def _belongs(entry: Path, mark: bytes, folders: tuple[Path, ...]) -> bool:
    try:
        if mark in (entry / "environ").read_bytes():
            return True
        # Valkey writes its title over its environment; its working directory is its data folder.
        work_dir = (entry / "cwd").readlink()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return any(work_dir.is_relative_to(folder) for folder in folders)


def _clear_away(folders: tuple[Path, ...]) -> None:
    # A process that started another one before it was killed has had its child missed by one look.
    while left := processes_of(folders):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folders[0])


def main() -> None:
    sys.stdin.buffer.read()
    _clear_away(tuple(map(Path, sys.argv[1:])))


if __name__ == "__main__":
    main()
