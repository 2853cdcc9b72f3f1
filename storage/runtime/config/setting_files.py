"""Settings from files: RHAPSODE_X_FILE names a file that holds RHAPSODE_X, as container platforms hand out secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

SUFFIX = "_FILE"
MAX_BYTES = 64 * 1024

NEVER_EMPTY = "RHAPSODE_API_KEYS"
"""Unset, it opens the API to this machine, so also to a proxy on it. A template without its value must not do that."""


class SettingFileError(ValueError):
    """The file cannot be what was meant; the message names the variable and never the content."""


def read_setting_files(environ: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """RHAPSODE_X -> content of the file that RHAPSODE_X_FILE names, without the line break at its end."""
    values: dict[str, str] = {}
    for name, path in environ.items():
        setting = name.upper().removesuffix(SUFFIX)
        if (not path and setting != NEVER_EMPTY) or not name.upper().endswith(SUFFIX) or setting not in known:
            continue
        if environ.get(setting):
            raise SettingFileError(f"{setting} and {name} are both set; one of them is enough")
        values[setting] = _content(name, Path(path))
    return values


def is_setting_file(name: str, known: Collection[str]) -> bool:
    return name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in known


def _content(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise SettingFileError(f"{name}: {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingFileError(f"{name}: {path} is not text in UTF-8") from error
    if len(data) > MAX_BYTES:
        raise SettingFileError(f"{name}: {path} is longer than {MAX_BYTES:,} bytes")
    if not (content := text.rstrip("\r\n")):
        raise SettingFileError(f"{name}: {path} is empty")
    return content
