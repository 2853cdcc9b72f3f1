"""Where each setting of a process has its value from: for who wonders why it does not do what was set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from storage.runtime.config.setting_files import SUFFIX
from storage.runtime.config.settings import ENV_PREFIX, shown_value

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


def settings_in_effect(
    settings: BaseModel, environ: Mapping[str, str], supplied: Mapping[str, str], supplier: str
) -> Iterator[SettingInEffect]:
    """supplied: field -> what is said of it in place of its value, as the starting program sets it."""
    given = {name.upper(): value for name, value in environ.items()}
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
