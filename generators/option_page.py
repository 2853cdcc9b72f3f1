"""Every option of a job as a page for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.files import Files
from rhapsode.contract.jobs.request import JobRequest

MADE = Path("api/OPTIONS.md")

_HEAD = """\
# Options of a job

Made from `rhapsode/contract/jobs/` by `make generated`; change that, not this page.

The fields of `POST /v1/jobs`. `null` means absent. The [HTTP API](../docs/reference/api.md#text) explains the
larger parts, OpenAPI the maximum lengths.

| option | value | default | means |
|---|---|---|---|"""


def option_page() -> Files:
    schema = JobRequest.model_json_schema()
    rows = (f"| {' | '.join(row)} |" for row in _rows(schema, schema["$defs"], ""))
    return {MADE: "\n".join((_HEAD, *rows)) + "\n"}


def _rows(model: dict[str, Any], models: dict[str, Any], inside: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model["properties"].items():
        given = _given(field)
        named = given.get("$ref") or given.get("items", {}).get("$ref")
        nested = models[named.rpartition("/")[2]] if named else {}
        about = field.get("description") or given.get("description") or nested.get("description", "")
        if "enum" in nested:
            given, nested = _chosen(given, nested), {}
        suffix = "[]" if "items" in given and nested else ""
        default = _default(field, model, name, is_nested=bool(nested))
        yield f"`{inside}{name}{suffix}`", _value(given, nested), default, _one_line(about)
        if nested:
            yield from _rows(nested, models, f"{inside}{name}{suffix}.")


def _given(field: dict[str, Any]) -> dict[str, Any]:
    """What a field holds that is not null."""
    choices = [each for each in field.get("anyOf", []) if each.get("type") != "null"]
    return field if not choices else choices[0] if len(choices) == 1 else {"anyOf": choices}


def _chosen(given: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """The words of an enumeration in the place of its name."""
    return {"items": words} if "items" in given else words


def _value(given: dict[str, Any], nested: dict[str, Any]) -> str:
    if "enum" in given:
        return ", ".join(f"`{each}`" for each in given["enum"])
    if "const" in given:
        return f"`{given['const']}`"
    if "anyOf" in given:
        return " or ".join(_value(each, {}) for each in given["anyOf"])
    if "items" in given:
        return "list" if nested else f"list of {_value(given['items'], {})}"
    return "object" if nested else f"{_TYPES[given['type']]}{_bounds(given)}"


_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean", "object": "object"}


def _bounds(given: dict[str, Any]) -> str:
    if given.get("format") == "date-time":
        return ", a time"
    least, most = given.get("minimum", given.get("exclusiveMinimum")), given.get("maximum")
    if least is not None and most is not None:
        return f", {'above ' if 'exclusiveMinimum' in given else ''}{least} to {most}"
    return ""


def _default(field: dict[str, Any], model: dict[str, Any], name: str, *, is_nested: bool) -> str:
    if name in model.get("required", []):
        return "required"
    default = field.get("default")
    return "" if default in (None, "", [], {}) or is_nested else f"`{json.dumps(default)}`"


def _one_line(text: str) -> str:
    return _OUTSIDE_CODE.sub(lambda found: _ESCAPED.get(found[0], found[0]), " ".join(text.split()))


_ESCAPED = {"|": "\\|", "<": "&lt;"}
_OUTSIDE_CODE = re.compile("`[^`]*`|[|<]")
