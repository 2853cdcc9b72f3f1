"""Markdown to a script, by way of the HTML it stands for, so that both are read by the same rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from markdown_it import MarkdownIt

from storage.narration.script.script import Script
from storage.narration.sources import Images
from worker.planning.documents.errors import DocumentError
from worker.planning.documents.html_document import html_script

MAX_NESTING = 100
"""Quotations in lists in quotations; the parser's own bound of 20 is within what people write."""

_FRONT_MATTER = re.compile(r"\A---[^\S\n]*\n(.*?)^(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"""^(title|author|lang|language)[^\S\n]*:[^\S\n]*["']?(.*?)["']?[^\S\n]*$""", re.MULTILINE)
_NOTE = re.compile(
    r"""^[^\S\n]{0,3}\[\^(?P<name>[^\]\s]{1,64})\]:.*(?:\n(?:[^\S\n]*\n)*(?:\t|[ ]{4}).*)*\n?""",
    re.MULTILINE | re.VERBOSE,
)
_NOTE_MARK = re.compile(r"\[\^(?P<name>[^\]\s]{1,64})\]")


def markdown_script(text: str, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """CommonMark with tables. Raises `DocumentError`."""
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    fields = dict(_FIELD.findall(front[1])) if front else {}
    html = _html(_without_notes(body))
    script = html_script(f"<html><body>{html}</body></html>", include, images)
    language = fields.get("lang") or fields.get("language", "")
    return replace(script, title=fields.get("title", ""), author=fields.get("author", ""), language=language)


def _without_notes(text: str) -> str:
    """Notes are no part of CommonMark, but people write them; they are passed over as those of books are."""
    names = {match["name"] for match in _NOTE.finditer(text)}
    if not names:
        return text
    body = _NOTE.sub("", text)
    return _NOTE_MARK.sub(lambda match: "" if match["name"] in names else match[0], body)


def _html(text: str) -> str:
    markdown = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    tokens = markdown.parse(text)
    deepest = max((inner.level for token in tokens for inner in (token, *(token.children or ()))), default=0)
    if deepest >= MAX_NESTING - 1:
        # What lies deeper is left out by the parser without a word.
        raise DocumentError(f"the document is nested more than {MAX_NESTING} deep")
    return str(markdown.renderer.render(tokens, markdown.options, {}))
