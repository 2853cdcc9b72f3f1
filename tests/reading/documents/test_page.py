"""HTML, Markdown and text: what is read aloud, what is passed over, and in which characters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.documents.characters import clean_text, decode_markup, decode_text
from reading.documents.errors import DocumentError
from reading.documents.html_document import html_script
from reading.documents.markdown_document import markdown_script
from reading.script.left_out import LeftOutList
from reading.script.script import BlockKind, Script
from rhapsode.contract.jobs.input import Images
from tests.property_tests import examples


def said(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


def test_a_page_says_its_text_and_nothing_else() -> None:
    page = """<html lang="de"><head><title> A  page </title><meta name="author" content="Ann"><style>p{}</style></head>
    <body><nav>Home | About</nav><h1>Title</h1><p>One<!-- no --> &amp; <a href="x">two</a>.<script>x()</script>
    <p hidden>secret<p aria-hidden="true">icon<p>line<br>break<table><tr><th>A<th>B<tr><td>1<td>2.</table>
    <ol start="3"><li>three<li>four<ul><li>dot</ul></ol><pre><code>code()</code></pre><pre>a poem
    in lines</pre><ruby>東京<rt>とうきょう</rt></ruby><form>Search <input></form></body></html>"""

    script = html_script(page, ())

    assert said(script) == [
        "Title",
        "One & two.",
        "line break",
        "A, B",
        "1, 2.",
        "3. three",
        "4. four",
        "dot",
        "a poem",
        "in lines",
        "東京",
    ]
    assert (script.title, script.author, script.language) == ("A page", "Ann", "de")


def test_a_row_is_read_as_one_also_where_its_cells_hold_paragraphs() -> None:
    page = "<table><tr><td><p>Oats</p></td><td><div>3 sacks</div></td></tr><tr><td><p>A</p><p>B</p></td></tr></table>"

    assert said(html_script(page, ())) == ["Oats, 3 sacks", "A", "B"]


def test_a_cell_with_the_mark_of_a_note_is_not_spoken() -> None:
    page = (
        "<p>Before it rains.</p><table><tr><td>*</td></tr><tr><td> <b>**</b> </td><td>See the note</td></tr>"
        "<tr><td>Rye</td><td>†</td><td></td></tr><tr><td>2 * 3</td><td>6</td></tr></table>"
    )

    script = html_script(page, ())

    assert said(script) == ["Before it rains.", "See the note", "Rye", "2 * 3, 6"]
    assert [(each.kind, each.count) for each in script.left_out] == [("note mark", 3)]


def test_what_is_hidden_is_not_read() -> None:
    page = """<p>One.</p><p style="color: red; DISPLAY : none">no</p><p style="visibility:hidden">no</p>
    <p>Two<span class="sr-only"> (opens a window)</span>.</p><div style="display:block">Three.</div>"""

    assert said(html_script(page, ())) == ["One.", "Two.", "Three."]


def test_a_break_is_a_line_of_verse_a_paragraph_or_no_more_than_the_width_of_a_page() -> None:
    page = """<p>The moon was late,<br>The lamp was low,<br/>and nobody came.</p><p>Prose that was<br>wrapped here.</p>
    <p>A paragraph<br><br>and another.</p><h2>Two<br>Lines</h2><p>End.</p>"""

    script = html_script(page, ())

    assert said(script) == [
        *("The moon was late,", "The lamp was low,", "and nobody came.", "Prose that was wrapped here."),
        *("A paragraph", "and another.", "Two", "Lines", "End."),
    ]
    assert [block.kind for block in script.blocks][:4] == [
        *(BlockKind.LINE, BlockKind.LINE, BlockKind.PARAGRAPH, BlockKind.PARAGRAPH),
    ]
    assert [chapter.title for chapter in script.chapters] == ["Two Lines"]


def test_preformatted_text_is_verse_unless_it_is_code_or_a_licence() -> None:
    page = """<pre>O mill,\n  turn on;\n\nthe night is long.</pre><pre class="language-c">poem</pre>
    <div class="highlight"><pre>poem</pre></div><pre>if (x) { y = 1; }\nreturn y;</pre>
    <pre>*** START OF THE PROJECT GUTENBERG EBOOK A MILL ***</pre><p>End.</p>"""

    assert said(html_script(page, ())) == ["O mill,", "turn on;", "the night is long.", "End."]


def test_notes_and_their_marks_are_passed_over_as_books_of_all_ages_have_them() -> None:
    page = """<p>One<sup><a href="#n1">1</a></sup> two<a href="notes.html#n2"><sup>*</sup></a> three
    <a href="#n3">[12]</a> four<a class="noteref" href="#n4">iv</a>.</p>
    <p>See <a href="#fig">1</a> and x<sup>2</sup> and <a href="http://a.b/">[a link]</a>.
    <span class="pagenum">[Pg 7]</span></p>
    <div class="footnote" id="n1"><p>1. Not read.</p></div><section role="doc-endnotes"><p>Nor this.</p></section>"""

    assert said(html_script(page, ())) == ["One two three four.", "See 1 and x² and [a link]."]


def test_pictures_are_described_if_somebody_wants_it() -> None:
    page = """<p>Look:<img src="a.png" alt="a  map of the\nisland"> there.</p><img alt="" src="b.png">
    <figure><img src="c.png" alt="A ship"><figcaption>Fig. 1</figcaption></figure><img role="presentation" alt="x">"""

    assert said(html_script(page, ())) == ["Look: there.", "Fig. 1"]
    assert said(html_script(page, (), Images.ALT)) == ["Look: a map of the island. there.", "A ship.", "Fig. 1"]
    assert said(markdown_script("One ![a cat](c.png) two.", (), Images.ALT)) == ["One a cat. two."]


@pytest.mark.parametrize(
    ("headings", "chapters"),
    [
        ("<h1>Book</h1><h2>A</h2><p>a</p><h2>B</h2><h3>b</h3>", ["A", "B"]),
        ("<h1>A</h1><h2>a</h2><p>a</p><h1>B</h1>", ["A", "B"]),
        ("<h3>Only</h3>", ["Only"]),
        ("<p>none</p>", []),
    ],
)
def test_the_headings_that_divide_a_page_begin_chapters(headings: str, chapters: list[str]) -> None:
    assert [chapter.title for chapter in html_script(headings + "<p>End.</p>", ()).chapters] == chapters


def test_markdown_is_read_without_its_marks() -> None:
    text = (
        "# T *x*\n\nA [link](http://x.y 'z') ![picture](p.png) and `code`,\nsoft  break\\\nhard.\n\n"
        "> quoted\n\n---\n\n<div>raw **html**</div>\n"
    )

    assert said(markdown_script(text, ())) == [
        "T x",
        "A link and code, soft break hard.",
        "quoted",
        "raw **html**",
    ]


def test_markdown_of_other_dialects_is_read_without_its_marks() -> None:
    text = (
        "- [ ] buy *oats*\n- [x] sell the mill\n- [a] link\n\n10^6^ litres of H~2~O on the 1^st^,^[A note.] ~~not~~ "
        "`x^2^` ~ 5 and [there](http://a.b/~c~).\n\n[ ] no task"
    )

    assert said(markdown_script(text, ())) == [
        *("buy oats", "sell the mill", "[a] link"),
        *("10⁶ litres of H2O on the 1st, x^2^ ~ 5 and there.", "[ ] no task"),
    ]


def test_notes_in_markdown_are_passed_over_if_they_are_there() -> None:
    notes = "[^1]: A note.\n[^long]: Another,\n    with a second line.\n\n    And more."
    text = f"One[^1] two[^long].\n\n{notes}\n\nThree[^none].\n"

    script = markdown_script(text, ())
    assert said(script) == ["One two.", "Three[^none]."]
    assert [(each.kind, each.count, each.first) for each in script.left_out] == [("note", 2, "“A note.”")]
    assert [each.kind for each in markdown_script("One^[A note.] two.", ()).left_out] == ["note"]
    assert said(markdown_script("x[^1]\n\n" + "[^" * 500, ()))[0] == "x[^1]"


@pytest.mark.parametrize("text", [">" * 40 + " deep", "".join(f"{'  ' * n}- {n}\n" for n in range(40))])
def test_markdown_may_be_nested_deeper_than_its_parser_likes(text: str) -> None:
    assert said(markdown_script(text, ()))[-1] in ("deep", "39")


@pytest.mark.parametrize("text", [">" * 5_000 + " lost", "".join(f"{'  ' * n}- {n}\n" for n in range(120))])
def test_nesting_without_end_is_refused_and_not_left_out(text: str) -> None:
    with pytest.raises(DocumentError, match="nested more than 100 deep"):
        markdown_script(text, ())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("naïve".encode(), "naïve"),
        ("naïve".encode("utf-8-sig"), "naïve"),
        ("naïve".encode("utf-16"), "naïve"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><p>na\xefve</p>', "naïve"),
        (b"<meta charset=windows-1251>\xcf\xf0\xe8", "При"),
        ("<meta charset='Shift_JIS'>日本".encode("shift_jis"), "日本"),
        (b"<meta charset=ascii>\x93quoted\x94", "“quoted”"),
    ],
)
def test_markup_is_read_in_the_characters_it_declares(data: bytes, text: str) -> None:
    assert text in decode_markup(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xe9t\xe9\0", "names no encoding and is not valid utf-8 at byte 0"),
        (b"<meta charset='utf-8'>\xff\0", "declares utf-8, but is not valid utf-8"),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_the_place(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError) as refused:
        decode_markup(data)

    assert says in refused.value.detail


GUESSED = [
    ("第一章 磨坊\r\n\r\n灯亮了，屋子里暖和起来。", "gbk", "gb18030"),
    ("第一章 磨坊\r\n\r\n燈亮了，屋子裡暖和起來。", "big5", "big5"),
    ("第一章 水車小屋\n\nランプがともり、部屋は暖かくなった。", "cp932", "shift_jis"),
    ("第一章 水車小屋\n\nランプがともり、部屋は暖かくなった。", "euc_jp", "euc_jp"),
    ("제1장 방앗간\n\n등불이 켜지고 방이 따뜻해졌다. 그들은 이야기를 했다.", "cp949", "cp949"),
    ("Глава первая\n\nЛампа горела, и в комнате стало тепло. Они говорили о письме.", "cp1251", "cp1251"),
    ("Глава первая\n\nЛампа горела, и в комнате стало тепло. Они говорили о письме.", "koi8_r", "koi8_r"),
    ("Lampa świeciła się, a w pokoju zrobiło się ciepło. Żółta łódź płynęła.", "cp1250", "cp1250"),
    ("Die Lampe brannte, und das Zimmer wurde wärmer. Über die Brücke gingen fünf.", "cp1252", "cp1252"),
    ("He said – quite softly – “yes”. The café was closed.\r\n", "cp1252", "cp1252"),
    ("The mill stood still that evening, and a boat lay in the bed of the stream. " * 9 + "Café.", "cp1252", "cp1252"),
]


@pytest.mark.parametrize(("text", "encoding", "guess"), GUESSED)
def test_a_text_that_is_not_unicode_is_guessed_and_the_guess_is_told(text: str, encoding: str, guess: str) -> None:
    repairs = LeftOutList()

    assert decode_text(text.encode(encoding), repairs) == text
    assert [each.kind for each in repairs.all] == [f"text that is not utf-8, read as {guess}"]
    assert repairs.all[0].first.endswith(" of the document")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Héllo, you.\n", "第一章 磨坊\n\n灯亮了。"])
def test_unicode_is_no_guess(text: str, encoding: str) -> None:
    repairs = LeftOutList()

    assert decode_text(text.encode(encoding), repairs).removeprefix("\ufeff") == text
    assert repairs.all == ()


def test_an_encoding_that_nobody_knows_is_read_as_unicode() -> None:
    repairs = LeftOutList()

    assert "ö" in decode_markup("<meta charset='utf8mb4'>ö".encode(), repairs)
    assert repairs.all[0].first == "'utf8mb4' in the document"


def test_what_cannot_be_spoken_is_taken_out() -> None:
    assert clean_text("so\u00adft\u200b \u202eevil\x07\x85end") == "soft evil  end"


PIECES = [*"<>/&;=\"' \n#*-`[]()!|", "p", "h1", "div", "li", "ol", "td", "&nbsp;", "x", "é", "字", "<p>", "</", "<ol>"]
MARKUP = st.lists(st.sampled_from(PIECES), max_size=120).map("".join)


@given(MARKUP)
@settings(max_examples=examples(150), deadline=None)
def test_any_markup_is_a_script_or_an_error(text: str) -> None:
    for read in (html_script, markdown_script):
        try:
            script = read(text, ())
        except DocumentError:
            continue
        spans = [span for block in script.blocks for span in block.spans]
        assert [span.start for span in spans] == [0, *(span.end for span in spans)][: len(spans)]
        assert not spans or spans[-1].end == len(script.text)


def test_what_is_left_out_of_a_page_is_listed() -> None:
    page = """<nav>Home</nav><p>One<a href="#n1"><sup>1</sup></a> <s>two</s>.</p><img alt="A boat">
    <pre><code>x = 1</code></pre>
    <p hidden>no</p><p class="footnote">A <i>note</i>.</p><p class="footnote">Another.</p><script>1</script>"""

    assert [(each.kind, each.count, each.first) for each in html_script(page, ()).left_out] == [
        ("what surrounds the article", 1, "around the article"),
        ("note mark", 1, "“1”"),
        ("struck text", 1, "“two”"),
        ("picture", 1, "“A boat”"),
        ("code", 1, "“x = 1”"),
        ("hidden text", 1, "“no”"),
        ("note", 2, "“A note.”"),
    ]


def test_notes_in_markdown_are_read_without_the_marks_of_their_programs() -> None:
    note = """We met ==at the mill== with [[Ann Example|Ann]] and [[The River#Bank]]. ^block-id

> [!note] Careful
> The step is wet.

Inline $E=mc^2$ costs $5 and $6, and `[[code]] $x=1$ ==a==` stays; a == b == c.

$$
\\int_0^1 x\\,dx
$$

%% not for
anyone %%

#tag-one #tag-two

#3 is a number.
"""
    script = markdown_script(note, ())

    assert said(script) == [
        "We met at the mill with Ann and The River.",
        "Careful The step is wet.",
        "Inline costs $5 and $6, and [[code]] $x=1$ ==a== stays; a == b == c.",
        "#3 is a number.",
    ]
    assert [(each.kind, each.count) for each in script.left_out] == [("hidden text", 3), ("formula", 2)]
