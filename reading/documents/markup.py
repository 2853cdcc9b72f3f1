"""HTML and XML to trees: nothing is fetched, and no entity is defined by the document but for short pieces of text.

The parser's own bounds of size are off, because it keeps what came before the bound and says nothing; the process this
runs in is bounded instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from html.entities import html5
from typing import cast

from lxml import etree

from reading.documents.errors import DocumentError
from reading.script.left_out import LeftOutList

MAX_ATTRIBUTES = 1_000
"""Of one tag of HTML."""

_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_ENTITY_DECLARATION = re.compile(r"<!ENTITY")
_SHORT_ENTITY = re.compile(
    r"""<!ENTITY\s+(?P<name>[A-Za-z][\w.-]{0,31})\s+(?P<quote>["'])"""
    r"""(?P<text>(?:[^"'<>&%]|&#\w{1,8};){0,99})(?P=quote)\s*>"""
)
_REFERENCE = re.compile(r"&([A-Za-z][\w.-]{0,31});")
_EMPTY_SUBSET = re.compile(r"(<!DOCTYPE[^\[>]{0,300})\[\s*\]")
_BARE_AMPERSAND = re.compile(r"&(?!#?\w{1,32};)")
MOST_ENTITY_CHARS = 1 << 20
"""That a file grows by, with its own entities in place."""

_NAMED_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31};)")
_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_XML_ENTITIES = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})


def parse_xml(text: str, name: str, repairs: LeftOutList | None = None) -> etree._Element:  # pyright: ignore[reportPrivateUsage]
    """An XML file, `name` for the message; read as far as it goes. Raises `DocumentError` for what is none."""
    text = _without_entities(text, name)
    try:
        return etree.fromstring(_prepared(text), _xml_parser())
    except etree.XMLSyntaxError as error:
        parser = _xml_parser(recover=True)
        with suppress(etree.XMLSyntaxError):  # the first one says where it begins
            root = etree.fromstring(_prepared(_BARE_AMPERSAND.sub("&amp;", text)), parser)
            if root is not None:
                if repairs is not None:
                    repairs.add("file that is not well-formed XML, read as far as it goes", f"{name}: {error.msg}")
                return root
        raise DocumentError(f"{name} is not well-formed XML: {error.msg}") from error


def parse_xhtml(text: str, name: str) -> etree._Element:  # pyright: ignore[reportPrivateUsage]
    """A page of a book. Those that are not well-formed are read as HTML, as reading systems do.

    Raises `DocumentError` for a document that declares long or nested entities, or holds no markup.
    """
    text = _without_entities(text, name)
    try:
        return etree.fromstring(_prepared(text), _xml_parser())
    except etree.XMLSyntaxError:
        return parse_html(text, name)


def parse_html(text: str, name: str) -> etree._Element:  # pyright: ignore[reportPrivateUsage]
    """Any HTML, however written. Raises `DocumentError` if there is none."""
    data = _XML_DECLARATION.sub("", text, count=1).encode(errors="replace")
    _refuse_crowded_tags(data, name)
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True, recover=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        # This is what the library says when it gets no memory.
        reason = "it takes too much memory" if error.msg == "unknown error" else error.msg
        raise DocumentError(f"{name} cannot be read as HTML: {reason}") from error
    if root is None:
        raise DocumentError(f"{name} holds no text")
    fatal = next((entry for entry in parser.error_log if entry.level_name == "FATAL"), None)
    if fatal is not None:
        raise DocumentError(f"{name} cannot be read to its end: {fatal.message}")
    return root


class _AttributeCount:
    """Called by the parser as it goes, which makes no tree then."""

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self, tag: str, attrib: Mapping[str, str]) -> None:
        if len(attrib) > MAX_ATTRIBUTES:
            raise DocumentError(f"{self._name} has a <{tag[:32]}> with more than {MAX_ATTRIBUTES:,} attributes")

    def close(self) -> None:
        """The parser wants one."""


def _refuse_crowded_tags(data: bytes, name: str) -> None:
    """A tree looks for the end of a tag's attributes with every one: the time grows with their square."""
    # The stubs ask for methods that the library does without.
    target = cast("etree.ParserTarget", _AttributeCount(name))
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True, recover=True, target=target)
    with suppress(etree.XMLSyntaxError):  # the caller builds the tree from the same data and gets it there
        etree.fromstring(data, parser)


def local_name(tag: object) -> str:
    """Of an element, in lower case and without its namespace; "" for what is no element."""
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def roles_of(element: etree._Element) -> list[str]:  # pyright: ignore[reportPrivateUsage]
    """What a book's markup, or a page's, says that it is."""
    return f"{element.get(_EPUB_TYPE) or element.get('epub:type') or ''} {element.get('role') or ''}".split()


def _xml_parser(*, recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        recover=recover,
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
    )


def _prepared(text: str) -> bytes:
    """As UTF-8 without a declaration that says otherwise, and with the characters that HTML has names for."""
    named = _NAMED_ENTITY.sub(lambda match: _character(match[1], match[0]), _XML_DECLARATION.sub("", text, count=1))
    return named.encode(errors="replace")


def _character(name: str, reference: str) -> str:
    return reference if name in _XML_ENTITIES else html5.get(name, reference)


def _without_entities(text: str, name: str) -> str:
    """With those in place that the file declares as short pieces of text; all others are refused."""
    if not _ENTITY_DECLARATION.search(text):
        return text
    own = {match["name"]: match["text"] for match in _SHORT_ENTITY.finditer(text)}
    text = _EMPTY_SUBSET.sub(r"\1", _SHORT_ENTITY.sub("", text))
    references = Counter(match[1] for match in _REFERENCE.finditer(text))
    grown = sum(len(own.get(each, "")) * count for each, count in references.items())
    if _ENTITY_DECLARATION.search(text) or grown > MOST_ENTITY_CHARS:
        raise DocumentError(f"{name} declares entities, which are not supported")
    return _REFERENCE.sub(lambda match: own.get(match[1], match[0]), text)
