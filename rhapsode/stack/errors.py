"""Why a stack does not run. Every message is one that a user can act upon."""

from __future__ import annotations

from pathlib import Path


class StackError(Exception):
    """The stack cannot run. `exit_status`: 2 for wrong settings."""

    exit_status = 1


class DataFolderTaken(StackError):
    """Another stack runs on this data folder."""

    def __init__(self, data_dir: Path, pid: int | None, url: str | None) -> None:
        who = f"process {pid}" if pid else "another process"
        where = f", serving {url}" if url else ""
        super().__init__(
            f"{data_dir} is in use by {who}{where}; stop it (Ctrl-C where it runs) or choose another --data-dir"
        )


class DataFolderUnusable(StackError):
    """The data folder cannot be made or written."""

    def __init__(self, data_dir: Path, error: OSError) -> None:
        super().__init__(f"{data_dir} cannot be used as data folder: {error.strerror}; choose another with --data-dir")


class DataFolderUnnamable(StackError):
    """The data folder's name has a control character."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(f"{str(data_dir)!r} has a control character in its name; choose another with --data-dir")


class TooFewFiles(StackError):
    """A process may not open enough files."""

    def __init__(self, allowed: int, least: int) -> None:
        super().__init__(f"a process may open {allowed} files here, and {least} are needed: raise ulimit -n")


class DataFolderOutdated(StackError):
    """The data folder was written by a version of another layout."""

    def __init__(self, data_dir: Path, found: str, own: int) -> None:
        is_newer = found.isdecimal() and int(found) > own
        age, remedy = ("a newer", "upgrade this one") if is_newer else ("another", "finish its jobs with that version")
        super().__init__(
            f"{data_dir} was written by {age} version of Rhapsode (layout {found}, this one has {own}): {remedy}, "
            "or choose another --data-dir, or remove it with all that is in it"
        )


class BackupRefused(StackError):
    """A folder cannot be backed up or restored."""


class AddressRefused(StackError):
    """The address cannot be used."""


class PartMissing(StackError):
    """Something this start needs is not installed."""


class ModelNotPulled(StackError):
    """A published checkpoint that is not on this machine, or not whole; may_be_pulled: without a question."""

    def __init__(self, name: str, *, may_be_pulled: bool = False) -> None:
        self.name, self.may_be_pulled = name, may_be_pulled
        super().__init__(f"the model {name} is not on this machine: rhapsode models pull {name}")


class ModelUnfit(StackError):
    """A published checkpoint that cannot be fetched, or is not as it was fetched."""


class SettingsRefused(StackError):
    """The environment does not describe a system that can be started."""

    exit_status = 2


class PlanRefused(StackError):
    """The processes that are asked for cannot be on this machine."""


class StopAsked(StackError):
    """A stop was requested during the start."""


class StackStartFailed(StackError):
    """A process ended before everything was ready."""

    def __init__(self, name: str, status: str, last_words: str, log: Path) -> None:
        said = f": {last_words}" if last_words else ""
        self.exit_status = 2 if status == "ended with status 2" else 1
        super().__init__(f"{name} {status} while starting{said} (log: {log})")
