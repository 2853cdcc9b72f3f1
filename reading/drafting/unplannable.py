"""Why no plan can be made of an input."""

from __future__ import annotations


class Unplannable(ValueError):
    """The input is to blame. code: one of the public contract's. detail: for the owner of the job."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
