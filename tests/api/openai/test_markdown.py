"""Markdown in the text of a call: read as a document where it is certain, and no other text is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.problems.problem import HttpProblem
from api.openai.orders import wish_of
from rhapsode.contract.openai import SpeechOrder
from tests.api.harness import ServedApi
from tests.api.live.scripted_worker import ScriptedWorker, expected
from tests.api.openai.test_routes import ORDER, answered, speak_soon
from tests.api.openai.test_streaming import served, speak

ANSWER = """# A weekend

Here is a **short** plan, with *two* ideas:

- Visit the [museum](https://example.org/museum).
- Have lunch.

```python
print("hello")
```
"""
READ = "A weekend\n\nHere is a short plan, with two ideas:\n\nVisit the museum.\n\nHave lunch."

PROSE = [
    "5 * 3 * 2 = 30, and 2**3**2 is 512.",
    "Price*, all taxes included. *Without shipping.",
    "We are #1, in C# and F#. Item # 4 is sold. #blessed",
    "See [1] and (2), [3](4), and [sic] (he wrote so).",
    "- Where were you?\n- At home.\n- All day?",
    "1. First, go home.\n2. Then, sleep.",
    "f**k this s**t, he said.",
    "The function snake_case_name calls __init__ of self._x_.",
    "* A single footnote.",
    "``Quoted as TeX does,'' she wrote, and `so' too.",
    "a | b | c\nd | e | f",
    "    An indented line.\n\n---\n\nAnother.",
    "> They wrote this.\nI answered.",
]


def spoken(text: str, **fields: object) -> tuple[str, tuple[str, ...]]:
    wish = wish_of(SpeechOrder.model_validate({"input": text, **fields}))
    return wish.order.input, wish.ignored


@pytest.mark.parametrize(
    ("text", "read", "left_out"),
    [
        (ANSWER, READ, ("code",)),
        ("## Title\nText", "Title\n\nText", ()),
        ("So **this** is it", "So this is it", ()),
        ("He *smiles* again", "He smiles again", ()),
        ("* milk\n* eggs", "milk\n\neggs", ()),
        ("Press `Enter`", "Press Enter", ()),
        ("See [us](https://example.org).", "See us.", ()),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b\n\n1, 2", ()),
        ("---\nname: **A**\n---\nB", "name: A\n\nB", ()),
        ("```\nx = 1\n```", "...", ("code",)),
    ],
)
def test_what_is_certainly_markdown_is_read_as_text(text: str, read: str, left_out: tuple[str, ...]) -> None:
    assert spoken(text) == (read, left_out)
    assert spoken(text, input_format="plain") == (text, ())


@pytest.mark.parametrize("text", PROSE)
def test_prose_with_such_marks_stays_as_it_is(text: str) -> None:
    assert spoken(text) == (text, ())


def test_who_says_that_it_is_markdown_is_believed() -> None:
    assert spoken("- one\n- two", input_format="markdown") == ("one\n\ntwo", ())


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="*`#[|"), max_size=300))
def test_a_text_without_marks_is_spoken_as_it_was_sent(text: str) -> None:
    assert spoken(text) == (text, ())


@given(st.lists(st.sampled_from([*PROSE, "Plain.", "\n", " ", "\t"]), max_size=6))
def test_pieces_of_prose_are_prose_together(pieces: list[str]) -> None:
    text = "\n\n".join(pieces)

    assert spoken(text) == (text, ())


def test_markdown_beyond_the_readers_bounds_is_refused_and_can_be_sent_as_plain_text() -> None:
    text = f"**a** {'[' * 1_001}"

    with pytest.raises(HttpProblem, match="input_format: plain"):
        spoken(text)
    assert spoken(text, input_format="plain") == (text, ())


def test_the_answer_names_the_code_that_it_leaves_out(api: ServedApi) -> None:
    answer = answered(api, speak_soon, input=ANSWER)

    assert (answer.status_code, answer.headers["x-ignored"]) == (200, "code")


def test_a_stream_is_read_as_text_too(api: ServedApi) -> None:
    with served(api, ScriptedWorker("one")):
        answer = speak(api, input="So **this** is `it`.")

    assert answer.content == expected("So this is it.", seed=3)


def test_an_answer_of_code_alone_is_a_silence(api: ServedApi) -> None:
    answer = api.http.post("/v1/audio/speech", json=ORDER | {"input": "```\nx = 1\n```", "response_format": "wav"})

    assert (answer.status_code, answer.headers["x-ignored"]) == (200, "input, code")
