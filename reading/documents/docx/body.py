"""The body of a word processor's document as the HTML it stands for: what was deleted, hidden or noted is not in it."""

from __future__ import annotations

from lxml import etree

from reading.documents.docx.attributes import attribute, child, is_on
from reading.documents.docx.numbering import Numbering
from reading.documents.docx.styles import Styles
from reading.documents.markup import local_name
from reading.documents.page import raised

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

_SKIPPED = frozenset(
    {
        *("del", "movefrom", "deltext", "delinstrtext", "instrtext", "footnotereference", "endnotereference"),
        *("commentreference", "ppr", "rpr", "tblpr", "trpr", "tcpr", "sectpr", "fallback", "object", "pict", "omath"),
        *("annotationref", "footnoteref", "sdtpr", "rubypr", "rt"),
    }
)
_CONTENTS = "table of contents"
_RAISED = "superscript"


def html_of(body: _Element, styles: Styles, numbering: Numbering) -> _Element:
    """`<body>` with headings, paragraphs, tables, breaks and pictures."""
    return _Writer(styles, numbering).write(body)


class _Writer:
    """Goes through the document once, and keeps the place in the HTML where text goes."""

    def __init__(self, styles: Styles, numbering: Numbering) -> None:
        self._styles = styles
        self._numbering = numbering
        self._open = [etree.Element("body")]
        self._texts: list[str] = []
        self._is_raised = False
        self._is_italic = self._is_next_italic = False
        """Of what was said last, and of the run that is open."""
        self._bold: list[bool] = []
        """Of the runs of the paragraph that is open."""

    def write(self, body: _Element) -> _Element:
        walk = etree.iterwalk(body, events=("start", "end"))
        for event, element in walk:
            name = local_name(element.tag)
            if event == "start" and self._is_silent(element, name):
                walk.skip_subtree()
                if name == "omath":
                    self._put("math", text="".join(map(str, element.itertext())))
            elif event == "start":
                self._start(element, name)
            elif not self._is_silent(element, name):
                self._end(name)
        return self._open[0]

    def _is_silent(self, element: _Element, name: str) -> bool:
        if name == "p":
            return self._styles.of(element).is_silent
        if name == "r":
            return self._styles.is_hidden(element) or _is_note_mark(element)
        return name in _SKIPPED or (name == "sdt" and _is_contents(element))

    def _start(self, element: _Element, name: str) -> None:
        match name:
            case "p":
                level = self._styles.of(element).level
                self._bold.clear()
                self._begin(f"h{level}" if level else "p")
                self._is_italic = False
                self._texts.append(self._numbering.next_of(element))
            case "tbl" | "tr" | "tc":
                self._begin({"tbl": "table", "tr": "tr", "tc": "td"}[name])
            case "r":
                self._bold.append(is_on(child(element, "rpr", "b")))
                self._is_next_italic = is_on(child(element, "rpr", "i"))
                self._is_raised = attribute(child(element, "rpr", "vertalign"), "val") == _RAISED
            case "t":
                if element.text and self._is_next_italic != self._is_italic:
                    self._flush()
                    self._is_italic = self._is_next_italic
                self._texts.append((raised(element.text) if self._is_raised else element.text) or "")
            case "tab" | "ptab":
                self._texts.append(" ")
            case "nobreakhyphen":
                self._texts.append("-")
            case "br" | "cr":
                self._put("br")
            case "docpr":
                self._put("img", attribute(element, "descr"))
            case _:
                pass

    def _end(self, name: str) -> None:
        if name in ("p", "tbl", "tr", "tc"):
            self._flush()
            if name == "p" and self._bold and all(self._bold):
                self._open[-1].set("class", "bold")
            self._open.pop()

    def _begin(self, name: str) -> None:
        self._flush()
        self._open.append(etree.SubElement(self._open[-1], name))

    def _put(self, name: str, alt: str = "", text: str = "") -> None:
        self._flush()
        element = etree.SubElement(self._open[-1], name)
        element.text = text or None
        if name == "img":
            element.set("alt", alt)

    def _flush(self) -> None:
        """What was said since goes behind the last element of the one that is open."""
        text = "".join(self._texts)
        self._texts.clear()
        if not text:
            return
        place = self._open[-1]
        if self._is_italic:
            etree.SubElement(place, "i").text = text
        elif len(place):
            place[-1].tail = text
        else:
            place.text = text


def _is_note_mark(run: _Element) -> bool:
    """One that its writer chose, a star for instance, stands in the run as text."""
    notes = (child(run, name) for name in ("footnotereference", "endnotereference"))
    return any(attribute(note, "custommarkfollows") in ("1", "true", "on") for note in notes)


def _is_contents(element: _Element) -> bool:
    """A field that its writer let the program fill with a table of contents."""
    gallery = child(element, "sdtpr", "docpartobj", "docpartgallery")
    return attribute(gallery, "val").casefold() == _CONTENTS
