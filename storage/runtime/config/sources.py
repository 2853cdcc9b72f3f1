"""Where each setting of a process has its value from: for who wonders why it does not do what was set.

Needs pydantic alone: a client shows its settings, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from storage.runtime.config.setting_files import NEVER_EMPTY, SUFFIX

ENV_PREFIX = "RHAPSODE_"

_PASSWORD = re.compile(r"//[^/@\s]{1,256}@")

DEFAULT = "default"
ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class SettingInEffect:
    """value: without what is a secret of it; empty for none.

    source: `environment`, `file PATH`, `default`, or who supplies it.
    """

    name: str
    value: str
    source: str


def without_empty(environ: Mapping[str, str | None]) -> dict[str, str]:
    """`environ` without the settings that are empty: each of them counts as unset, but for one that must say what."""
    kept = {name: value or "" for name, value in environ.items() if value or not name.upper().startswith(ENV_PREFIX)}
    return kept | {name: "" for name, value in environ.items() if not value and name.upper().startswith(NEVER_EMPTY)}


def settings_in_effect(
    settings: BaseModel, environ: Mapping[str, str], supplied: Mapping[str, str], supplier: str
) -> Iterator[SettingInEffect]:
    """supplied: field -> what is said of it in place of its value, as the starting program sets it."""
    given = {name.upper(): value for name, value in without_empty(environ).items()}
    for field in type(settings).model_fields:
        name = f"{ENV_PREFIX}{field.upper()}"
        value = "" if getattr(settings, field) is None else shown_value(settings, field)
        if path := given.get(f"{name}{SUFFIX}"):
            yield SettingInEffect(name, value, f"file {path}")
        elif name in given:
            yield SettingInEffect(name, value, ENVIRONMENT)
        elif field in supplied:
            yield SettingInEffect(name, supplied[field], supplier)
        else:
            yield SettingInEffect(name, value, DEFAULT)


def shown_value(settings: BaseModel, field: str) -> str:
    """Without what is a secret of it."""
    value = getattr(settings, field)
    if type(settings).model_fields[field].repr:
        return _shown(value)
    return "(hidden)" if value else "(not set)"


def _shown(value: object) -> str:
    if not isinstance(value, SecretStr):
        return _PASSWORD.sub("//***@", str(value))
    secret = value.get_secret_value()
    parts = urlsplit(secret)
    if parts.scheme and parts.scheme.startswith(("redis", "unix")):
        _, at, host = parts.netloc.rpartition("@")
        return f"{parts.scheme}://{'***@' if at else ''}{host}{parts.path}{'?' + parts.query if parts.query else ''}"
    return "(set)" if secret else "(not set)"
