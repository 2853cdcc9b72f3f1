"""`rhapsode webhooks`: who is told of what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import FAILED
from rhapsode.cli.for_each import Handled, deleted, for_each
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.webhooks import WebhookDelivery, WebhookDeliveryDetail, WebhookEndpoint

app = typer.Typer(help="Who is told of what, by signed webhooks.", no_args_is_help=True, rich_markup_mode=None)

EndpointArgument = Annotated[str, typer.Argument(metavar="ENDPOINT", help="An endpoint's id, whe_...")]
EventsOption = Annotated[
    list[str] | None,
    typer.Option("--event", metavar="EVENT", help="For instance job.failed, or * for all; may be given several times."),
]

TEST_PATIENCE_S = 60.0


@app.command()
def add(
    url: Annotated[str, typer.Argument(help="Where webhooks are to go: https://...")],
    event: EventsOption = None,
    description: Annotated[str, typer.Option(help="Anything worth remembering.")] = "",
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register a receiver; without --event it is told of the ends of jobs. Prints its secret, which is shown once."""
    from rhapsode.client.webhooks.calls import FINAL_EVENTS

    with connected(server, data_dir) as client:
        made = client.webhooks.create(url, event or FINAL_EVENTS, description=description)
    if as_json:
        typer.echo(made.model_dump_json())
        return
    typer.echo(f"{made.id} {made.url}")
    typer.echo(f"secret {made.secret}")


@app.command("list")
def list_endpoints(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List receivers, newest first; with --json one JSON object a line."""
    with connected(server, data_dir) as client:
        found = client.webhooks.list()
    for endpoint in found:
        typer.echo(endpoint.model_dump_json() if as_json else _endpoint_line(endpoint))
    if not found and not as_json:
        typer.echo("no webhook endpoints")


@app.command("set")
def change(
    endpoint: EndpointArgument,
    url: Annotated[str | None, typer.Option(help="Where webhooks are to go from now on.")] = None,
    event: EventsOption = None,
    description: Annotated[str | None, typer.Option(help="Anything worth remembering.")] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change what is given; the rest stays."""
    with connected(server, data_dir) as client:
        changed = client.webhooks.change(endpoint, url=url, events=event, description=description)
    typer.echo(changed.model_dump_json() if as_json else _endpoint_line(changed))


@app.command()
def rm(
    endpoints: Annotated[list[str], typer.Argument(metavar="ENDPOINT...", help="Ids of endpoints, whe_...")],
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete receivers. What waits for them is not sent."""

    def delete(client: Rhapsode, endpoint: str) -> Handled:
        client.webhooks.delete(endpoint)
        return deleted(endpoint)

    for_each(endpoints, delete, server, data_dir, as_json=as_json)


@app.command()
def enable(
    endpoint: EndpointArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Send to a receiver again that was disabled."""
    with connected(server, data_dir) as client:
        enabled = client.webhooks.enable(endpoint)
    typer.echo(enabled.model_dump_json() if as_json else _endpoint_line(enabled))


@app.command()
def disable(
    endpoint: EndpointArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Send a receiver nothing any more; what waits for it is given up."""
    with connected(server, data_dir) as client:
        disabled = client.webhooks.disable(endpoint)
    typer.echo(disabled.model_dump_json() if as_json else _endpoint_line(disabled))


@app.command()
def rotate(
    endpoint: Annotated[
        str | None, typer.Argument(metavar="[ENDPOINT]", help="An endpoint's id; none: the secret of URLs of jobs.")
    ] = None,
    overlap: Annotated[int, typer.Option(min=0, metavar="SECONDS", help="How long the old secret signs, too.")] = 24
    * 3600,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw another secret and print it; an endpoint's is shown once."""
    with connected(server, data_dir) as client:
        if endpoint is None:
            secret = client.webhooks.rotate_job_secret(overlap_s=overlap)
        else:
            secret = client.webhooks.rotate_secret(endpoint, overlap_s=overlap)
    if as_json:
        typer.echo(secret.model_dump_json())
        return
    typer.echo(f"secret {secret.secret}")
    if secret.old_secrets_expire_at:
        typer.echo(f"the old one signs too until {secret.old_secrets_expire_at.astimezone():%Y-%m-%d %H:%M}")


@app.command()
def secret(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Print the secret that signs webhooks to URLs that jobs name themselves."""
    with connected(server, data_dir) as client:
        found = client.webhooks.job_secret()
    typer.echo(found.model_dump_json() if as_json else found.secret)


@app.command("test")
def send_test(
    endpoint: EndpointArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Send a receiver a test and wait for what comes of it; status 0 if it is taken."""
    with connected(server, data_dir) as client:
        seen = _attempted(client, client.webhooks.send_test(endpoint))
    typer.echo(seen.model_dump_json() if as_json else _outcome(seen))
    if not _is_delivered(seen):
        raise typer.Exit(FAILED)


@app.command()
def deliveries(
    of: Annotated[str, typer.Argument(metavar="ENDPOINT|JOB|DELIVERY", help="whe_..., job_... or evt_...")],
    failed: Annotated[bool, typer.Option("--failed", help="Only those that were given up.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 20,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what was sent to a receiver or told of a job; of one delivery, its payload and attempts."""
    if of.startswith("evt_"):
        _show_delivery(of, server, data_dir, as_json)
        return
    with connected(server, data_dir) as client:
        found = _found(client, of, failed, limit)
    for delivery in found:
        typer.echo(delivery.model_dump_json() if as_json else _delivery_line(delivery))
    if not found and not as_json:
        typer.echo("no deliveries")


@app.command()
def redeliver(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="DELIVERY|ENDPOINT...", help="evt_..., or whe_... for all that were given up for it"),
    ],
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send webhooks again, now, with the same ids and bytes."""
    with connected(server, data_dir) as client:
        for delivery in _meant(client, ids):
            again = client.webhooks.redeliver(delivery)
            typer.echo(again.model_dump_json() if as_json else _delivery_line(again))


@app.command()
def listen(
    event: EventsOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 0,
    url: Annotated[
        str | None, typer.Option(help="Address by which the server reaches this port, for instance of a tunnel.")
    ] = None,
    secret: Annotated[
        str | None, typer.Option(help="Verify with this secret and register nothing: webhooks come by another way.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="End after so many webhooks.")] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Receive webhooks on this machine, verify and print them until Ctrl-C.

    Registers an endpoint for as long as it runs. A server on this machine sends to it if it was started with
    `rhapsode up --local-webhooks`; another one needs --url.
    """
    from rhapsode.cli.webhooks.listen import ListenOrder, listen_and_print

    order = ListenOrder(tuple(event or ("*",)), port, url, secret, count, as_json)
    listen_and_print(order, lambda: connected(server, data_dir))


def _attempted(client: Rhapsode, sent: WebhookDelivery) -> WebhookDeliveryDetail:
    """With what came of the first attempt, unless there was none for too long."""
    import time

    until_s = time.monotonic() + TEST_PATIENCE_S
    seen = client.webhooks.delivery(sent)
    while not seen.log and time.monotonic() < until_s:
        time.sleep(0.1)
        seen = client.webhooks.delivery(sent)
    return seen


def _is_delivered(seen: WebhookDelivery) -> bool:
    from rhapsode.contract.webhooks import DeliveryState

    return seen.state is DeliveryState.DELIVERED


def _outcome(seen: WebhookDeliveryDetail) -> str:
    """In one line."""
    if not seen.log:
        looking = f"see `rhapsode webhooks deliveries {seen.id}`"
        return f"{seen.id} was not attempted within {TEST_PATIENCE_S:.0f} s; {looking}"
    attempt = seen.log[-1]
    said = f"{attempt.status or attempt.reason} after {attempt.duration_s:.2f} s"
    if _is_delivered(seen):
        return f"delivered: {said}"
    return f"not taken: {said}{': ' + attempt.excerpt if attempt.excerpt else ''}"


def _found(client: Rhapsode, of: str, failed: bool, limit: int) -> list[WebhookDelivery]:
    from itertools import islice

    from rhapsode.contract.webhooks import DeliveryState

    if of.startswith("job_"):
        told = client.webhooks.job_deliveries(of)
        return [each for each in told if not failed or each.state is DeliveryState.FAILED][:limit]
    states = (DeliveryState.FAILED,) if failed else ()
    return list(islice(client.webhooks.deliveries(of, states, page_size=min(limit, 100)), limit))


def _meant(client: Rhapsode, ids: list[str]) -> Iterator[str]:
    """Ids of deliveries; for an endpoint those that were given up, listed before the first of them is sent again."""
    from rhapsode.contract.webhooks import DeliveryState

    for each in ids:
        if each.startswith("whe_"):
            yield from [found.id for found in client.webhooks.deliveries(each, (DeliveryState.FAILED,), page_size=100)]
        else:
            yield each


def _show_delivery(delivery: str, server: ServerOption, data_dir: DataDirOption, as_json: bool) -> None:
    with connected(server, data_dir) as client:
        found = client.webhooks.delivery(delivery)
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
        return
    typer.echo(_delivery_line(found))
    for attempt in found.log:
        outcome = attempt.status or attempt.reason
        typer.echo(
            f"  {attempt.at.astimezone():%H:%M:%S} {outcome} {attempt.duration_s:.2f} s {attempt.excerpt}".rstrip()
        )
    typer.echo(found.payload)


def _endpoint_line(endpoint: WebhookEndpoint) -> str:
    state = f"disabled ({endpoint.disabled_reason})" if endpoint.disabled_reason else endpoint.state
    return "\t".join((endpoint.id, state, endpoint.url, ",".join(endpoint.events)))


def _delivery_line(delivery: WebhookDelivery) -> str:
    when = f"{delivery.created_at.astimezone():%Y-%m-%d %H:%M:%S}"
    attempts = f"{delivery.attempts} attempt{'' if delivery.attempts == 1 else 's'}"
    parts = [delivery.id, delivery.state, delivery.type, delivery.job or "-", when, attempts]
    if delivery.reason:
        parts.append(delivery.reason)
    if delivery.next_attempt_at:
        parts.append(f"next {delivery.next_attempt_at.astimezone():%H:%M:%S}")
    return "\t".join(parts)
