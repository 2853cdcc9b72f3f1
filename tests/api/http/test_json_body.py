"""Bodies that are JSON of an unkind shape: read in linear time, and refused with the place."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from api.http.json_body import MAX_DEPTH, MAX_DIGITS, MAX_KEYS, MAX_VALUES, parse_json
from api.http.parsing import MAX_POINTER_PART, parse_body
from api.http.problems.problem import HttpProblem
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.pronunciations import VersionOrder
from tests.api.harness import ServedApi


def refusal(body: bytes) -> str:
    with pytest.raises(HttpProblem) as refused:
        parse_json(body)
    assert (refused.value.status, refused.value.code) == (400, "invalid_request")
    assert len(refused.value.detail) < 300
    return refused.value.detail


def nested(depth: int) -> bytes:
    return b'{"a":' * (depth // 2) + b"[" * (depth - depth // 2) + b"]" * (depth - depth // 2) + b"}" * (depth // 2)


def keys(count: int) -> bytes:
    return b"{" + b",".join(b'"k%d":0' % number for number in range(count)) + b"}"


def values(count: int) -> bytes:
    """Lists in a list, count of them together."""
    return b"[" + b",".join([b"[]"] * ((count - 1) // 2)) + b"]"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a": 1, "a": 2}', 'the key "a" appears twice in one object (line 1, column 10)'),
        (b'{"a": 1,\n "b": {"c": 1, "c": 2}}', 'the key "c" appears twice in one object (line 2, column 16)'),
        (b'[{"a": 1}, {"a": 1, "\\u0061": 1}]', 'the key "a" appears twice in one object (line 1, column 21)'),
        (
            b'{"a": "a", "b": ["a", {"a": "\\"a\\": "}], "a": 1}',
            'key "a" appears twice in one object (line 1, column 42)',
        ),
        (b'{"\\ud800": 1, "\\ud800": 1}', 'the key "\\ud800" appears twice in one object (line 1, column 15)'),
        (b'{"": 1, "": 1}', 'the key "" appears twice in one object (line 1, column 9)'),
        (nested(MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
        (b"[" * 100_000, f"nested more than {MAX_DEPTH} deep (line 1, column {MAX_DEPTH + 1})"),
        (keys(MAX_KEYS + 1), f"an object has more than {MAX_KEYS:,} keys (line 1, column "),
        (values(MAX_VALUES + 3), f"more than {MAX_VALUES:,} values (line 1, column "),
        (b"[NaN]", "NaN is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"[" + b"1" * (MAX_DIGITS + 1) + b"]", "a number has 1,001 digits"),
        (b"[0." + b"1" * MAX_DIGITS + b"]", "a number has 1,002 digits"),
        (b"]" * 1000, "Expecting value (line 1, column 1)"),
        (b'{"a', "Unterminated string"),
        (b'{"a": "\\', "Unterminated string"),
        (b'"\\ud83', "Invalid"),
        (b'"a\nb"', "Invalid control character"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"\xed\xa0\x80", "not UTF-8: byte 0"),
    ],
    ids=lambda each: each if isinstance(each, str) else repr(each[:20]),
)
def test_what_is_no_json_or_too_much_is_refused_with_its_place(body: bytes, said: str) -> None:
    assert said in refusal(body)


@pytest.mark.parametrize(
    "body",
    [
        nested(MAX_DEPTH),
        keys(MAX_KEYS),
        values(MAX_VALUES - 1),
        b'["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "{\\"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{", "\\\\", "[[[\\\\"]',
        b"[" + b"1" * MAX_DIGITS + b"]",
        b'"a"',
        b'[{"a": 1}, {"a": 1}, {"b": {"a": 1}, "a": {"b": 1}}]',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_within_the_bounds_is_read_as_it_stands(body: bytes) -> None:
    assert parse_json(body) == json.loads(body)


def in_a_row(mark: bytes) -> Callable[[int], bytes]:
    return lambda num_bytes: b'{"a": ' + mark * (num_bytes // len(mark))


SHAPES: dict[str, Callable[[int], bytes]] = {
    "one key again and again": lambda n: b'{"a":0' + b',"a":0' * (n // 6) + b"}",
    "objects with a key twice": lambda n: b"[" + b",".join([b'{"a":0,"a":0}'] * (n // 14)) + b"]",
    "a long key twice": lambda n: b'{"%b": 0, "%b": 0}' % (b"k" * (n // 2), b"k" * (n // 2)),
    "keys that differ": lambda n: keys(n // 10),
    "the last key twice": lambda n: b"[" + b",".join([b'{"a":0}'] * (n // 8)) + b',{"b":0,"b":0}]',
    "digits": lambda n: b"[0." + b"7" * n + b"]",
    **{f"a row of {mark!r}": in_a_row(mark) for mark in (*(b"[%c" % c for c in b'"\\,:]}0 '), b'"', b'\\"', b'"\\')},
    **{
        f"only {mark!r}": in_a_row(mark) for mark in (b"[", b"{", b"]", b",", b":", b'""', b'"",', b'"":', b"\n", b"1 ")
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_costs_more_than_its_length(shape: str) -> None:
    def seconds(num_bytes: int) -> float:
        body = SHAPES[shape](num_bytes)
        began = time.process_time()
        for _ in range(3):
            refusal_or_value(body)
        return time.process_time() - began

    small, large = seconds(50_000), seconds(800_000)

    # Sixteen times as long; what grows with the square would cost 256 times as much.
    assert large < 64 * max(small, 0.002), f"{small:.4f} s and {large:.4f} s"


def refusal_or_value(body: bytes) -> object:
    try:
        return parse_json(body)
    except HttpProblem as problem:
        return problem


def test_a_body_of_faults_alone_is_not_told_of_all_of_them() -> None:
    """Told of all, six megabytes took a gigabyte and a quarter of a minute."""
    entry = b"{" + b",".join(b'"k%d": 1' % number for number in range(20)) + b"}"
    entries = b"[" + b",".join([entry] * 20_000) + b"]"

    for form, body in ((JobRequest, b'{"input": {"segments": %b}}'), (VersionOrder, b'{"rules": %b}')):
        with pytest.raises(HttpProblem) as refused:
            parse_body(form, body % entries)

        pointers = [violation.pointer or "" for violation in refused.value.violations]
        assert "/0/k19" in pointers[-1]
        assert len(pointers) < 30


def test_a_long_key_is_not_repeated_at_length() -> None:
    with pytest.raises(HttpProblem) as refused:
        parse_body(JobRequest, b'{"input": {"text": "Hello."}, "metadata": {"%b": 1}}' % (b"k" * 2_000_000))

    assert all(len(violation.pointer or "") < MAX_POINTER_PART + 20 for violation in refused.value.violations)
    assert len(refused.value.detail) < 400


@pytest.mark.parametrize("path", ["/v1/batches", "/v1/audio/speech", "/v1/jobs", "/v1/voices/blend"])
@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"sha256": ' * 20_000, b'{"a":0' + b',"a":0' * 10_000 + b"}"], ids=len
)
def test_no_shape_is_a_fault_of_ours(api: ServedApi, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}

    answer = api.http.post(path, content=body, headers=headers)

    assert answer.status_code == 400, answer.text
    assert "(line 1, column " in answer.text
