"""Words on standard output and error. A server's words move no cursor, clear no window and give it no name."""

from __future__ import annotations

import re

import typer

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""What a terminal may take for a command; line feeds and tabs are none."""


def visible(text: str) -> str:
    """Control characters as JSON escapes them, so that a JSON document stays one."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """As `typer.echo`, with `visible`."""
    typer.echo(visible(text), err=err, nl=nl)
