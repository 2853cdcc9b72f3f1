"""`rhapsode webhooks`: receivers of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import FAILED
from rhapsode.cli.for_each import Handled, deleted, for_each
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.webhooks import WebhookDelivery, WebhookDeliveryDetail, WebhookEndpoint

app = typer.Typer(help="Manage receivers of signed webhooks.", no_args_is_help=True, rich_markup_mode=None)

EndpointArgument = Annotated[str, typer.Argument(metavar="ENDPOINT", help="An endpoint's id, whe_...")]
EventsOption = Annotated[
    list[str] | None,
    typer.Option("--event", metavar="EVENT", help="An event such as job.failed; * for all. Repeat it for more."),
]

TEST_PATIENCE_S = 60.0


@app.command()
def add(
    url: Annotated[str, typer.Argument(help="The receiver's address, https://...")],
    event: EventsOption = None,
    description: Annotated[str, typer.Option(help="A note for you.")] = "",
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a receiver and print its secret once. Without --event it receives the ends of jobs."""
    from rhapsode.client.webhooks.calls import FINAL_EVENTS

    with connected(server, data_dir) as client:
        made = client.webhooks.create(url, event or FINAL_EVENTS, description=description)
    if as_json:
        echo(made.model_dump_json())
        return
    echo(f"{made.id} {made.url}")
    echo(f"secret {made.secret}")


@app.command("list")
def list_endpoints(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List receivers, newest first. With --json: one JSON object per line."""
    with connected(server, data_dir) as client:
        found = client.webhooks.list()
    for endpoint in found:
        echo(endpoint.model_dump_json() if as_json else _endpoint_line(endpoint))
    if not found and not as_json:
        echo("no webhook endpoints")


@app.command("set")
def change(
    endpoint: EndpointArgument,
    url: Annotated[str | None, typer.Option(help="The receiver's new address.")] = None,
    event: EventsOption = None,
    description: Annotated[str | None, typer.Option(help="A note for you.")] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a receiver."""
    with connected(server, data_dir) as client:
        changed = client.webhooks.change(endpoint, url=url, events=event, description=description)
    echo(changed.model_dump_json() if as_json else _endpoint_line(changed))


@app.command()
def rm(
    endpoints: Annotated[list[str], typer.Argument(metavar="ENDPOINT...", help="Ids of endpoints, whe_...")],
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete receivers. Their waiting webhooks are discarded."""

    def delete(client: Rhapsode, endpoint: str) -> Handled:
        client.webhooks.delete(endpoint)
        return deleted(endpoint)

    for_each(endpoints, delete, server, data_dir, as_json=as_json)


@app.command()
def enable(
    endpoint: EndpointArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Enable a receiver."""
    with connected(server, data_dir) as client:
        enabled = client.webhooks.enable(endpoint)
    echo(enabled.model_dump_json() if as_json else _endpoint_line(enabled))


@app.command()
def disable(
    endpoint: EndpointArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Disable a receiver and discard its waiting webhooks."""
    with connected(server, data_dir) as client:
        disabled = client.webhooks.disable(endpoint)
    echo(disabled.model_dump_json() if as_json else _endpoint_line(disabled))


@app.command()
def rotate(
    endpoint: Annotated[
        str | None, typer.Argument(metavar="[ENDPOINT]", help="An endpoint's id. Default: the secret for URLs in jobs.")
    ] = None,
    overlap: Annotated[int, typer.Option(min=0, metavar="SECONDS", help="How long the old secret signs too.")] = 24
    * 3600,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a secret and print the new one once."""
    with connected(server, data_dir) as client:
        if endpoint is None:
            secret = client.webhooks.rotate_job_secret(overlap_s=overlap)
        else:
            secret = client.webhooks.rotate_secret(endpoint, overlap_s=overlap)
    if as_json:
        echo(secret.model_dump_json())
        return
    echo(f"secret {secret.secret}")
    if secret.old_secrets_expire_at:
        echo(f"the old secret also signs until {secret.old_secrets_expire_at.astimezone():%Y-%m-%d %H:%M}")


@app.command()
def secret(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Print the secret for webhooks to URLs in jobs."""
    with connected(server, data_dir) as client:
        found = client.webhooks.job_secret()
    echo(found.model_dump_json() if as_json else found.secret)


@app.command("test")
def send_test(
    endpoint: EndpointArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Send a test webhook and wait for the result. The exit status is 0 if the receiver accepts it."""
    with connected(server, data_dir) as client:
        seen = _attempted(client, client.webhooks.send_test(endpoint))
    echo(seen.model_dump_json() if as_json else _outcome(seen))
    if not _is_delivered(seen):
        raise typer.Exit(FAILED)


@app.command()
def deliveries(
    of: Annotated[str, typer.Argument(metavar="ENDPOINT|JOB|DELIVERY", help="whe_..., job_... or evt_...")],
    failed: Annotated[bool, typer.Option("--failed", help="Only failed deliveries.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows, newest first.")] = 20,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """List webhooks of a receiver or a job. For one delivery it shows the payload and all attempts."""
    if of.startswith("evt_"):
        _show_delivery(of, server, data_dir, as_json)
        return
    with connected(server, data_dir) as client:
        found = _found(client, of, failed, limit)
    for delivery in found:
        echo(delivery.model_dump_json() if as_json else _delivery_line(delivery))
    if not found and not as_json:
        echo("no deliveries")


@app.command()
def redeliver(
    ids: Annotated[
        list[str], typer.Argument(metavar="DELIVERY|ENDPOINT...", help="evt_..., or whe_... for all its failures")
    ],
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send webhooks again with the same ids and content."""
    with connected(server, data_dir) as client:
        for delivery in _meant(client, ids):
            again = client.webhooks.redeliver(delivery)
            echo(again.model_dump_json() if as_json else _delivery_line(again))


@app.command()
def listen(
    event: EventsOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 picks a free one.")] = 0,
    url: Annotated[str | None, typer.Option(help="The address of this port for the server, such as a tunnel.")] = None,
    secret: Annotated[str | None, typer.Option(help="Verify with this secret and register no endpoint.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Exit after this number of webhooks.")] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Receive, verify and print webhooks until Ctrl-C.

    It registers an endpoint and removes it at the end. A server on this machine needs `rhapsode up
    --local-webhooks`. Other servers need --url.
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
        return f"{seen.id} was not sent within {TEST_PATIENCE_S:.0f} s; {looking}"
    attempt = seen.log[-1]
    said = f"{attempt.status or attempt.reason} after {attempt.duration_s:.2f} s"
    if _is_delivered(seen):
        return f"delivered: {said}"
    return f"refused: {said}{': ' + attempt.excerpt if attempt.excerpt else ''}"


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
        echo(found.model_dump_json(indent=2))
        return
    echo(_delivery_line(found))
    for attempt in found.log:
        outcome = attempt.status or attempt.reason
        echo(f"  {attempt.at.astimezone():%H:%M:%S} {outcome} {attempt.duration_s:.2f} s {attempt.excerpt}".rstrip())
    echo(found.payload)


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
