"""Why a stream does not begin, or ends before its text does."""

from __future__ import annotations


class StreamRefused(Exception):
    """code: of the public contract, or of `storage.live.messages`. retry_after_s: None where asking again is no use."""

    def __init__(self, code: str, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.retry_after_s = retry_after_s
