"""What the last look at a log line takes out, and what it leaves."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from storage.runtime.config.settings import StorageSettings
from storage.runtime.observability.redaction import Redaction, secrets_of
from storage.webhooks.sealed_secrets import new_secret

PLAIN = Redaction()


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("redis://:pa55word@h:6379/0 is away", "redis://***@h:6379/0 is away"),
        ("GET https://b.s3.test/k/a.wav?X-Amz-Signature=abc&X-Amz-Date=1 403", "GET https://b.s3.test/k/a.wav?*** 403"),
        ('"GET /v1/objects/a/b.wav?signature=abc&expires=9 HTTP/1.1"', '"GET /v1/objects/a/b.wav?*** HTTP/1.1"'),
        ("url: /bucket/key?X-Amz-Credential=AKIA%2F2026", "url: /bucket/key?***"),
        ("X-Amz-Signature=0af3, then", "X-Amz-Signature=***, then"),
        ("Authorization: Bearer rh_abcdefgh", "Authorization: Bearer ***"),
        ("BEARER abc, bAsIc abc", "BEARER ***, bAsIc ***"),
        ("signed v1,QUJDREVGR0hJSktMTU5P", "signed v1,***"),
        ("(b'authorization', b'Bearer abc')", "(b'authorization', b'Bearer ***')"),
        ("key rh_AbCdEfGhIjKlMnOpQrStUvWx was", "key rh_*** was"),
        ("secret whsec_QUJDREVGR0g= of", "secret whsec_*** of"),
        (
            "webhook-signature: v1,QUJDREVGR0hJSktMTU5PUA== v1,UFFSU1RVVldYWVoxMjM0NQ==",
            "webhook-signature: v1,*** v1,***",
        ),
        (
            "Input should be valid [type=int, input_value='She\\nsaid, input', input_type=str]",
            "Input should be valid [type=int, input_value=***, input_type=str]",
        ),
        ("segment 7 of job_01k is done in 3.5 s", "segment 7 of job_01k is done in 3.5 s"),
        ("mail a@b.test: how/why?", "mail a@b.test: how/why?"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_and_nothing_else(said: str, left: str) -> None:
    assert PLAIN.text(said) == left


@given(words=st.lists(st.text("ABCDEFGHabcdefgh01234567+/=_-", min_size=6, max_size=40), min_size=1, max_size=4))
def test_known_secrets_are_hidden_wherever_they_are(words: list[str]) -> None:
    event = {
        "event": f"before {' '.join(words)} after",
        "fields": {"deep": [words, ("x", words[0]), words[0].encode()]},
        "number": 7,
        "error": ValueError(words[-1]),
    }

    redacted = Redaction(words)(None, "info", dict(event))

    assert not any(word in str(redacted) for word in words)
    assert redacted["number"] == 7


TRACE = """Traceback (most recent call last):
  File "/srv/rhapsode/storage/job_records.py", line 7, in read
    state = JobState(fields["a long quoted thing in the code"])
ValueError: 'She said: "never"' is not a valid JobState

During handling of the above exception, another exception occurred:

AttributeError: 'NoneType' object has no attribute 'job_01k2xv'
KeyError: 'It\\'s a text.'"""


def test_a_traceback_keeps_its_code_and_names_and_loses_the_values() -> None:
    redacted = PLAIN(None, "error", {"event": "failed", "exception": TRACE})["exception"]

    assert redacted == TRACE.replace("'She said: \"never\"'", "'***'").replace("'It\\'s a text.'", "'***'")


def test_the_secrets_of_settings_are_all_that_are_marked_and_their_parts() -> None:
    settings = StorageSettings(
        redis_url=SecretStr("redis://:p%40ss-word@h/0"),
        store="s3://bucket",
        url_secret=SecretStr("url-secret-of-sixteen"),
        webhook_key=SecretStr("first-key-of-sixteen,second-key-of-sixteen"),
    )

    secrets = secrets_of(settings)

    assert {"p%40ss-word", "p@ss-word", "url-secret-of-sixteen", "second-key-of-sixteen"} <= set(secrets)


def test_a_setting_that_is_a_secret_is_marked_as_one() -> None:
    """Whoever adds a setting with one of these words in its name gives it the type that hides it."""

    def names(settings: type[BaseModel]) -> list[str]:
        fields = settings.model_fields.items()
        return [name for name, field in fields if field.annotation is not SecretStr and field.repr]

    from api.settings import ApiSettings
    from worker.settings import ItemSettings, WorkerSettings
    from worker.webhooks.settings import HookSettings

    harmless = {"tls_key", "live_tls_key", "key_prefix"}
    for settings in (StorageSettings, ApiSettings, WorkerSettings, ItemSettings, HookSettings):
        for name in set(names(settings)) - harmless:
            assert not any(word in name for word in ("secret", "key", "password", "token")), name


PROGRAM = """
import logging, sys
from storage.runtime.observability.logs import configure_logging
configure_logging("json", "debug", ["a-known-secret"])
logging.getLogger("worker.anything").debug("of ours, with a-known-secret")
for library in ("botocore.auth", "httpcore.http11", "urllib3.connectionpool", "kombu", "asyncio", "python_multipart"):
    logging.getLogger(library).debug("of a library")
try:
    raise ValueError("a-known-secret")
except ValueError:
    logging.getLogger("api.http.middleware.request_boundary").exception("failed")
"""


def test_debug_is_for_our_own_lines_and_exceptions_are_redacted_too() -> None:
    outcome = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)

    lines = [json.loads(line) for line in outcome.stderr.splitlines()]
    assert [line["event"] for line in lines] == ["of ours, with ***", "failed"]
    assert "ValueError: ***" in lines[1]["exception"]


def test_a_secret_as_it_is_drawn_has_the_form_that_is_hidden() -> None:
    secret = new_secret()

    assert PLAIN.text(f"the secret {secret}.") == "the secret whsec_***."
