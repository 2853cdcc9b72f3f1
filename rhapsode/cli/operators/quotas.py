"""`rhapsode quotas`: what tenants may hold, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.contract.operators.quotas import QuotaView

app = typer.Typer(
    help="Limit a tenant's unfinished jobs, audio and voices.", no_args_is_help=True, rich_markup_mode=None
)

TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant.")]

NAMES = ("jobs", "audio_s", "voices")


@app.command()
def show(
    tenant: Annotated[
        str | None, typer.Argument(metavar="[TENANT]", help="A tenant, with an operator's key. Default: your own.")
    ] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show limits and current use."""
    with connected(server, data_dir) as client:
        _show(client.quotas.read(tenant), as_json)


@app.command("set")
def set_limits(
    tenant: TenantArgument,
    jobs: Annotated[int | None, typer.Option(min=0, help="Maximum of unfinished jobs.")] = None,
    audio_s: Annotated[int | None, typer.Option("--audio-s", min=0, help="Maximum of their audio seconds.")] = None,
    voices: Annotated[int | None, typer.Option(min=0, help="Maximum of voices.")] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set a tenant's limits. Options that you leave out return to the default limits."""
    if (jobs, audio_s, voices) == (None, None, None):
        raise Misuse("no limit to set; give at least one, or remove them with `rhapsode quotas reset`")
    with connected(server, data_dir) as client:
        given = client.quotas.set(tenant, jobs=jobs, audio_s=audio_s, voices=voices)
        _show(given, as_json)


@app.command()
def reset(
    tenant: TenantArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Remove a tenant's limits: the defaults apply."""
    with connected(server, data_dir) as client:
        client.quotas.reset(tenant)
        if as_json:
            _show(client.quotas.read(tenant), as_json)
            return
    echo(f"{tenant} has the limits of all tenants")


def _show(quotas: QuotaView, as_json: bool) -> None:
    if as_json:
        echo(quotas.model_dump_json(indent=2))
        return
    for name in NAMES:
        held, limit = getattr(quotas.held, name), getattr(quotas.limits, name)
        own = "" if getattr(quotas.own, name) is None else "  (its own)"
        echo(f"{name:<12}  {held:>18,.0f}  of {limit:,.0f}{own}")
