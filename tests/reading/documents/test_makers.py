"""Pages as programs that make EPUBs write them: all of it is spoken, and a chapter begins where its title is said."""

from __future__ import annotations

import re

import pytest

from reading.documents.epub.book import epub_script
from tests.reading.documents.books import NAV_ITEM, book, nav, package, page

CHAPTERS = {
    "The Ferry": ["The lamp was lit. The room grew warm!", "They talked of it until ten, and nobody left."],
    "A Narrow Bridge": ["Rain came in the night.", "Was the river high? It rose to the mill's lowest step."],
}

MAKERS = {
    "calibre": '<div class="calibre1"><h2 class="calibre4"><span>{title}</span></h2>{text}<div/></div>',
    "sigil": "<h1>{title}</h1>{text}",
    "word": '<p class="MsoNormal"><b><span style="font-size:20pt">{title}</span></b></p>{text}',
    "gutenberg": '<div class="chapter"><h2><a id="chap01"/>CHAPTER I.<br/>{title}</h2>{text}<hr/></div>',
    "vellum": '<section epub:type="chapter"><p class="chapter-number">1</p><h1>{title}</h1>{dropped}</section>',
    "indesign": '<div><p class="Chapter-Title"><span>{title}</span></p>{spans}</div>',
    "pandoc": '<section class="level1"><h1><span class="header-section-number">1</span> {title}</h1>{text}</section>',
    "scrivener": '<div><p class="p1"><span class="s1">{title}</span></p><p class="p2"><br/></p>{text}</div>',
    "google docs": '<h1 class="c3"><span class="c1">{title}</span></h1>{text}<p class="c2"><span></span></p>',
    "kobo": '<div id="book-inner"><h1><span class="koboSpan" id="kobo.1.1">{title}</span></h1>{spans}</div>',
    "standard ebooks": '<hgroup><h2 epub:type="ordinal">I</h2><p epub:type="title">{title}</p></hgroup>{text}',
    "fb2": '<div class="section1"><div class="title1"><p>{title}</p></div>{text}</div>',
    "divisions": "<div>{title}</div>{divisions}",
    "lines": "<h3>{title}</h3><div>{lines}</div>",
    "tables": "<table><tr><td><h2>{title}</h2>{text}</td></tr></table>",
    "fonts": '<center><font size="5"><b>{title}</b></font></center><blockquote>{text}</blockquote>',
}


@pytest.mark.parametrize("maker", MAKERS)
def test_nothing_of_a_page_is_lost(maker: str) -> None:
    pages = {f"{n}.xhtml": page(written(maker, title)) for n, title in enumerate(CHAPTERS)}
    contents = nav("".join(f'<li><a href="{n}.xhtml">{title}</a></li>' for n, title in enumerate(CHAPTERS)))

    script = epub_script(book({"book.opf": package([*pages], NAV_ITEM), "nav.xhtml": contents, **pages}), ())

    spoken = letters(script.text)
    wanted = [text for title, paragraphs in CHAPTERS.items() for text in (title, *paragraphs)]
    assert [text for text in wanted if letters(text) not in spoken] == []
    assert [chapter.title for chapter in script.chapters] == [*CHAPTERS]
    assert not script.left_out


def written(maker: str, title: str) -> str:
    paragraphs = CHAPTERS[title]
    text = "".join(f"<p>{each}</p>" for each in paragraphs)
    spans = re.sub(r"([^.!?<>]+[.!?])", r"<span>\1</span>", text)
    return MAKERS[maker].format(
        title=title,
        text=text,
        spans=spans,
        dropped=f'<p><span class="first-letter">{paragraphs[0][0]}</span>{text[len("<p>") + 1 :]}',
        divisions="".join(f"<div>{each}</div>" for each in paragraphs),
        lines="<br/><br/>".join(paragraphs),
    )


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()
