"""Ids, and those that end with a suffix, which release 0.2 made."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from storage import ids
from storage.jobs.batches import child_id
from storage.pronunciations.dictionaries import parse_reference

PLAIN = "01jxkz4w7n2v8q3m5r6t9a0bcd"

KINDS = [
    (ids.new_job_id, ids.JOB_ID),
    (ids.new_batch_id, ids.BATCH_ID),
    (ids.new_voice_id, ids.VOICE_ID),
    (ids.new_upload_id, ids.UPLOAD_ID),
    (ids.new_dictionary_id, ids.DICTIONARY_ID),
    (ids.new_endpoint_id, ids.ENDPOINT_ID),
    (ids.new_key_id, ids.KEY_ID),
]


@pytest.mark.parametrize(("new", "form"), KINDS)
def test_a_new_id_is_a_prefix_and_a_ulid(new: Callable[[], str], form: re.Pattern[str]) -> None:
    made = new()

    assert len(made.partition("_")[2]) == ids.ULID_CHARS
    assert form.fullmatch(made)


@pytest.mark.parametrize(("new", "form"), KINDS)
def test_an_old_id_with_a_suffix_is_accepted(new: Callable[[], str], form: re.Pattern[str]) -> None:
    made = new()

    assert form.fullmatch(f"{made}_a")
    assert form.fullmatch(f"{made}_abcd1234")
    assert not form.fullmatch(f"{made}_")
    assert not form.fullmatch(f"{made}_ninechars")
    assert not form.fullmatch(f"{made}_A")


def test_jobs_of_an_old_batch_keep_its_suffix() -> None:
    child = child_id(f"bat_{PLAIN}_eu1", 7)

    assert child == "job_01jxkz4w7n9h7eq4k0tgz6w3dt_eu1", "as release 0.2 named it"
    assert ids.JOB_ID.fullmatch(child)


def test_a_version_of_an_old_dictionary_is_named_with_its_suffix() -> None:
    version = parse_reference(f"pd_{PLAIN}_eu1@3")

    assert version is not None
    assert (version.dictionary, version.version) == (f"pd_{PLAIN}_eu1", 3)
