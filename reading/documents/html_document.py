"""A page of HTML to a script: headings begin chapters, `<title>` and `<meta>` say what it is."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from reading.documents.article import keep_article
from reading.documents.chapters import ChapterWriter
from reading.documents.characters import clean_text
from reading.documents.headings import name_bold_headings, with_bare_headings_joined
from reading.documents.markup import local_name, parse_html
from reading.documents.page import PageChapterMarks, chapter_level, tell_page
from reading.script.builder import ScriptBuilder
from reading.script.script import Script
from reading.script.text_flow import TextFlow
from rhapsode.contract.jobs.input import Images


def html_script(text: str, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """Raises `DocumentError`."""
    root = parse_html(text, "the document")
    title, author, language = _title(root), _meta(root, "author"), (root.get("lang") or "").strip()
    keep_article(root)
    name_bold_headings(root)
    builder = ScriptBuilder()
    flow = TextFlow(builder)
    chapters = ChapterWriter(flow, include)
    tell_page(root, flow, chapters, PageChapterMarks(chapter_level(root)), images)
    chapters.check()
    return with_bare_headings_joined(builder.build(title=title, author=author, language=language))


def _title(root: etree._Element) -> str:  # pyright: ignore[reportPrivateUsage]
    found = next(root.iter("title"), None)
    return " ".join(clean_text(found.text or "").split()) if found is not None else ""


def _meta(root: etree._Element, name: str) -> str:  # pyright: ignore[reportPrivateUsage]
    for element in root.iter("meta"):
        if local_name(element.tag) == "meta" and (element.get("name") or "").lower() == name:
            return " ".join(clean_text(element.get("content") or "").split())
    return ""
