"""What files may say of a book: an ISBN is one, a language is a tag."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rhapsode.contract.jobs.output import Tags


@pytest.mark.parametrize("isbn", ["0-306-40615-2", "080442957X", "978-0-14-243724-7", "979 1 0319 0000 1", ""])
def test_an_isbn_is_kept_as_it_was_written(isbn: str) -> None:
    assert Tags(isbn=isbn).isbn == isbn


@pytest.mark.parametrize(
    "isbn", ["0-306-40615-3", "978-0-14-243724-8", "1234567890123", "X80442957X", "ISBN 0", "１" * 10]
)
def test_what_has_no_right_check_digit_is_none(isbn: str) -> None:
    with pytest.raises(ValidationError, match="must be an ISBN"):
        Tags(isbn=isbn)


@pytest.mark.parametrize("tag", ["en", "en-GB", "zh-Hans-CN", "haw", ""])
def test_a_language_is_a_tag(tag: str) -> None:
    assert Tags(language=tag).language == tag


@pytest.mark.parametrize("tag", ["English", "e", "en_GB", "en-", "en-\n", "en GB"])
def test_a_name_of_a_language_is_none(tag: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        Tags(language=tag)
