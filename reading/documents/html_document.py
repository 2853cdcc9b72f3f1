"""A page of HTML to a script: headings begin chapters, `<title>` and `<meta>` say what it is."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from reading.documents.article import keep_article
from reading.documents.characters import clean_text
from reading.documents.headings import name_bold_headings, with_bare_headings_joined
from reading.documents.markup import parse_html
from reading.documents.page import tell_document
from reading.script.script import Script
from reading.script.text_flow import TextFlow
from rhapsode.contract.jobs.input import Images


def html_script(text: str, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """Raises `DocumentError`."""
    root = parse_html(text, "the document")
    title, author, language = _title(root), _author(root), (root.get("lang") or "").strip()
    keep_article(root)
    name_bold_headings(root)
    flow = TextFlow()
    tell_document(root, flow, include, images)
    return with_bare_headings_joined(flow.build(title=title, author=author, language=language))


def _title(root: etree._Element) -> str:  # pyright: ignore[reportPrivateUsage]
    found = next(root.iter("title"), None)
    return " ".join(clean_text(found.text or "").split()) if found is not None else ""


def _author(root: etree._Element) -> str:  # pyright: ignore[reportPrivateUsage]
    named = (each.get("content") for each in root.iter("meta") if (each.get("name") or "").lower() == "author")
    return " ".join(clean_text(next(named, None) or "").split())
