"""What is wrong with settings, in one line. Needs pydantic alone."""

from __future__ import annotations

from pydantic import ValidationError

_MOST_CHARS = 300
_ITS_OWN_CAUSE = "default_factory_not_called"
"""The default of a setting follows from another one, which is named itself."""


def complaints(error: ValidationError) -> str:
    """Each names its setting and what is allowed, without the value."""
    said: dict[str, str] = {}
    for fault in error.errors(include_input=False, include_url=False, include_context=False):
        if fault["type"] != _ITS_OWN_CAUSE:
            name = f"RHAPSODE_{fault['loc'][0]}: ".upper() if fault["loc"] else ""
            said.setdefault(name, f"{name}{_said(fault['type'], fault['msg'])}")
    return "; ".join(said.values())


def _said(kind: str, message: str) -> str:
    words = "must be set" if kind == "missing" else message.removeprefix("Value error, ")
    line = words.replace("Input should be", "must be").replace("String should", "must")
    return "".join(each if each.isprintable() else "?" for each in line)[:_MOST_CHARS]
