"""`rhapsode keys`: API keys."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.options import JsonOption
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.contract.operators.keys import ApiKeyView

app = typer.Typer(
    help="Create, list and revoke API keys.  You need an operator's key, or a server without keys on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def create(
    common: CommonOptions,
    tenant: Annotated[str, typer.Option(help="The key's tenant. Jobs and voices belong to tenants.")],
    name: Annotated[str, typer.Option(help="The purpose of the key.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="synth|voices|webhooks|admin", help="A permission. Repeat it for more. Default: all but admin."
        ),
    ] = None,
    expires: Annotated[datetime | None, typer.Option(help="Expiry in local time. Default: never.")] = None,
) -> None:
    """Create a key and print it once. The server stores only its digest."""
    from rhapsode.client.sync.operations import DEFAULT_SCOPES

    with connected(common) as client:
        made = client.keys.create(
            tenant, name, scopes=scope or DEFAULT_SCOPES, expires_at=expires.astimezone() if expires else None
        )
    if common.as_json:
        echo(made.model_dump_json(indent=2))
        return
    echo(made.secret)
    echo(f"{made.id} for {made.tenant}: {', '.join(made.scopes)}; copy the key above: it is shown once", err=True)


@app.command("list")
def list_keys(
    common: CommonOptions,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's keys.")] = None,
) -> None:
    """List keys, oldest first."""
    with connected(common) as client:
        keys = client.keys.list(tenant)
    common.echo_each(keys, _line)


@app.command()
def revoke(
    common: CommonOptions,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, key_...")],
) -> None:
    """Revoke a key."""
    with connected(common) as client:
        client.keys.revoke(key)
    echo(json.dumps({"id": key, "revoked": True}) if common.as_json else f"{key} revoked")


@app.command()
def draw(as_json: JsonOption = False) -> None:
    """Create a key for RHAPSODE_API_KEYS without a server. It prints the key, then the line for RHAPSODE_API_KEYS."""
    import hashlib
    import secrets

    secret = f"rh_{secrets.token_urlsafe(32)}"
    setting = {hashlib.sha256(secret.encode()).hexdigest(): "operator"}
    if as_json:
        echo(json.dumps({"secret": secret, "RHAPSODE_API_KEYS": setting}))
        return
    echo(secret)
    echo(f"RHAPSODE_API_KEYS='{json.dumps(setting)}'")


def _line(key: ApiKeyView) -> str:
    columns = (
        key.id,
        key.tenant,
        f"{key.prefix}...",
        ",".join(key.scopes),
        f"expires {key.expires_at:%Y-%m-%d}" if key.expires_at else "no end",
        f"used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used",
        key.name,
    )
    return "\t".join(columns)
