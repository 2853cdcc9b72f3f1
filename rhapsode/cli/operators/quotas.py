"""`rhapsode quotas`: limits of tenants, and their use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import Misuse
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
    common: CommonOptions,
    tenant: Annotated[
        str | None, typer.Argument(metavar="[TENANT]", help="A tenant, with an operator's key. Default: your own.")
    ] = None,
) -> None:
    """Show limits and current use."""
    with connected(common) as client:
        _show(common, client.quotas.read(tenant))


@app.command("set")
def set_limits(
    common: CommonOptions,
    tenant: TenantArgument,
    jobs: Annotated[int | None, typer.Option(min=0, help="Maximum of unfinished jobs.")] = None,
    audio_s: Annotated[int | None, typer.Option("--audio-s", min=0, help="Maximum of their audio seconds.")] = None,
    voices: Annotated[int | None, typer.Option(min=0, help="Maximum of voices.")] = None,
) -> None:
    """Set a tenant's limits. Options that you leave out return to the default limits."""
    if (jobs, audio_s, voices) == (None, None, None):
        raise Misuse("no limit to set; give at least one, or remove them with `rhapsode quotas reset`")
    with connected(common) as client:
        _show(common, client.quotas.set(tenant, jobs=jobs, audio_s=audio_s, voices=voices))


@app.command()
def reset(common: CommonOptions, tenant: TenantArgument) -> None:
    """Remove a tenant's limits: the defaults apply."""
    with connected(common) as client:
        client.quotas.reset(tenant)
        if common.as_json:
            _show(common, client.quotas.read(tenant))
            return
    echo(f"{tenant} has the limits of all tenants")


def _show(common: CommonOptions, quotas: QuotaView) -> None:
    if common.as_json:
        echo(quotas.model_dump_json(indent=2))
        return
    for name in NAMES:
        held, limit = getattr(quotas.held, name), getattr(quotas.limits, name)
        own = "" if getattr(quotas.own, name) is None else "  (its own)"
        echo(f"{name:<12}  {held:>18,.0f}  of {limit:,.0f}{own}")
