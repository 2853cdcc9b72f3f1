"""Tags that FFmpeg has no name for, put where others stand in for them."""

from __future__ import annotations

import io
import tempfile
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutagen.mp4 import MP4

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat, Tags
from storage.audio.description import Description, freeform
from storage.audio.encoding import file_encoder
from storage.audio.mp4_freeform import FreeformMisplaced, put_in_place, stand_ins
from tests.property_tests import examples

TEXT = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=60)


def encoded(tags: Tags, file: IO[bytes]) -> None:
    encoder = file_encoder(OutputFormat(type=AudioFormat.M4B, bitrate_kbps=32), 16_000, Description(tags), file)
    encoder.write(bytes(3_200))
    encoder.finish()
    put_in_place(file, freeform(tags))


@given(publisher=TEXT, series=TEXT)
@settings(max_examples=examples(15), deadline=None)
def test_any_words_come_back_and_nothing_else_moves(publisher: str, series: str) -> None:
    tags = Tags(title="T", publisher=publisher, series=series, isbn="0-306-40615-2")
    with tempfile.TemporaryFile() as file:
        encoded(tags, file)
        file.seek(0)
        found = MP4(io.BytesIO(file.read()))

    words = [found[f"----:com.apple.iTunes:{name}"][0].decode() for name in ("PUBLISHER", "ISBN", "SERIES")]
    assert words == [publisher, "0-306-40615-2", series]
    assert found["\xa9nam"] == ["T"]
    assert found.info is not None
    assert found.info.length == pytest.approx(0.1, abs=0.07)


def test_without_such_tags_nothing_is_touched() -> None:
    assert stand_ins({}) == {}
    with tempfile.TemporaryFile() as file:
        put_in_place(file, {})
        assert file.read() == b""


def test_a_file_that_is_not_as_expected_is_said_to_be_so() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"\0\0\0\0free" * 3)
        with pytest.raises(FreeformMisplaced, match="no b'moov'"):
            put_in_place(file, {"ISBN": "1"})
    with pytest.raises(ValueError, match="5 tags"):
        stand_ins(dict.fromkeys("abcde", "x"))
