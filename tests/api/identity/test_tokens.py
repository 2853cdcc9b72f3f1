"""Tokens of an issuer beside API keys, over HTTP: whose they are, and what is no token for this API."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from joserfc.jwk import ECKey, OKPKey, RSAKey
from pydantic import ValidationError

from api.settings import ApiSettings
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.identity.issuer import AUDIENCE, Issuer, serving_issuer
from tests.settings import api_settings_of

KEY = "key-of-ben"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving_issuer() as issuer:
        yield issuer


@pytest.fixture
def settings(api_settings: ApiSettings, issuer: Issuer) -> ApiSettings:
    return api_settings_of(
        api_settings,
        oidc_issuer=issuer.url,
        oidc_audience=AUDIENCE,
        oidc_allow_private="loopback",
        api_keys={hashlib.sha256(KEY.encode()).hexdigest(): "ben"},
    )


@pytest.fixture
def guarded(settings: ApiSettings) -> Iterator[ServedApi]:
    with serve(settings) as api:
        api.models.publish(SMALL)
        yield api


def ask(api: ServedApi, token: str, path: str = "/v1/quotas") -> httpx.Response:
    return api.http.get(path, headers={"Authorization": f"Bearer {token}"})


def coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_a_token_speaks_for_the_tenant_that_it_names(guarded: ServedApi, issuer: Issuer) -> None:
    ann, other = issuer.token(), issuer.token(tenant="cleo")
    headers = {"Authorization": f"Bearer {ann}"}

    job = guarded.http.post("/v1/jobs", json={"input": {"text": "Mine."}}, headers=headers).json()

    assert ask(guarded, ann).json()["tenant"] == "ann"
    assert ask(guarded, ann, f"/v1/jobs/{job['id']}").status_code == 200
    assert ask(guarded, other, f"/v1/jobs/{job['id']}").status_code == 404
    assert ask(guarded, KEY).json()["tenant"] == "ben", "keys open what they opened"
    assert guarded.http.get("/v1/quotas").status_code == 401


def test_what_a_token_may_do_is_what_a_tenant_may(guarded: ServedApi, issuer: Issuer) -> None:
    answer = ask(guarded, issuer.token(tenant="operator", scope="admin"), "/v1/admin/workers")

    assert answer.status_code == 403
    assert ask(guarded, issuer.token(), "/v1/voices").status_code == 200


def test_a_claim_names_scopes_where_the_settings_say_so(settings: ApiSettings, issuer: Issuer) -> None:
    with serve(api_settings_of(settings, oidc_scope_claim="permissions")) as api:
        operator = issuer.token(permissions=["rhapsode:admin", "read:mail"])
        reader = issuer.token(permissions="openid voices")

        assert ask(api, operator, "/v1/admin/workers").status_code == 200
        assert ask(api, operator, "/v1/voices").status_code == 403
        assert ask(api, reader, "/v1/voices").status_code == 200
        assert ask(api, issuer.token(), "/v1/voices").status_code == 403
        assert ask(api, issuer.token(), "/v1/models").status_code == 200, "needs no scope"


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"exp": int(time.time()) - 3600}, "its time is over"),
        ({"exp": None}, "exp"),
        ({"aud": "https://mail.example.org"}, "aud"),
        ({"aud": None}, "aud"),
        ({"iss": "https://other.example.org"}, "iss"),
        ({"nbf": int(time.time()) + 3600}, "not valid here"),
    ],
)
def test_a_token_for_another_time_place_or_purpose_is_refused(
    guarded: ServedApi, issuer: Issuer, claims: dict[str, Any], said: str
) -> None:
    answer = ask(guarded, issuer.token(**claims))

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert said in answer.json()["detail"]


def test_clocks_may_be_a_minute_apart(guarded: ServedApi, issuer: Issuer) -> None:
    now = int(time.time())

    assert ask(guarded, issuer.token(exp=now - 20)).status_code == 200
    assert ask(guarded, issuer.token(nbf=now + 20, iat=now + 20)).status_code == 200


@pytest.mark.parametrize("name", [None, "Ann Smith", "", 7, ["ann"], "a" * 64])
def test_a_token_without_a_tenant_is_forbidden(guarded: ServedApi, issuer: Issuer, name: object) -> None:
    answer = ask(guarded, issuer.token(tenant=name))

    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_nobody_signs_with_nothing_or_with_what_is_public(guarded: ServedApi, issuer: Issuer) -> None:
    head, body, signature = issuer.token().split(".")

    def unsigned(**header: object) -> str:
        return coded(json.dumps({"kid": "first", **header}).encode())

    with_secret = f"{unsigned(alg='HS256')}.{body}"
    # The public key, which everybody has, taken for a secret of both sides.
    tag = hmac.digest(issuer.key.as_pem(private=False), with_secret.encode(), "sha256")
    stranger = RSAKey.generate_key(2048, {"kid": "first"})
    forged = coded(json.dumps({"sub": "x", "tenant": "ben"}).encode())

    tokens = [
        f"{unsigned(alg='none')}.{body}.",
        f"{unsigned(alg='none')}.{body}.{signature}",
        f"{unsigned(alg='nOnE')}.{body}.{signature}",
        f"{with_secret}.{coded(tag)}",
        issuer.token("RS256", stranger),
        issuer.token("PS256", stranger),
        f"{head}.{forged}.{signature}",
        f"{head}.{body}.",
        f"{unsigned(alg='RS256', crit=['b64'], b64=False)}.{body}.{signature}",
        f"{unsigned(alg='RS256', typ='logout+jwt')}.{body}.{signature}",
        f"{unsigned(alg='RS256', kid=['first'])}.{body}.{signature}",
        f"{unsigned(alg='RS256', jwk=stranger.as_dict(private=False))}.{body}.{signature}",
        "eyJ.e30.x",
        "ey..",
        f"ey{'A' * 12_000}.e30.x",
    ]

    assert [ask(guarded, token).status_code for token in tokens] == [401] * len(tokens)
    assert ask(guarded, issuer.token("PS256")).status_code == 200


@pytest.mark.parametrize("kind", ["ES256", "Ed25519"])
def test_other_kinds_of_keys_verify_their_own_algorithm_alone(guarded: ServedApi, issuer: Issuer, kind: str) -> None:
    key: ECKey | OKPKey
    if kind == "ES256":
        key = ECKey.generate_key("P-256", {"kid": "other"})
    else:
        key = OKPKey.generate_key("Ed25519", {"kid": "other"})
    issuer.publish(issuer.key, key)

    assert ask(guarded, issuer.token(kind, key)).json()["tenant"] == "ann"


def test_a_key_for_one_algorithm_verifies_no_other(guarded: ServedApi, issuer: Issuer) -> None:
    key = RSAKey.generate_key(2048, {"kid": "narrow", "alg": "RS512"})
    issuer.publish(key)

    answer = ask(guarded, issuer.token("RS256", RSAKey.import_key(key.as_dict(private=True) | {"alg": "RS256"})))

    assert answer.status_code == 401
    assert "its key is for 'RS512'" in answer.json()["detail"]


def test_without_its_issuer_a_token_is_not_refused_but_not_known(guarded: ServedApi, issuer: Issuer) -> None:
    issuer.answers.clear()

    answer = ask(guarded, issuer.token())

    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (
        503,
        "identity_unavailable",
        True,
    )
    assert int(answer.headers["retry-after"]) > 0
    assert ask(guarded, KEY).status_code == 200


def test_an_issuer_inside_the_network_is_reached_only_where_that_is_allowed(
    settings: ApiSettings, issuer: Issuer
) -> None:
    with serve(api_settings_of(settings, oidc_allow_private="")) as api:
        assert ask(api, issuer.token()).status_code == 503
    assert issuer.asked == []


def test_documents_of_another_issuer_are_not_believed(guarded: ServedApi, issuer: Issuer) -> None:
    issuer.answers["/.well-known/openid-configuration"]["issuer"] = "https://evil.example.org"

    assert ask(guarded, issuer.token()).status_code == 503
    assert "/keys" not in issuer.asked


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"oidc_issuer": "https://id.example.org"}, "RHAPSODE_OIDC_AUDIENCE"),
        ({"oidc_issuer": "id.example.org", "oidc_audience": "x"}, "https://host"),
    ],
)
def test_settings_that_would_let_others_in_are_refused(
    api_settings: ApiSettings, changes: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ValidationError, match=complaint):
        ApiSettings.model_validate(api_settings.model_dump() | changes)
