"""Signing secrets: how they are drawn, and how they are sealed before they lie in Redis.

Sealed with AES-256-GCM under a key of the installation, and bound to their owner. A reader of the database, or its
backup, cannot sign. A sealed secret that was moved to another owner does not open.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from storage.runtime.config.webhook_options import split_keys

SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix that every such secret has
SECRET_BYTES = 32

_KEY_ID_BYTES = 4
_NONCE_BYTES = 12


class SecretUnreadable(Exception):
    """A sealed secret does not open: it is damaged, has another owner, or its key is not configured."""


def new_secret() -> str:
    """`whsec_` and the Base64 of 32 random bytes, as Standard Webhooks has it."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


class SecretSealer:
    """Seals with the first key, opens with any: so a key is replaced by putting a new one in front.

    keys: comma-separated texts drawn at random; anything guessable is no key. Raises `ValueError` for a short one.
    """

    def __init__(self, keys: str) -> None:
        derived = [hashlib.sha256(b"rhapsode webhook secrets\0" + key.encode()).digest() for key in split_keys(keys)]
        self._ciphers = {_key_id(key): AESGCM(key) for key in derived}
        self._current = _key_id(derived[0])

    def seal(self, secret: str, owner: str) -> str:
        """owner: an endpoint's id, or a tenant's name for the secret of its jobs' URLs."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, secret.encode(), owner.encode())
        return base64.b64encode(self._current + nonce + sealed).decode()

    def open(self, sealed: str, owner: str) -> str:
        """Raises `SecretUnreadable`."""
        try:
            data = base64.b64decode(sealed, validate=True)
        except binascii.Error as error:
            raise SecretUnreadable("a sealed secret is damaged") from error
        cipher = self._ciphers.get(data[:_KEY_ID_BYTES])
        if cipher is None:
            raise SecretUnreadable("a secret was sealed with a key that RHAPSODE_WEBHOOK_KEY does not name any more")
        nonce, body = data[_KEY_ID_BYTES:][:_NONCE_BYTES], data[_KEY_ID_BYTES + _NONCE_BYTES :]
        try:
            return cipher.decrypt(nonce, body, owner.encode()).decode()
        except (InvalidTag, ValueError) as error:
            raise SecretUnreadable("a sealed secret is damaged, or was sealed for another owner") from error


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"id\0" + key).digest()[:_KEY_ID_BYTES]
