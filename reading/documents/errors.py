"""Why a document cannot be read."""

from __future__ import annotations

ONLY_PICTURES = "document_without_text"


class DocumentError(ValueError):
    """The document is at fault; the message is one sentence for who sent it. `code` is one of the public contract's."""

    def __init__(self, detail: str, code: str = "unsupported_media") -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code
