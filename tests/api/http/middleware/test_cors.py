"""Pages of other origins: none by default, those that the operator names."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from api.settings import ApiSettings
from tests.api.harness import serve
from tests.settings import api_settings_of

SHOP = "https://shop.example.org"


def test_a_named_origin_may_ask_and_read_and_no_other(api_settings: ApiSettings) -> None:
    settings = api_settings_of(api_settings, cors_origins=f"{SHOP}, https://other.example.org:8443")
    wish = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,idempotency-key"}

    with serve(settings) as api:
        before = api.http.options("/v1/jobs", headers={"Origin": SHOP, **wish})
        answer = api.http.get("/livez", headers={"Origin": SHOP})
        refused = api.http.get("/v1/jobs/job_x", headers={"Origin": SHOP})
        stranger = api.http.get("/livez", headers={"Origin": "https://elsewhere.example"})

    assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, SHOP)
    assert "idempotency-key" in before.headers["access-control-allow-headers"].lower()
    assert answer.headers["access-control-allow-origin"] == SHOP
    assert "Retry-After" in answer.headers["access-control-expose-headers"]
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (404, SHOP)
    assert "access-control-allow-origin" not in stranger.headers
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origins", ["shop.example.org", "https://shop.example.org/", "ftp://x.org", "null"])
def test_what_is_no_origin_stops_the_server(api_settings: ApiSettings, origins: str) -> None:
    with pytest.raises(ValidationError, match="is no origin"):
        api_settings_of(api_settings, cors_origins=origins)


def test_every_origin_may_not_use_an_api_without_keys(api_settings: ApiSettings) -> None:
    with pytest.raises(ValidationError, match="RHAPSODE_API_KEYS"):
        api_settings_of(api_settings, cors_origins="*")
