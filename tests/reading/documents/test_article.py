"""Web pages: the article is read, and nothing of what stands around it; a page that is all text is left alone."""

from __future__ import annotations

import pytest

from reading.documents.html_document import html_script
from reading.script.script import Script

PROSE = (
    "The mill stood still that evening, and a small green boat lay in the dry bed of the stream, with nobody on board."
)
PARAGRAPHS = "".join(f"<p>{number}: {PROSE}</p>" for number in range(1, 6))
READ = [f"{number}: {PROSE}" for number in range(1, 6)]

AROUND = """<div role="dialog"><p>We value your privacy, and so do our 812 partners, who like to know you.</p></div>
<div id="cookie-consent"><p>This site uses cookies to make sure that you get the best experience of it.</p></div>
<nav><a href="/">Home</a> News</nav><header><h1>The Dry Mill</h1></header>"""
BEHIND = """<div class="ad-slot advertisement"><p>Buy two boats for the price of three, only here and today!</p></div>
<aside><p>Most read: how to mend a mill wheel in seven days and without a single nail.</p></aside>
<section class="related"><h2>More</h2><p>Other mills that you may like to read about, by our editors.</p></section>
<div class="comments"><p>First! And I should like to add that I have seen this mill myself, and it was wet.</p></div>
<footer><p>Copyright of the mill, all rights reserved, in this valley and in the next one.</p></footer>"""


def said(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


@pytest.mark.parametrize(
    "body",
    [
        f"<main><article>{PARAGRAPHS}</article></main>",
        f"<div><div class='story-body'>{PARAGRAPHS}</div></div>",
        f"<form action='/'><div>{PARAGRAPHS}</div></form>",
        f"<article>{PARAGRAPHS}{BEHIND}</article>",
    ],
    ids=["article", "divisions", "a page in a form", "surroundings inside"],
)
def test_the_article_is_read_with_its_title(body: str) -> None:
    page = f"<html><head><title>The Dry Mill - News</title></head><body>{AROUND}{body}{BEHIND}</body></html>"

    script = html_script(page, ())

    assert said(script) == ["The Dry Mill", *READ]
    assert [chapter.title for chapter in script.chapters] == ["The Dry Mill"]
    assert script.title == "The Dry Mill - News"


def test_a_page_without_surroundings_is_read_whole() -> None:
    chapters = "".join(f"<div class='comments'><h2>{n}</h2><p>{PROSE}</p></div>" for n in range(1, 4))

    script = html_script(f"<body><p>For my mother.</p>{chapters}</body>", ())

    assert said(script) == ["For my mother.", *(line for n in range(1, 4) for line in (str(n), PROSE))]


def test_a_book_in_parts_is_not_cut_down_to_one_of_them() -> None:
    chapters = "".join(f"<section><h2>Chapter {n}</h2>{PARAGRAPHS}</section>" for n in range(1, 4))

    script = html_script(f"<body><nav>Contents</nav>{chapters}<footer>No rights reserved</footer></body>", ())

    assert [chapter.title for chapter in script.chapters] == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert len(script.blocks) == 18


def test_a_title_is_no_chapter_and_contents_are_not_read() -> None:
    chapters = "".join(f"<h2>Chapter {n}</h2>{PARAGRAPHS}" for n in range(1, 4))

    script = html_script(f"<h1>The Mill</h1><p class='toc'><a href='#1'>Chapter 1</a></p>{chapters}", ())

    assert said(script)[:2] == ["The Mill", "Chapter 1"]
    assert [(each.id, each.title) for each in script.chapters] == [(str(n + 1), f"Chapter {n}") for n in range(1, 4)]


def test_who_is_quoted_is_said() -> None:
    page = f"<nav>x</nav>{PARAGRAPHS}<blockquote><p>{PROSE}</p><footer>Ann Author</footer></blockquote>"

    assert said(html_script(page, ()))[-1] == "Ann Author"
