"""Which names an object may have, and links to it. Both stores hold to it: a key good in one is good in the other."""

from __future__ import annotations

import re

from storage.errors import ArtifactError

MAX_KEY_CHARS = 512

MAX_URL_TTL_S = 7 * 24 * 3600
"""Of a link: of a signature of version 4 at S3."""

_PART = r"[a-z0-9_-][a-z0-9_.-]*"
_KEY = re.compile(rf"{_PART}(/{_PART})*")
_PREFIX = re.compile(rf"({_PART}/)*({_PART})?")


class KeyRefused(ArtifactError):
    """The name is none of ours: lower-case letters, digits, '_', '-', '.', in parts that do not begin with '.'."""


def check_key(key: str) -> str:
    """The key itself, or `KeyRefused`."""
    if len(key) > MAX_KEY_CHARS or not _KEY.fullmatch(key):
        raise KeyRefused(f"{key[:MAX_KEY_CHARS]!r} cannot name an object")
    return key


def check_prefix(prefix: str) -> str:
    """A beginning of keys, "" for all of them; `KeyRefused` for what no key begins with."""
    if len(prefix) > MAX_KEY_CHARS or not _PREFIX.fullmatch(prefix):
        raise KeyRefused(f"no key begins with {prefix[:MAX_KEY_CHARS]!r}")
    return prefix


def check_folder(prefix: str) -> str:
    """A non-empty prefix that ends in '/', or `KeyRefused`: a missing slash would delete the neighbours too."""
    if not prefix.endswith("/"):
        raise KeyRefused(f"{prefix[:MAX_KEY_CHARS]!r} does not end in '/'")
    return check_prefix(prefix)


def check_ttl(ttl_s: int) -> None:
    """How long a link lives, or `ValueError`."""
    if not 0 < ttl_s <= MAX_URL_TTL_S:
        raise ValueError(f"a link lives for 1 to {MAX_URL_TTL_S} seconds, not {ttl_s}")
