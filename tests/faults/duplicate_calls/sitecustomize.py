"""With this folder on PYTHONPATH, an interpreter makes every commit twice, as after a lost answer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from storage.job_store.store import JobStore

P = ParamSpec("P")
R = TypeVar("R")


def _twice(call: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(call)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> R:
        call(*args, **kwargs)
        return call(*args, **kwargs)

    return repeated


for name in ("submit", "commit_plan", "commit_segment", "finish"):
    setattr(JobStore, name, _twice(getattr(JobStore, name)))
