"""What a dictionary knows, and that none of its words says more than the alphabet has."""

from __future__ import annotations

import gzip
import json

import pytest

from worker.engine.kokoro.phones.dictionary import DEFAULT, FOLDER, Accent, dictionary_file, ways_of


@pytest.mark.parametrize("accent", Accent)
def test_every_line_is_found_and_of_the_alphabet(accent: Accent) -> None:
    lines = gzip.decompress((FOLDER / dictionary_file(accent)).read_bytes()).decode().splitlines()
    alphabet = json.loads(FOLDER.with_name("alphabet.json").read_text(encoding="utf-8"))
    words, phones = zip(*(line.split("\t")[:2] for line in lines), strict=True)

    assert {symbol for each in phones for symbol in each} <= alphabet.keys()
    sample = range(0, len(words), 997)
    assert [(ways_of(words[at], accent) or {}).get(DEFAULT) for at in sample] == [phones[at] for at in sample]
    for at in (0, -1):
        assert ways_of(words[at], accent) is not None


def test_a_word_is_found_in_its_case_alone() -> None:
    assert ways_of("Polish", Accent.AMERICAN) == {DEFAULT: "pˈOlɪʃ"}
    assert ways_of("polish", Accent.AMERICAN) == {DEFAULT: "pˈɑlɪʃ"}
    assert ways_of("polishe", Accent.BRITISH) is None
    assert ways_of("", Accent.BRITISH) is None
    assert ways_of("\ud800", Accent.BRITISH) is None


def test_another_way_has_its_tag() -> None:
    assert ways_of("read", Accent.BRITISH) == dict.fromkeys(("ADJ", "VBD", "VBN", "VBP"), "ɹˈɛd") | {DEFAULT: "ɹˈiːd"}
    assert ways_of("US", Accent.AMERICAN) == {DEFAULT: "ˌʌs", "NOUN": ""}
