"""Live speech on the page: heard while it is spoken or written, how soon, stopped, refused in the server's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, WebSocket, expect

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.page.conftest import OpenPage, arrive, until_announced, until_ready

Shoot = Callable[[Page, str], None]

TEXT = "The wind and the sun were disputing which was the stronger."
SECONDS = re.compile(r"^\d+\.\d\d s$")
IS_LOUD = "() => document.querySelector('meter').value > 0.01"
IS_SILENT = "() => document.querySelector('meter').value === 0"


def test_a_text_is_heard_while_it_is_spoken(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    with client.stream_speech(TEXT) as stream:
        audio_s = sum(chunk.duration_s for chunk in stream)
    page = open_page("live")
    page.get_by_role("textbox", name="Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Speak").click()

    expect(page.locator("#first-audio")).to_have_text(SECONDS)
    page.wait_for_function(IS_LOUD)
    shoot(page, "live-speaking")
    expect(page.get_by_role("button", name="Speak")).to_be_enabled()
    # Every sample that came was played, up to the first half second after the last was scheduled.
    assert seconds(page) == pytest.approx(audio_s, abs=1.5)
    assert page.locator("meter").evaluate("meter => meter.value") == 0


def seconds(page: Page) -> int:
    minutes, rest = page.locator("#heard").inner_text().split(":")
    return int(minutes) * 60 + int(rest)


def test_who_stops_it_hears_nothing_more(open_page: OpenPage) -> None:
    page = open_page("live")
    page.get_by_role("textbox", name="Text", exact=True).fill(f"{TEXT} " * 20)
    page.get_by_role("textbox", name="Text", exact=True).press("Control+Enter")
    page.wait_for_function(IS_LOUD)
    page.get_by_role("button", name="Stop").click()

    page.wait_for_function(IS_SILENT)
    until_announced(page, "Stopped")
    expect(page.get_by_role("button", name="Speak")).to_be_enabled()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    expect(page.locator("[role=alert]")).to_be_empty()


def test_a_text_is_heard_while_it_is_written(open_page: OpenPage, shoot: Shoot) -> None:
    sent: list[dict[str, Any]] = []

    def note(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sent.append(json.loads(frame)))

    page = open_page("live")
    page.on("websocket", note)
    page.get_by_label("Speak while I write").check()
    page.get_by_role("button", name="Start").click()
    field = page.get_by_role("textbox", name="Text", exact=True)
    field.press_sequentially("The wind and the sun were ")
    # It is not whole, and heard.
    expect(page.locator("#first-audio")).to_have_text(SECONDS)
    shoot(page, "live-writing")
    field.press_sequentially("friends")
    page.get_by_role("button", name="Finish").click()

    page.wait_for_function(IS_LOUD)
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    assert "".join(each.get("text", "") for each in sent) == "The wind and the sun were friends"
    assert [each["sequence"] for each in sent[1:]] == list(range(len(sent) - 1))
    assert sent[-1]["type"] == "input_text.end"
    expect(page.locator("[role=alert]")).to_be_empty()


def test_what_the_server_refuses_is_said_in_its_words(open_page: OpenPage) -> None:
    def refuse(route: Route) -> None:
        error = {"message": "all 4 live places are taken", "code": "live_full", "param": None, "type": "rate_limit"}
        route.fulfill(status=429, json={"error": error}, headers={"Retry-After": "1"})

    page = open_page("live")
    page.route("**/v1/audio/speech", refuse)
    page.get_by_role("button", name="Speak").click()
    expect(page.get_by_role("alert")).to_have_text("Write a text first.")
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_be_focused()
    page.get_by_role("textbox", name="Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Speak").click()

    expect(page.get_by_role("alert")).to_have_text("all 4 live places are taken")
    expect(page.get_by_role("button", name="Speak")).to_be_enabled()
    expect(page.locator("#first-audio")).to_have_text("–")


def test_it_has_an_address_of_its_own(open_page: OpenPage, stack: Stack) -> None:
    page = open_page()
    arrive(page, f"{stack.url}/live")
    until_ready(page)

    expect(page.get_by_role("heading", level=1, name="Live")).to_be_visible()
    expect(page.get_by_role("link", name="Live")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Narrations").click()
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_attribute("id", "text")
