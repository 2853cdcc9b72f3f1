"""A compose file as compose reads it: merge keys resolved, variables put in, one file laid over another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Z0-9_]+)(?::-([^}]*)|:\?([^}]*))?\})")


def load(path: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Raises `KeyError` for a variable that must be set and is not."""

    def value(match: re.Match[str]) -> str:
        escaped, name, default, _complaint = match.groups()
        if escaped:
            return "$"
        return environ.get(name) or default if default is not None else environ[name]

    return yaml.safe_load(_VARIABLE.sub(value, path.read_text()))


def overlaid(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged, volumes added to, everything else replaced: what compose does with a second file."""
    merged = dict(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            merged[key] = overlaid(base[key], value)
        elif key == "volumes" and isinstance(value, list):
            merged[key] = [*base.get(key, []), *value]
        else:
            merged[key] = value
    return merged


def image_environment(dockerfile: Path) -> dict[str, str]:
    """What the ENV lines of the last stage set."""
    last_stage = dockerfile.read_text().rpartition("\nFROM ")[2]
    blocks = re.findall(r"^ENV ((?:.*\\\n)*.*)$", last_stage, re.MULTILINE)
    return dict(pair.split("=", 1) for block in blocks for pair in block.replace("\\\n", " ").split())
