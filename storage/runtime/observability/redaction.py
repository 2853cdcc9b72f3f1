"""What must not be in a log, taken out of every line: the last thing before a line is written.

Texts are never logged; no pattern could redact them. This module removes secrets from the messages of errors and
libraries: keys, signing secrets, signatures, passwords and the queries of links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, SecretStr
from structlog.types import EventDict, WrappedLogger

HIDDEN = "***"
MIN_SECRET_CHARS = 6
"""Something shorter is in too many words."""

_ADDRESS_BEGINS = r"(?<![^\s?\"'<>])(?=[^\s?\"'<>/]*+/[^\s?\"'<>])"
"""Where a run begins that has a slash in it: from every slash on, the time would grow with the square of them."""

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # user:password@ of any URL
    (re.compile(r"(?<=://)[^\s/@\"']*@"), f"{HIDDEN}@"),
    # the query of an address, which may be signed or carry a token
    (re.compile(rf"{_ADDRESS_BEGINS}([^\s?\"'<>]++)\?[^\s\"'<>]++"), rf"\1?{HIDDEN}"),
    (re.compile(r"(?i)\b((?:x-amz-)?(?:signature|credential|security-token))=[^\s&\"'<>,]+"), rf"\1={HIDDEN}"),
    (re.compile(r"(?i)\b(bearer|basic) +[^\s\"',]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"whsec_[A-Za-z0-9+/=_-]+"), f"whsec_{HIDDEN}"),
    (re.compile(r"\brh_[A-Za-z0-9_-]{16,}"), f"rh_{HIDDEN}"),
    # the signature of a webhook
    (re.compile(r"\bv1,[A-Za-z0-9+/=]{16,}"), f"v1,{HIDDEN}"),
    # what pydantic adds to say which value was wrong: it may be a text
    (re.compile(r"input_value=.*?, input_type=", re.DOTALL), f"input_value={HIDDEN}, input_type="),
)

_SUSPICIOUS = re.compile(r"@|\?|=|whsec_|rh_|v1,|b(?i:earer|asic) |B(?i:earer|asic) ")
"""In all that a pattern finds there is one of these. Most values have none, and one search is enough for them."""

_QUOTED = re.compile(r"""(['"])((?:\\.|(?!\1).)*)\1""")
_NAME = re.compile(r"[A-Za-z0-9_.:<>-]{0,40}")
"""What an error may quote: types, attributes, ids."""


class Redaction:
    """A structlog processor. secrets: values that are hidden wherever they turn up, besides all that looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Longest first: one may be part of another.
        known = sorted({each for each in secrets if len(each) >= MIN_SECRET_CHARS}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        redacted = {name: self._redacted(value) for name, value in event.items()}
        if isinstance(trace := redacted.get("exception"), str):
            redacted["exception"] = _without_values(trace)
        return redacted

    def text(self, text: str) -> str:
        """The same without its secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        if _SUSPICIOUS.search(text) is not None:
            for pattern, replacement in _PATTERNS:
                text = pattern.sub(replacement, text)
        return text

    def _redacted(self, value: object) -> object:
        match value:
            case str():
                return self.text(value)
            case bool() | int() | float() | None:
                return value
            case Mapping():
                return {name: self._redacted(each) for name, each in value.items()}
            case bytes():
                return self.text(repr(value))
            case Sequence():
                return [self._redacted(each) for each in value]
            case _:
                return self.text(str(value))


def _without_values(trace: str) -> str:
    """A traceback whose errors do not say which value they are about: it may be a text, or a whole record."""
    return "\n".join(
        line if line.startswith((" ", "Traceback ")) else _QUOTED.sub(_unless_a_name, line)
        for line in trace.split("\n")
    )


def _unless_a_name(quoted: re.Match[str]) -> str:
    return quoted[0] if _NAME.fullmatch(quoted[2]) else f"{quoted[1]}{HIDDEN}{quoted[1]}"


def secrets_of(settings: BaseModel) -> tuple[str, ...]:
    """Every secret among the settings; of a list or a URL also its parts, which errors name alone."""
    found: list[str] = []
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr) and value.get_secret_value():
            secret = value.get_secret_value()
            password = urlsplit(secret).password if "://" in secret else None
            found += [secret, *secret.split(","), *((password, unquote(password)) if password else ())]
            found += [value for name, value in parse_qsl(urlsplit(secret).query) if name == "sentinel_password"]
    return tuple(found)
