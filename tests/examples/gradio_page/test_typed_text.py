"""A text while it is typed: words go when they are whole, and what has gone stays said."""

from __future__ import annotations

from examples.gradio_page.typed_text import TypedText


def test_words_go_when_white_space_follows_and_the_rest_at_the_end() -> None:
    typed = TypedText()
    for text in ("T", "The", "The wind", "The wind and", "The wind and "):
        typed.show(text)
    typed.finish("The wind and the sun.")

    assert list(typed) == ["The ", "wind ", "and ", "the sun."]


def test_what_has_gone_stays_said() -> None:
    typed = TypedText()
    typed.show("The wind ")
    typed.show("The sun ")
    typed.show("The wind ")
    typed.finish("The wind blows")

    assert "".join(typed) == "The wind blows"
