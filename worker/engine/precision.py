"""In what numbers a talker on a GPU keeps its past and multiplies."""

from __future__ import annotations

import enum


class Precision(enum.StrEnum):
    BFLOAT16 = "bfloat16"
    """As checkpoints are published."""

    FLOAT8 = "float8"
    """Half the bytes: four bits of exponent, three of fraction (e4m3)."""
