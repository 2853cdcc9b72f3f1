"""What a problem's `type` leads to: a page of the server itself, for people, that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from api.http.problems.codes import CODES
from rhapsode import Rhapsode
from rhapsode.errors import NotFound
from tests.api.harness import ServedApi


def test_the_type_of_a_refusal_leads_to_its_page(api: ServedApi) -> None:
    refusal = api.http.get("/v1/jobs/job_01m85zyfp101tp1ezvwqy7nrkm")

    page = api.http.get(str(refusal.url.join(refusal.json()["type"])))

    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<h1><code>not_found</code></h1>" in page.text
    assert "Check the id." in page.text
    assert "`" not in page.text


def test_every_code_has_a_page_and_the_list_leads_to_each(api: ServedApi) -> None:
    listed = api.http.get("/errors")

    assert re.findall(r'href="errors/([a-z_]+)"', listed.text) == [each.code for each in CODES]
    assert "<p>After a 4xx, change the request. Repeat only 408, 429 and a 409 with <code>" in listed.text
    assert "Report a 500.</p>" in listed.text
    for each in CODES:
        assert f"<h1><code>{each.code}</code></h1>" in api.http.get(f"/errors/{each.code}").text
    assert api.http.head("/errors/internal").status_code == 200


def test_a_code_that_is_none_is_not_found(api: ServedApi) -> None:
    for name in ("no_such_code", "%3Cscript%3E", "voice-not-found", "a" * 5000):
        answer = api.http.get(f"/errors/{name}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), name


def test_a_page_may_load_nothing_but_the_style_in_it(api: ServedApi) -> None:
    page = api.http.get("/errors/segment_quality")

    style = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert len(style) == 1
    assert f"style-src 'sha256-{digest}'" in page.headers["content-security-policy"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search(r"<script|<link|<img|\sstyle=|\son[a-z]+=|https?:", page.text)


def test_the_client_says_where_the_page_is(api: ServedApi) -> None:
    with Rhapsode(api.url) as client, pytest.raises(NotFound) as caught:
        client.job("job_01m85zyfp101tp1ezvwqy7nrkm")

    assert caught.value.page == f"{api.url}/errors/not_found"
