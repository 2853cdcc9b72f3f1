"""The router as an application: what it answers itself, and all else as a cell answers it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from api.access.authentication import secret_of
from api.http.middleware.request_boundary import RequestBoundary, request_id_of
from api.http.middleware.request_metrics import RequestMeter, process_started
from api.http.middleware.security_headers import SecurityHeaders
from api.http.problems.handlers import add_error_handlers
from api.http.problems.problem import Problem, cell_unavailable, problem_response
from api.router import own_answers
from api.router.addresses import cell_named
from api.router.connections import CellConnections, CellDown
from api.router.forwarding import CELL, forward
from api.router.lists import LISTINGS
from api.router.merged import merged_limits, merged_list, merged_report
from api.router.rebalancing import Rebalancing
from api.router.routing import Routing
from api.router.settings import RouterSettings
from api.router.sockets import pass_socket
from api.router.tenants import Tenants
from storage.runtime.config.settings import describe, load_settings
from storage.runtime.observability.logs import configure_process_logging

logger = logging.getLogger(__name__)


def router_from_environment() -> FastAPI:
    """Raises `SettingsError` when the environment is not one to start in."""
    settings = load_settings(RouterSettings)
    configure_process_logging(settings, role="router")
    logger.info("settings", extra={"settings": list(describe(settings))})
    return create_router(settings)


def create_router(settings: RouterSettings) -> FastAPI:
    """Connects to a cell when it is first asked for, not before."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        context = settings.tls_files.context()
        cells = {cell.name: CellConnections(cell, context) for cell in settings.fleet}
        tenants = Tenants(tuple(cells.values()), settings.api_keys)
        app.state.settings = settings
        app.state.routing = Routing(settings.placement, cells, tenants)
        process_started(socket.gethostname())
        async with _under_way(*(each.watch() for each in cells.values()), _rebalanced(settings, cells)):
            yield
        for each in cells.values():
            await each.close()

    app = FastAPI(
        title="Rhapsode router",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.include_router(own_answers.router)
    app.mount("/", _Cells(app))
    add_error_handlers(app)
    # The last one added is the outermost.
    app.add_middleware(RequestBoundary)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestMeter)
    return app


async def _rebalanced(settings: RouterSettings, cells: Mapping[str, CellConnections]) -> None:
    key = settings.operator_key.get_secret_value()
    await Rebalancing(settings.placement, cells, settings.tenant_quotas, key).run()


@asynccontextmanager
async def _under_way(*works: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    """They run as long as the block."""
    tasks = {asyncio.create_task(work) for work in works}
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class _Cells:
    """Everything that is not the router's own."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        routing: Routing = self._app.state.routing
        if scope["type"] == "websocket":
            await _answer_socket(routing, WebSocket(scope, receive, send))
            return
        request = Request(scope, receive)
        secret = secret_of(request)
        together = _put_together(request)
        has_begun = False

        async def send_on(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            if together is not None:
                answer = await together(routing, request, secret)
                await answer(scope, receive, send_on)
            else:
                await forward(await routing.cell_for(scope, secret), scope, receive, send_on)
        except CellDown as down:
            logger.warning("a cell does not answer", extra={"cell": down.cell, "path": scope["path"]})
            if has_begun:
                # Only breaking off tells the client that it is not whole.
                raise
            raise cell_unavailable(down.cell) from down


def _put_together(request: Request) -> Callable[[Routing, Request, bytes | None], Awaitable[Response]] | None:
    """What answers from several cells; None if one is asked, as where the request names it."""
    path = request.url.path
    if CELL.decode() in request.headers or request.method != "GET":
        return None
    if path in LISTINGS and cell_named(path, request.scope["query_string"]) is None:
        return merged_list
    return {"/v1/usage": merged_report, "/v1/quotas": merged_limits}.get(path)


async def _answer_socket(routing: Routing, socket: WebSocket) -> None:
    try:
        try:
            await pass_socket(await routing.cell_for(socket.scope, secret_of(socket)), socket)
        except CellDown as down:
            logger.warning("a cell does not answer", extra={"cell": down.cell, "path": socket.scope["path"]})
            raise cell_unavailable(down.cell) from down
    except Problem as problem:
        answer = problem_response(problem, socket.scope["path"], request_id_of(socket.scope))
        await socket.send_denial_response(answer)
