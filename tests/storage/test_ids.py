"""Ids, and the cell that they end with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import ids
from storage.jobs.batches import child_id
from storage.pronunciations.dictionaries import parse_reference

PLAIN = "01jxkz4w7n2v8q3m5r6t9a0bcd"

KINDS = [
    (ids.new_job_id, ids.JOB_ID),
    (ids.new_batch_id, ids.BATCH_ID),
    (ids.new_voice_id, ids.VOICE_ID),
    (ids.new_consent_id, ids.CONSENT_ID),
    (ids.new_upload_id, ids.UPLOAD_ID),
    (ids.new_dictionary_id, ids.DICTIONARY_ID),
    (ids.new_endpoint_id, ids.ENDPOINT_ID),
    (ids.new_key_id, ids.KEY_ID),
]


@pytest.fixture(autouse=True)
def no_cell_afterwards() -> Iterator[None]:
    yield
    ids.carry_cell("")


@pytest.mark.parametrize(("new", "form"), KINDS)
def test_an_id_carries_the_cell_of_its_process(new: Callable[[], str], form: re.Pattern[str]) -> None:
    ids.carry_cell("eu1")

    made = new()

    assert made.endswith("_eu1")
    assert form.fullmatch(made)
    assert ids.cell_of(made) == "eu1"


@pytest.mark.parametrize(("new", "form"), KINDS)
def test_without_a_cell_ids_are_as_they_always_were(new: Callable[[], str], form: re.Pattern[str]) -> None:
    made = new()

    assert len(made.partition("_")[2]) == ids.ULID_CHARS
    assert form.fullmatch(made)
    assert ids.cell_of(made) is None


@given(st.from_regex(ids.CELL_NAME, fullmatch=True))
def test_every_name_of_a_cell_is_found_again(cell: str) -> None:
    assert ids.cell_of(f"job_{PLAIN}_{cell}") == cell


@given(st.text())
def test_what_is_no_id_has_no_cell(text: str) -> None:
    assert ids.cell_of(f"{text}/") is None


@pytest.mark.parametrize("name", ["A", "a-b", "a_b", "ninechars", " "])
def test_a_name_that_would_break_ids_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a cell's name"):
        ids.carry_cell(name)


def test_ids_of_two_cells_sort_by_their_time() -> None:
    ids.carry_cell("z")
    first = ids.new_job_id()
    ids.carry_cell("a")

    assert first[: len("job_") + 10] <= ids.new_job_id()[: len("job_") + 10]


def test_jobs_of_a_batch_are_of_its_cell() -> None:
    batch = f"bat_{PLAIN}_eu1"

    child = child_id(batch, 7)

    assert ids.cell_of(child) == "eu1"
    assert ids.JOB_ID.fullmatch(child)


def test_a_version_of_a_dictionary_is_named_with_its_cell() -> None:
    version = parse_reference(f"pd_{PLAIN}_eu1@3")

    assert version is not None
    assert (version.dictionary, version.version) == (f"pd_{PLAIN}_eu1", 3)


def test_a_chosen_id_names_the_own_cell_or_none() -> None:
    ids.carry_cell("a")

    assert ids.own_cell_takes(f"job_{PLAIN}")
    assert ids.own_cell_takes(f"job_{PLAIN}_a")
    assert not ids.own_cell_takes(f"job_{PLAIN}_b")
