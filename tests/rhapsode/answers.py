"""Whole answers for scripted servers: the examples of the OpenAPI description, with what a test says otherwise."""

from __future__ import annotations

import copy
from typing import Any

from api.openapi.examples import examples

_EXAMPLES = examples()


def answer(operation: str, status: str = "200", **changes: object) -> dict[str, Any]:
    return {**copy.deepcopy(_EXAMPLES[operation][status]), **changes}


def job(**changes: object) -> dict[str, Any]:
    """One that waits, unless told otherwise."""
    waiting = {"state": "pending", "phase": None, "progress": progress(), "finished_at": None, "artifacts": []}
    return {**answer("get_job"), **waiting, **changes}


def progress(**segments: int) -> dict[str, Any]:
    shown: dict[str, Any] = answer("get_job")["progress"]
    return {**shown, "fraction": 0.0, "audio_s_done": 0.0, "segments": dict.fromkeys(shown["segments"], 0) | segments}


def request(**changes: object) -> dict[str, Any]:
    return {**answer("get_job")["request"], **changes}
