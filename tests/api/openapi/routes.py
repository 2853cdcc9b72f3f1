"""Every route of the application, however the framework keeps them."""

from __future__ import annotations

from fastapi.routing import APIRoute, APIRouter

from api.app import create_app
from api.settings import ApiSettings


def api_routes(settings: ApiSettings) -> list[APIRoute]:
    found: list[APIRoute] = []
    for route in create_app(settings).routes:
        router = getattr(route, "original_router", None)
        if isinstance(route, APIRoute):
            found.append(route)
        elif isinstance(router, APIRouter):
            found += [each for each in router.routes if isinstance(each, APIRoute)]
    # A framework that keeps them elsewhere must not make the tests of every route tests of none.
    assert len(found) > 40
    return found
