"""A tree of HTML in reading order: what is read aloud, what is skipped, what begins a block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from lxml import etree

from reading.documents.chapters import ChapterWriter
from reading.documents.characters import clean_text
from reading.documents.markup import local_name, roles_of
from reading.languages.tables import table
from reading.plan.plan import closed
from reading.script.left_out import quoted
from reading.script.script import BlockKind
from reading.script.text_flow import TextFlow
from rhapsode.contract.jobs.input import Images

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

SKIPPED = frozenset(
    {
        *("head", "script", "style", "template", "noscript", "svg", "math", "audio", "video", "canvas", "iframe"),
        *("object", "embed", "select", "textarea", "button", "input", "form", "nav", "rt", "rp", "del", "s", "strike"),
    }
)
"""Not spoken when the page is read aloud. Ruby glosses would say a word twice."""

_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div"),
        *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "header", "html", "li", "main", "ol", "p", "pre"),
        *("section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", "hr"),
    }
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}

_ITALIC = ("em", "i")

_SILENT_ROLES = frozenset(
    {
        *("noteref", "doc-noteref", "pagebreak", "doc-pagebreak", "footnote", "footnotes", "doc-footnote"),
        *("endnote", "endnotes", "rearnote", "rearnotes", "doc-endnote", "doc-endnotes", "toc", "doc-toc"),
        *("landmarks", "page-list", "doc-pagelist", "index", "doc-index"),
    }
)
_SILENT_CLASSES = frozenset(
    {
        *("footnote", "footnotes", "endnote", "endnotes", "rearnote", "noteref", "footnote-ref", "footnote-back"),
        *("footnoteref", "fnref", "pagenum", "pagenumber", "page-number", "pagebreak", "pg-boilerplate", "toc"),
        *("sr-only", "screen-reader-text", "visually-hidden"),
    }
)
"""What books from before EPUB 3 call the same things, and Pandoc and Project Gutenberg do."""

_NOTE_MARK = re.compile(r"(?P<open>[\[(])?(?:[*†‡§¶]?\d{1,4}|[*†‡§¶]{1,4}|(?P<letter>[a-z]))(?(open)[\])])")
_NO_NOTED = frozenset({"cos", "sin", "tan", "log", "exp", "mol"})
"""Words behind which a raised number is a power."""

_MARKABLE = re.compile(r"(?:(?<![\w/=])[^\W\d_]{3,}|[^\s\w(\[/=+−-])\Z")
_INITIAL = re.compile(r"[\"'“‘«„]?[^\W\d_a-zß-ÿ]")
_INITIAL_CLASS = re.compile(r"drop-?cap|(?<![a-z])initial(?![a-z])|versal|lettrine", re.IGNORECASE)
_STARS = re.compile(r"[*†‡§¶]{1,4}")
_CELLS = ("td", "th")
_HIDDEN_STYLE = re.compile(r"(?:display[ ]{0,8}:[ ]{0,8}none|visibility[ ]{0,8}:[ ]{0,8}hidden)", re.IGNORECASE)
_CODE_CLASS = re.compile(
    r"(?:^|[\s_-])(?:code|sourcecode|highlight|prettyprint|brush|language|lang|syntax)(?=$|[\s:_-])", re.IGNORECASE
)
_CODE_MARK = re.compile(r"[{}<>=|$#\\]|\(\)|->|::")
_LICENCE = re.compile(r"\*\*\* ?(?:START|END) OF TH(?:E|IS) PROJECT GUTENBERG|START: FULL LICENSE")
_CODE_SHARE = 0.02
"""Marks of a programmer in a character of text; a poem has none."""

SURROUNDINGS = "what surrounds the article"
_MOST_QUOTED = 20
"""Pieces of text that are looked at for what is left out."""

_SILENT_KINDS = table(
    """
    nav=navigation|form=form|button=form|select=form|textarea=form|input=form|svg=drawing|math=formula|iframe=frame
    object=embedded object|rt=gloss|rp=|del=struck text|s=struck text|strike=struck text|audio=recording
    video=recording
    """
)
_KINDS_BY_MARK = table(
    """
    noteref=note mark|fnref=note mark|footnote-ref=note mark|footnote-back=note mark|page=page number|toc=contents
    landmarks=contents|index=index|boilerplate=licence|note=note
    """
)
"""By what the roles and classes of an element have in them, in this order."""

_POWER = re.compile(r"[+−-]?\d{1,4}")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


ChapterMarks = Mapping[str, tuple[str, ...]]
"""Titles of the chapters that begin at an element, by its id."""


def heading_counts(root: _Element) -> Counter[int]:
    """How many headings of each level there are."""
    return Counter(HEADINGS[name] for element in root.iter() if (name := local_name(element.tag)) in HEADINGS)


def dividing_level(counts: Counter[int]) -> int:
    """Of the headings that begin chapters: the highest level that occurs twice, else the highest; 0 without any."""
    repeated = [level for level, count in counts.items() if count > 1]
    return min(repeated or counts or [0])


def first_heading(root: _Element) -> str:
    """What the first heading says; "" without one."""
    found = next((element for element in root.iter() if local_name(element.tag) in HEADINGS), None)
    return "" if found is None else heading_text(found)


def heading_text(element: _Element) -> str:
    """What a heading says, on one line."""
    return " ".join(clean_text("".join(_said(element))).split())


def tell_document(
    root: _Element, flow: TextFlow, include: Sequence[str], images: Images, marks: ChapterMarks | None = None
) -> None:
    """A document in one page. Without marks its headings begin chapters. Raises `DocumentError`."""
    chapters = ChapterWriter(flow, include)
    level = 0 if marks else dividing_level(heading_counts(root))
    PageTeller(flow, chapters, images, marks or {}, level).tell(root)
    chapters.check()


class PageTeller:
    """Says to a flow what a page says. heading_level: headings up to it begin chapters, as the marks do."""

    def __init__(
        self, flow: TextFlow, chapters: ChapterWriter, images: Images, marks: ChapterMarks, heading_level: int = 0
    ) -> None:
        self._flow = flow
        self._images = images
        self._chapters = chapters
        self._marks = marks
        self._heading_level = heading_level
        self._heading_depth = 0
        self._pre_depth = 0
        self._italic_depth = 0
        self._breaks = 0
        """Since the last text."""

        self._initial = ""
        """A large first letter, which goes with the letters after it."""

        self._lists: list[int | None] = []
        """The lists that are open: the number of the next item, None where items have none."""

    def tell(self, root: _Element) -> None:
        """From its first block to its last."""
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "end":
                self._end(element, is_root=element is root)
            elif is_silent(element):
                # Its end comes all the same, with the text after it.
                walk.skip_subtree()
                self._leave_out(element)
            elif initial := _initial_of(element):
                walk.skip_subtree()
                self._initial = initial
            else:
                self._start(element)
        self._flow.end_block()

    def _leave_out(self, element: _Element) -> None:
        """Listed if it is in a chapter that is wanted and has anything to say, or was emptied for its surroundings."""
        kind = silent_kind(element)
        if kind and self._chapters.is_wanted:
            text = "".join(islice(map(str, element.itertext()), _MOST_QUOTED))
            if text.strip() or kind is SURROUNDINGS:
                self._flow.left_out.add(kind, quoted(text) if text.strip() else "around the article")

    def _start(self, element: _Element) -> None:
        name = local_name(element.tag)
        if name in _BLOCKS or name in HEADINGS:
            self._breaks = 0
        self._pre_depth += name == "pre"
        self._italic_depth += name in _ITALIC
        for title in self._marks.get(element.get("id") or "", ()):
            self._chapters.write(title)
        if name in HEADINGS:
            if HEADINGS[name] <= self._heading_level:
                self._chapters.write(heading_text(element))
            self._heading_depth += 1
            self._flow.begin_block(BlockKind.HEADING)
        elif name in _BLOCKS and not self._heading_depth and not _is_cell_text(element, name):
            self._flow.begin_block(BlockKind.PARAGRAPH)
            if name in ("ol", "ul"):
                self._lists.append(_first_number(element) if name == "ol" else None)
            elif name == "li":
                self._say(self._next_number())
        elif name == "br":
            self._breaks += 1
        elif name in ("wbr", "td", "th"):
            self._flow.space()
        elif name == "img" and self._images is Images.ALT:
            self._tell_picture(element)
        elif name == "img" and self._chapters.is_wanted:
            self._flow.left_out.add("picture", quoted(element.get("alt") or element.get("src") or ""))
        self._say(raised(element.text) if name == "sup" else element.text)

    def _end(self, element: _Element, *, is_root: bool) -> None:
        name = local_name(element.tag)
        if not is_silent(element):
            if name in _BLOCKS or name in HEADINGS:
                self._breaks = 0
            self._pre_depth -= name == "pre"
            self._italic_depth -= name in _ITALIC
            if name in HEADINGS:
                self._heading_depth -= 1
            elif name in ("ol", "ul") and not self._heading_depth:
                self._lists.pop()
            if (name in HEADINGS or name in _BLOCKS) and not self._heading_depth and not _is_cell_text(element, name):
                self._flow.end_block()
            elif name in _CELLS and _ends_bare(element) and _has_next_cell(element):
                self._say(", ")
        if not is_root:
            self._say(element.tail)

    def _tell_picture(self, image: _Element) -> None:
        """What it shows, as a sentence between those of the text."""
        alt = " ".join((image.get("alt") or "").split())
        if alt and image.get("role") not in ("presentation", "none"):
            self._flow.space()
            self._say(closed(alt))
            self._flow.space()

    def _next_number(self) -> str | None:
        """`3. ` in an ordered list."""
        number = self._lists[-1] if self._lists else None
        if number is None:
            return None
        self._lists[-1] = number + 1
        return f"{number}. "

    def _say(self, text: str | None) -> None:
        if not text or not self._chapters.is_wanted:
            return
        self._flow.is_italic = self._italic_depth > 0
        said = clean_text(text)
        if self._initial and said.strip():
            said, self._initial = f"{self._initial}{_behind_initial(said, self._initial)}", ""
        if self._breaks and not said.isspace():
            self._break(said.lstrip())
        if self._pre_depth and "\n" in said:
            self._say_lines(said)
        else:
            self._flow.text(said)

    def _break(self, said: str) -> None:
        """What `<br>` divides: two of them paragraphs, one lines of verse, or no more than the width of the page."""
        breaks, self._breaks = self._breaks, 0
        if breaks > 1 and not self._heading_depth:
            self._flow.end_paragraph()
        elif self._heading_depth or self._pre_depth or not said[:1].islower() or self._flow.ends_clause:
            self._flow.end_line()
        else:
            self._flow.space()

    def _say_lines(self, text: str) -> None:
        """Of a poem that is set as it was typed."""
        for number, line in enumerate(text.split("\n")):
            self._breaks += number > 0
            if line.strip():
                if self._breaks:
                    self._break(line.strip())
                self._flow.text(line)


def _initial_of(element: _Element) -> str:
    """A decorated first letter: a picture of it, or what a class calls so. "" for all else."""
    if local_name(element.tag) == "img":
        text = element.get("alt") or ""
    elif _INITIAL_CLASS.search(element.get("class") or ""):
        text = "".join(islice(map(str, element.itertext()), _MOST_QUOTED))
    else:
        return ""
    return text.strip() if _INITIAL.fullmatch(text.strip()) else ""


def _behind_initial(said: str, initial: str) -> str:
    """The rest of the word; a letter that is a word may stand alone."""
    return said if initial[-1] in "AIOÀÓ" else said.lstrip()


def _is_cell_text(element: _Element, name: str) -> bool:
    """Whether a cell of a table holds nothing but this paragraph: its row is one."""
    parent = element.getparent()
    return name in ("p", "div") and parent is not None and local_name(parent.tag) in ("td", "th") and len(parent) == 1


def raised(text: str | None) -> str | None:
    """A power as it is written in one line: 10 to the 6th is no 106."""
    return text.translate(_RAISED) if text and _POWER.fullmatch(text) else text


def is_silent(element: _Element) -> bool:
    """Whether a reader would pass over it: notes and their marks, page numbers, code, what is hidden."""
    name = local_name(element.tag)
    if name in SKIPPED or element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    if (style := element.get("style")) and _HIDDEN_STYLE.search(style):
        return True
    if name == "pre" and _is_code(element):
        return True
    classes = (element.get("class") or "").split()
    if not (_SILENT_ROLES.isdisjoint(roles_of(element)) and _SILENT_CLASSES.isdisjoint(classes)):
        return True
    if name in _CELLS and _holds_stars(element):
        return True
    return name in ("a", "sup") and _is_note_mark(element, name)


def _holds_stars(cell: _Element) -> bool:
    """Nothing but the mark of a note."""
    inner = cell[0] if len(cell) == 1 and not len(cell[0]) else None
    if len(cell) and inner is None:
        return False
    within = "" if inner is None else f"{inner.text or ''}{inner.tail or ''}"
    return _STARS.fullmatch(f"{cell.text or ''}{within}".strip()) is not None


def silent_kind(element: _Element) -> str:
    """What a reader passes over is called; "" for what is no text of the page."""
    name = local_name(element.tag)
    if name == "template" and not len(element) and not element.text:
        return SURROUNDINGS
    if name in _SILENT_KINDS:
        return _SILENT_KINDS[name]
    if name in SKIPPED:
        return ""
    if name == "pre":
        return "code"
    marks = " ".join((*roles_of(element), element.get("class") or "")).lower()
    return next(
        (kind for word, kind in _KINDS_BY_MARK.items() if word in marks),
        "note mark" if name in ("a", "sup", *_CELLS) else "hidden text",
    )


def _is_code(pre: _Element) -> bool:
    """Whether what is set as it was typed is code, or a transcriber's licence; the rest is verse."""
    if len(pre) and local_name(pre[0].tag) in ("code", "samp", "kbd"):
        return True
    parent = pre.getparent()
    classes = f"{pre.get('class') or ''} {'' if parent is None else parent.get('class') or ''}"
    text = "".join(map(str, pre.itertext()))
    if _CODE_CLASS.search(classes) or _LICENCE.search(text):
        return True
    return sum(1 for _ in _CODE_MARK.finditer(text)) > _CODE_SHARE * len(text)


def _is_note_mark(element: _Element, name: str) -> bool:
    """A number or a star that leads to a note or is raised, as books have them that do not say so.

    In brackets, or behind a word or a mark without a space: behind a number or a unit it is a power.
    """
    mark = _NOTE_MARK.fullmatch("".join(islice(map(str, element.itertext()), _MOST_QUOTED)).strip())
    if mark is None or (name == "a" and "#" not in (element.get("href") or "")):
        return False
    around = (element.getparent(), *element)
    is_raised = name == "sup" or any(each is not None and local_name(each.tag) == "sup" for each in around)
    if mark["open"] or (is_raised and name == "a"):
        return name == "a" or not mark["letter"]
    before = _MARKABLE.search(_text_before(element)[-20:])
    return before is not None and before[0].casefold() not in _NO_NOTED and not mark["letter"]


def _text_before(element: _Element) -> str:
    """What stands right before it in its line, as far as that is easily seen."""
    for _ in range(4):
        before, parent = element.getprevious(), element.getparent()
        if before is not None:
            return before.tail or (before.text or "" if not len(before) else "")
        if parent is None or local_name(parent.tag) in _BLOCKS or parent.text:
            return "" if parent is None else parent.text or ""
        element = parent
    return ""


def _first_number(ordered_list: _Element) -> int:
    start = ordered_list.get("start") or "1"
    return int(start) if start.isdecimal() and len(start) < 7 else 1


def _has_next_cell(cell: _Element) -> bool:
    """One that is spoken."""
    cells = (each for each in cell.itersiblings() if local_name(each.tag) in _CELLS)
    return any((len(each) or (each.text or "").strip()) and not is_silent(each) for each in cells)


def _ends_bare(cell: _Element) -> bool:
    """Whether a comma is wanted behind the cell: it says something, and no mark ends it."""
    said = "".join(_said(cell)).rstrip()
    return bool(said) and said[-1].isalnum()


def _said(element: _Element) -> list[str]:
    parts: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, each in walk:
        if event == "start":
            if is_silent(each):
                walk.skip_subtree()
            else:
                parts.append(each.text or "")
        elif each is not element:
            parts += (" " if local_name(each.tag) == "br" else "", each.tail or "")
    return parts
