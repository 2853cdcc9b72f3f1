"""Segments in one object: what is put in is found again, by the record's place and by the index alone."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.segments.packs import (
    INDEX_BYTES,
    MAX_SEGMENTS,
    PackFormatError,
    PackName,
    PackPlace,
    decode_index,
    decode_place,
    encode_pack,
    encode_place,
)

LEASES = st.tuples(st.integers(0, 10**7), st.integers(1, 2**53))
FILES = st.dictionaries(LEASES, st.binary(max_size=200), min_size=1, max_size=MAX_SEGMENTS).map(
    lambda files: [(index, fence, data) for (index, fence), data in files.items()]
)


@given(FILES)
def test_every_segment_of_a_pack_is_found_where_its_index_says(files: list[tuple[int, int, bytes]]) -> None:
    pack = encode_pack(files)

    index = decode_index(pack.data[:INDEX_BYTES])
    found = [(each.index, each.fence, pack.data[each.offset : each.offset + each.num_bytes]) for each in index]
    assert found == files
    assert index == pack.segments
    assert [each.sha256 for each in index] == [hashlib.sha256(data).hexdigest() for _, _, data in files]
    assert len(pack.data) == INDEX_BYTES + sum(len(data) for _, _, data in files)


@given(FILES)
def test_a_packs_name_spans_its_segments_and_is_of_one_of_its_leases(files: list[tuple[int, int, bytes]]) -> None:
    name = encode_pack(files).name

    assert all(name.first <= index <= name.last for index, _, _ in files)
    assert (name.first, name.fence) in [(index, fence) for index, fence, _ in files]
    assert encode_pack(files).name == name


@given(st.builds(PackPlace, st.builds(PackName, *[st.integers(0)] * 3), st.integers(0), st.integers(0)))
def test_a_place_is_read_as_it_was_written(place: PackPlace) -> None:
    assert decode_place(encode_place(place)) == place


@pytest.mark.parametrize("text", ["", "1.2.3.4", "1.2.3.4.5.6", "1.2.3.4.-5", "1.2.3.4.x", "1.2.3.4.٥"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(PackFormatError):
        decode_place(text)


@pytest.mark.parametrize(
    "data",
    [b"", b" " * INDEX_BYTES, b"[" * INDEX_BYTES, b'{"format":1}', b'{"format":2,"segments":[]}', bytes(INDEX_BYTES)],
)
def test_what_is_no_index_is_refused(data: bytes) -> None:
    with pytest.raises(PackFormatError):
        decode_index(data)


def test_the_index_of_the_fullest_pack_has_room() -> None:
    files = [(10**7 + number, 2**53, bytes(2_000_000)) for number in range(MAX_SEGMENTS)]

    assert len(decode_index(encode_pack(files).data[:INDEX_BYTES])) == MAX_SEGMENTS
    with pytest.raises(ValueError, match="a pack of 17 segments"):
        encode_pack([*files, (0, 1, b"")])
    with pytest.raises(ValueError, match="a pack of 0 segments"):
        encode_pack([])
