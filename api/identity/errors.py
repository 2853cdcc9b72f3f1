"""Why a token opens nothing.

IdentityError
├── TokenRefused       it is not valid here: the caller gets another
├── TokenWithoutRights it is valid, and names no user of this API
└── KeysUnavailable    the issuer's keys are not to be had: nothing is known of the token
"""

from __future__ import annotations


class IdentityError(Exception):
    """A token opens nothing. The message is for its sender."""


class TokenRefused(IdentityError):
    """The token is not valid here."""


class TokenWithoutRights(IdentityError):
    """The token is valid, and names no tenant of this API."""


class KeysUnavailable(IdentityError):
    """The issuer's keys are not to be had."""
