"""Markdown to a script, by way of the HTML it stands for, so that both are read by the same rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from reading.documents.errors import DocumentError
from reading.documents.html_document import html_script
from reading.documents.page import raised
from reading.script.script import Script
from rhapsode.contract.jobs.input import Images

MAX_NESTING = 100
"""Quotations in lists in quotations; the parser's own bound of 20 is within what people write."""

MAX_BRACKETS = 1_000
MAX_STARS = 10_000
"""Of one paragraph, heading or cell. The parser searches for the end of each, so the time grows with their square."""

_FIELDS = ("title", "author", "lang", "language")
_BRACKET = re.compile(r"[\[`<]")
_STAR = re.compile(r"[*_]")
_NOTE_BEGINS = re.compile(r"[^\S\n]{0,3}\[\^(?P<name>[^\]\s]{1,64})\]:")
_BOX = re.compile(r"\A\[[ xX]\][ \t]+")
_INLINE_NOTE = re.compile(r"\^\[([^\[\]]{1,1000})\]")
_SUPERSCRIPT = re.compile(r"(?<=[\w)\]])\^([^\s^]{1,20})\^")
_SUBSCRIPT = re.compile(r"(?<=[\w)\]])~([^\s~]{1,20})~")
_NOTES = re.compile(
    r"(?P<code>`{1,8}[^`]{1,2000}`{1,8})|(?<!!)\[\[(?P<link>[^\[\]\n]{1,300})\]\]|"
    r"(?<!=)==(?P<marked>[^\s=](?:[^=\n]{0,500}[^\s=])?)==(?!=)|%%(?P<comment>[^%]{1,5000})%%|"
    r"\$\$(?P<block>[^$]{1,5000})\$\$|(?<![\w$\\])\$(?P<formula>(?=[^$\n]{0,300}[\\^_={}])[^\s$](?:[^$\n]{0,300}[^\s$])?)\$(?![\w$])|"
    r"\A(?P<callout>\[![\w-]{1,40}\][+-]?[ \t]{0,4})|(?<=[ \t])(?P<id>\^[\w-]{1,40})$|"
    r"^(?P<tags>(?:\#[^\W\d][\w/-]{0,60}[ \t]{0,8}){1,40})$",
    re.MULTILINE,
)
_NOTE_MARK = re.compile(r"\[\^(?P<name>[^\]\s]{1,64})\]")


def markdown_script(text: str, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """CommonMark with tables. Raises `DocumentError`."""
    fields, body = _front_matter(text)
    body, notes = _without_notes(body)
    html = _html(body) + "".join(f'<p class="footnote">{escape(note)}</p>' for note in notes)
    script = html_script(f"<html><body>{html}</body></html>", include, images)
    language = fields.get("lang") or fields.get("language", "")
    return replace(script, title=fields.get("title", ""), author=fields.get("author", ""), language=language)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """What the document says of itself between two lines of dashes, and what stands behind them."""
    first, *lines = text.split("\n")
    if not first.startswith("---") or first[3:].strip():
        return {}, text
    for number, line in enumerate(lines):
        if line[:3] in ("---", "...") and not line[3:].strip():
            return dict(map(_field, lines[:number])), "\n".join(lines[number + 1 :])
    return {}, text


def _field(line: str) -> tuple[str, str]:
    """Name and value; nothing for a line that says nothing of use."""
    name, colon, value = line.partition(":")
    if not colon or name.rstrip() not in _FIELDS:
        return "", ""
    return name.rstrip(), value.strip().removeprefix('"').removeprefix("'").removesuffix('"').removesuffix("'")


def _without_notes(text: str) -> tuple[str, Iterable[str]]:
    """And how each note begins. Notes are not part of CommonMark, but people write them. They are not read."""
    notes: dict[str, str] = {}
    body = "\n".join(_lines_without_notes(text.split("\n"), notes))
    if not notes:
        return text, ()
    return _NOTE_MARK.sub(lambda match: "" if match["name"] in notes else match[0], body), notes.values()


def _lines_without_notes(lines: Iterable[str], notes: dict[str, str]) -> Iterator[str]:
    """Adds to `notes` their names and first lines. A note continues with indented lines, also after empty ones."""
    blanks: list[str] | None = None
    for line in lines:
        if begun := _NOTE_BEGINS.match(line):
            notes[begun["name"]] = line[begun.end() :].strip() or begun["name"]
            yield from blanks or ()
            blanks = []
        elif blanks is None:
            yield line
        elif not line.strip():
            blanks.append(line)
        elif line.startswith(("\t", "    ")):
            blanks = []
        else:
            yield from blanks
            yield line
            blanks = None
    yield from blanks or ()


def _refuse_crowds(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline":
            line = token.map[0] + 1 if token.map else 1
            for mark, most, name in ((_BRACKET, MAX_BRACKETS, "brackets and backticks"), (_STAR, MAX_STARS, "stars")):
                if len(mark.findall(token.content)) > most:
                    raise DocumentError(f"the paragraph at line {line} has more than {most:,} {name}")


def _drop_boxes(state: StateCore) -> None:
    """Of tasks: `- [x] done`. And notes in the text, `^[like this]`."""
    for before, token in pairwise(state.tokens):
        if token.type == "inline":
            is_item = before.type == "paragraph_open" and before.level > 0
            content = _BOX.sub("", token.content) if is_item else token.content
            token.content = _INLINE_NOTE.sub(lambda note: f'<span class="footnote">{escape(note[1])}</span>', content)


def _plain_notes(state: StateCore) -> None:
    """What people write in notes: links between them, marked words, comments, formulas, tags. Code stays."""
    for token in state.tokens:
        if token.type == "inline":
            token.content = _NOTES.sub(_plain_note, token.content)


def _plain_note(match: re.Match[str]) -> str:
    """What is not read becomes an element that the page lists."""
    kind = match.lastgroup
    text = match[kind] if kind else ""
    match kind:
        case "code":
            return text
        case "link":
            return text.rpartition("|")[2].partition("#")[0] or text.strip("#")
        case "marked" | "callout":
            return text if kind == "marked" else ""
        case "formula" | "block":
            return f"<math>{escape(text)}</math>"
        case _:
            return f"<span hidden>{escape(text)}</span>"


def _raise_and_lower(state: StateCore) -> None:
    """`10^6^` and `H~2~O`, in text alone: code and addresses stay."""
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "text":
                content = _SUPERSCRIPT.sub(lambda match: raised(match[1]) or "", child.content)
                child.content = _SUBSCRIPT.sub(r"\1", content)


def _html(text: str) -> str:
    markdown = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    markdown.core.ruler.before("inline", "drop_boxes", _drop_boxes)
    markdown.core.ruler.before("inline", "refuse_crowds", _refuse_crowds)
    markdown.core.ruler.before("inline", "plain_notes", _plain_notes)
    markdown.core.ruler.push("raise_and_lower", _raise_and_lower)
    tokens = markdown.parse(text)
    deepest = max((inner.level for token in tokens for inner in (token, *(token.children or ()))), default=0)
    if deepest >= MAX_NESTING - 1:
        # What lies deeper is left out by the parser without a word.
        raise DocumentError(f"the document is nested more than {MAX_NESTING} deep")
    return str(markdown.renderer.render(tokens, markdown.options, {}))
