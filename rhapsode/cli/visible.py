"""Text on standard output and error, without control sequences of a server."""

from __future__ import annotations

import re

import typer

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""Control characters, except line feeds and tabs."""


def visible(text: str) -> str:
    """Control characters as JSON escapes them, so that a JSON document stays one."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Like `typer.echo`, with `visible` text."""
    typer.echo(visible(text), err=err, nl=nl)
