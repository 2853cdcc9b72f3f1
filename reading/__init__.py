"""From a text or a document to the sentences that are spoken; nothing here knows of stores, sound or HTTP.

    read_document    a file (docx, epub, html, md, pdf, txt) to a script
    parse_ssml       an SSML document to a script
    draft_script     a script to a plan of segments, and what its owner should know of it
    spelled          one text as it is said: dictionaries, numbers, signs
    respell_english  what is said otherwise of English than it is written, by place

The names are loaded on first use: who counts characters loads no parser.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reading.documents.by_format import read_document
    from reading.drafting.draft import draft_script
    from reading.english.front_end import respell_english
    from reading.script.ssml import parse_ssml
    from reading.spelling.job_spelling import spelled

__all__ = ["draft_script", "parse_ssml", "read_document", "respell_english", "spelled"]

_HOMES = {
    "draft_script": "reading.drafting.draft",
    "parse_ssml": "reading.script.ssml",
    "read_document": "reading.documents.by_format",
    "respell_english": "reading.english.front_end",
    "spelled": "reading.spelling.job_spelling",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'reading' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
