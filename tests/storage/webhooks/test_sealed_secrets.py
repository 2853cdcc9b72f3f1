"""Secrets are drawn well, and sealed so that the database alone gives none away."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.webhooks.sealed_secrets import SecretSealer, SecretUnreadable, new_secret

OLD, NEW = "the key of last year", "the key of this year"


def test_a_secret_is_whsec_and_32_random_bytes() -> None:
    secrets = {new_secret() for _ in range(100)}

    assert len(secrets) == 100
    for secret in secrets:
        assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


@given(secret=st.text(max_size=200), owner=st.text(max_size=60))
def test_what_was_sealed_opens_for_its_owner_alone(secret: str, owner: str) -> None:
    sealer = SecretSealer(OLD)
    sealed = sealer.seal(secret, owner)

    assert sealer.open(sealed, owner) == secret
    assert sealer.seal(secret, owner) != sealed
    with pytest.raises(SecretUnreadable):
        sealer.open(sealed, f"{owner}x")


def test_a_key_is_replaced_by_putting_a_new_one_in_front() -> None:
    sealed = SecretSealer(OLD).seal("whsec_AAAA", "whe_1")
    both = SecretSealer(f"{NEW}, {OLD}")

    assert both.open(sealed, "whe_1") == "whsec_AAAA"
    assert SecretSealer(NEW).open(both.seal("whsec_AAAA", "whe_1"), "whe_1") == "whsec_AAAA"
    with pytest.raises(SecretUnreadable):
        SecretSealer(NEW).open(sealed, "whe_1")


@given(position=st.integers(0, 57), bit=st.integers(0, 7))
def test_no_bit_of_a_sealed_secret_can_be_changed(position: int, bit: int) -> None:
    sealer = SecretSealer(OLD)
    data = bytearray(base64.b64decode(sealer.seal("whsec_" + "A" * 20, "whe_1")))
    data[position % len(data)] ^= 1 << bit

    with pytest.raises(SecretUnreadable):
        sealer.open(base64.b64encode(data).decode(), "whe_1")


@pytest.mark.parametrize("sealed", ["", "no base64!", "AAAA", base64.b64encode(bytes(40)).decode()])
def test_what_is_no_sealed_secret_does_not_open(sealed: str) -> None:
    with pytest.raises(SecretUnreadable):
        SecretSealer(OLD).open(sealed, "whe_1")


@pytest.mark.parametrize("keys", ["", "short", f"{OLD},", f"{OLD},short"])
def test_a_key_that_is_too_short_is_refused(keys: str) -> None:
    with pytest.raises(ValueError, match="16 characters"):
        SecretSealer(keys)
