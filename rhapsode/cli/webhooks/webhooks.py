"""`rhapsode webhooks`: receivers of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import FAILED
from rhapsode.cli.for_each import delete_each
from rhapsode.cli.options import LimitOption, NoteOption
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
    common: CommonOptions,
    url: Annotated[str, typer.Argument(help="The receiver's address, https://...")],
    event: EventsOption = None,
    description: NoteOption = "",
) -> None:
    """Add a receiver and print its secret once. Without --event it receives the ends of jobs."""
    from rhapsode.contract.webhook_events import FINAL_JOB_EVENTS

    with connected(common) as client:
        made = client.webhooks.create(url, event or FINAL_JOB_EVENTS, description=description)
    common.echo(made, f"{made.id} {made.url}\nsecret {made.secret}")


@app.command("list")
def list_endpoints(common: CommonOptions) -> None:
    """List receivers, newest first. With --json: one JSON object per line."""
    with connected(common) as client:
        common.echo_each(client.webhooks.list(), _endpoint_line, none="no webhook endpoints")


@app.command("set")
def change(
    common: CommonOptions,
    endpoint: EndpointArgument,
    url: Annotated[str | None, typer.Option(help="The receiver's new address.")] = None,
    event: EventsOption = None,
    description: Annotated[str | None, typer.Option(help="A note for you.")] = None,
) -> None:
    """Change a receiver."""
    with connected(common) as client:
        changed = client.webhooks.change(endpoint, url=url, events=event, description=description)
    common.echo(changed, _endpoint_line(changed))


@app.command()
def rm(
    common: CommonOptions,
    endpoints: Annotated[list[str], typer.Argument(metavar="ENDPOINT...", help="Ids of endpoints, whe_...")],
) -> None:
    """Delete receivers. Their waiting webhooks are discarded."""
    delete_each(common, endpoints, lambda client: client.webhooks.delete)


@app.command()
def enable(common: CommonOptions, endpoint: EndpointArgument) -> None:
    """Enable a receiver."""
    with connected(common) as client:
        enabled = client.webhooks.enable(endpoint)
    common.echo(enabled, _endpoint_line(enabled))


@app.command()
def disable(common: CommonOptions, endpoint: EndpointArgument) -> None:
    """Disable a receiver and discard its waiting webhooks."""
    with connected(common) as client:
        disabled = client.webhooks.disable(endpoint)
    common.echo(disabled, _endpoint_line(disabled))


@app.command()
def rotate(
    common: CommonOptions,
    endpoint: Annotated[
        str | None, typer.Argument(metavar="[ENDPOINT]", help="An endpoint's id. Default: the secret for URLs in jobs.")
    ] = None,
    overlap: Annotated[int, typer.Option(min=0, metavar="SECONDS", help="How long the old secret signs too.")] = 24
    * 3600,
) -> None:
    """Replace a secret and print the new one once."""
    with connected(common) as client:
        if endpoint is None:
            secret = client.webhooks.rotate_job_secret(overlap_s=overlap)
        else:
            secret = client.webhooks.rotate_secret(endpoint, overlap_s=overlap)
    line = f"secret {secret.secret}"
    if secret.old_secrets_expire_at:
        line += f"\nthe old secret also signs until {secret.old_secrets_expire_at.astimezone():%Y-%m-%d %H:%M}"
    common.echo(secret, line)


@app.command()
def secret(common: CommonOptions) -> None:
    """Print the secret for webhooks to URLs in jobs."""
    with connected(common) as client:
        found = client.webhooks.job_secret()
    common.echo(found, found.secret)


@app.command("test")
def send_test(common: CommonOptions, endpoint: EndpointArgument) -> None:
    """Send a test webhook and wait for the result. The exit status is 0 if the receiver accepts it."""
    with connected(common) as client:
        seen = _attempted(client, client.webhooks.send_test(endpoint))
    common.echo(seen, _outcome(seen))
    if seen.state != "delivered":
        raise typer.Exit(FAILED)


@app.command()
def deliveries(
    common: CommonOptions,
    of: Annotated[str, typer.Argument(metavar="ENDPOINT|JOB|DELIVERY", help="whe_..., job_... or evt_...")],
    failed: Annotated[bool, typer.Option("--failed", help="Only failed deliveries.")] = False,
    limit: LimitOption = 20,
) -> None:
    """List webhooks of a receiver or a job. For one delivery it shows the payload and all attempts."""
    if of.startswith("evt_"):
        _show_delivery(common, of)
        return
    with connected(common) as client:
        found = _found(client, of, failed, limit)
    common.echo_each(found, _delivery_line, none="no deliveries")


@app.command()
def redeliver(
    common: CommonOptions,
    ids: Annotated[
        list[str], typer.Argument(metavar="DELIVERY|ENDPOINT...", help="evt_..., or whe_... for all its failures")
    ],
) -> None:
    """Send webhooks again with the same ids and content."""
    with connected(common) as client:
        for delivery in _meant(client, ids):
            again = client.webhooks.redeliver(delivery)
            common.echo(again, _delivery_line(again))


@app.command()
def listen(
    common: CommonOptions,
    event: EventsOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 picks a free one.")] = 0,
    url: Annotated[str | None, typer.Option(help="The address of this port for the server, such as a tunnel.")] = None,
    secret: Annotated[str | None, typer.Option(help="Verify with this secret and register no endpoint.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Exit after this number of webhooks.")] = None,
) -> None:
    """Receive, verify and print webhooks until Ctrl-C.

    It registers an endpoint and removes it at the end. A server on this machine needs `rhapsode up
    --local-webhooks`. Other servers need --url.
    """
    from rhapsode.cli.webhooks.listen import ListenOrder, listen_and_print

    order = ListenOrder(tuple(event or ("*",)), port, url, secret, count, common.as_json)
    listen_and_print(order, lambda: connected(common))


def _attempted(client: Rhapsode, sent: WebhookDelivery) -> WebhookDeliveryDetail:
    """With the result of the first attempt, unless it takes too long."""
    import time

    until_s = time.monotonic() + TEST_PATIENCE_S
    seen = client.webhooks.delivery(sent)
    while not seen.log and time.monotonic() < until_s:
        time.sleep(0.1)
        seen = client.webhooks.delivery(sent)
    return seen


def _outcome(seen: WebhookDeliveryDetail) -> str:
    """In one line."""
    if not seen.log:
        looking = f"see `rhapsode webhooks deliveries {seen.id}`"
        return f"{seen.id} was not sent within {TEST_PATIENCE_S:.0f} s; {looking}"
    attempt = seen.log[-1]
    said = f"{attempt.status or attempt.reason} after {attempt.duration_s:.2f} s"
    if seen.state == "delivered":
        return f"delivered: {said}"
    return f"refused: {said}{': ' + attempt.excerpt if attempt.excerpt else ''}"


def _found(client: Rhapsode, of: str, failed: bool, limit: int) -> list[WebhookDelivery]:
    from itertools import islice

    from rhapsode.contract.webhooks import DeliveryState

    if of.startswith("job_"):
        found = client.webhooks.job_deliveries(of)
        return [each for each in found if not failed or each.state is DeliveryState.FAILED][:limit]
    states = (DeliveryState.FAILED,) if failed else ()
    return list(islice(client.webhooks.deliveries(of, states, page_size=min(limit, 100)), limit))


def _meant(client: Rhapsode, ids: list[str]) -> Iterator[str]:
    """Ids of deliveries. For an endpoint, list its failures before the first one is sent again."""
    from rhapsode.contract.webhooks import DeliveryState

    for each in ids:
        if each.startswith("whe_"):
            yield from [found.id for found in client.webhooks.deliveries(each, (DeliveryState.FAILED,), page_size=100)]
        else:
            yield each


def _show_delivery(common: CommonOptions, delivery: str) -> None:
    with connected(common) as client:
        found = client.webhooks.delivery(delivery)
    if common.as_json:
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
