"""Command lines of the recipe's steps."""

from __future__ import annotations


def arguments(**options: object) -> list[str]:
    """As they are typed: adversarial_from=0 is --adversarial-from 0."""
    pairs = ((f"--{name.replace('_', '-')}", str(value)) for name, value in options.items())
    return [word for pair in pairs for word in pair]
