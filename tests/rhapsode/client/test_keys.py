"""Keys through the clients and the command line."""

from __future__ import annotations

import asyncio
import hashlib
import json

import pytest

from rhapsode import AsyncRhapsode, NotFound, Rhapsode, Unauthorized
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import RunCli


def test_a_key_is_made_used_and_revoked(stack: Stack, client: Rhapsode) -> None:
    made = client.keys.create("acme", "the tests", scopes=["synth"])
    assert [key.id for key in client.keys.list("acme")] == [made.id]

    with Rhapsode(stack.url, api_key=made.secret) as theirs:
        assert list(theirs.jobs()) == []
        with pytest.raises(Unauthorized, match="voices"):
            list(theirs.voices.list())
        client.keys.revoke(made)
        with pytest.raises(Unauthorized):
            list(theirs.jobs())
    with pytest.raises(NotFound):
        client.keys.revoke(made)


def test_the_asyncio_client_makes_keys_too(stack: Stack) -> None:
    async def go() -> None:
        async with AsyncRhapsode(stack.url) as client:
            made = await client.keys.create("acme", "the tests")
            assert made.id in [key.id for key in await client.keys.list()]
            await client.keys.revoke(made)

    asyncio.run(go())


def test_the_command_line_makes_lists_and_revokes(stack: Stack, run_cli: RunCli) -> None:
    made = run_cli("keys", "create", "--tenant", "acme", "--name", "by hand", "--server", stack.url)
    key_id = made.stderr.split()[0]
    listed = run_cli("keys", "list", "--tenant", "acme", "--server", stack.url)
    revoked = run_cli("keys", "revoke", key_id, "--server", stack.url)
    again = run_cli("keys", "revoke", key_id, "--server", stack.url)

    assert made.returncode == 0
    assert made.stdout.startswith("rh_")
    assert made.stdout.strip() not in listed.stdout
    assert listed.stdout.split("\t")[:2] == [key_id, "acme"]
    assert revoked.stdout == f"{key_id} revoked\n"
    assert again.returncode != 0
    assert len(again.stderr.splitlines()) == 1


def test_a_key_for_the_settings_is_drawn_without_a_server(run_cli: RunCli) -> None:
    secret, line = run_cli("keys", "draw").stdout.splitlines()

    name, _, value = line.partition("=")
    assert name == "RHAPSODE_API_KEYS"
    assert json.loads(value.strip("'")) == {hashlib.sha256(secret.encode()).hexdigest(): "operator"}
