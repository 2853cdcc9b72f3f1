"""A word processor's document to a script, by way of the HTML it stands for: both are read by the same rules."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from reading.documents.archive import Archive
from reading.documents.characters import clean_text, decode_markup
from reading.documents.docx.body import html_of
from reading.documents.docx.numbering import read_numbering
from reading.documents.docx.styles import read_styles
from reading.documents.errors import ONLY_PICTURES, DocumentError
from reading.documents.headings import name_bold_headings, with_bare_headings_joined
from reading.documents.markup import local_name, parse_xml
from reading.documents.page import tell_document
from reading.script.left_out import LeftOutList
from reading.script.script import Script
from reading.script.text_flow import TextFlow
from rhapsode.contract.jobs.input import Images

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

_OLD = b"\xd0\xcf\x11\xe0"
"""Begins what Word wrote before 2007, and what is locked with a password since."""

_FOLDER = "word/"


def docx_script(data: bytes, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """Raises `DocumentError`."""
    if data.startswith(_OLD):
        raise DocumentError("the DOCX is locked with a password, or is a .doc of before 2007; save it as an open .docx")
    archive = Archive(data, "DOCX")
    flow = TextFlow()
    body = _body(archive, flow.repairs)
    styles, numbering = (_part(archive, f"{_FOLDER}{name}.xml", flow.repairs) for name in ("styles", "numbering"))
    root = html_of(body, read_styles(styles), read_numbering(numbering))
    name_bold_headings(root)
    tell_document(root, flow, include, images)
    core = _part(archive, "docProps/core.xml", flow.repairs)
    title, author, language = (_property(core, name) for name in ("title", "creator", "language"))
    script = flow.build(title=title, author=author, language=language)
    if not script.text and next(root.iter("img"), None) is not None:
        raise DocumentError("the DOCX holds pictures and no text", ONLY_PICTURES)
    return with_bare_headings_joined(script)


def _body(archive: Archive, repairs: LeftOutList) -> _Element:
    name = f"{_FOLDER}document.xml"
    root = parse_xml(decode_markup(archive.read(name), repairs, name), name, repairs)
    body = next((each for each in root if local_name(each.tag) == "body"), None)
    if body is None:
        raise DocumentError(f"{name} of the DOCX has no body")
    return body


def _part(archive: Archive, name: str, repairs: LeftOutList) -> _Element | None:
    """None for one that is not there, or broken: the text can be read without it."""
    try:
        data = archive.find(name)
        return None if data is None else parse_xml(decode_markup(data, repairs, name), name, repairs)
    except DocumentError as error:
        repairs.add("part that cannot be read", error.detail)
        return None


def _property(core: _Element | None, name: str) -> str:
    found = None if core is None else next((each for each in core if local_name(each.tag) == name), None)
    return "" if found is None else " ".join(clean_text(found.text or "").split())
