"""The player at the foot of the page: where in a narration, how fast, how loud, by mouse, keyboard and media keys."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from rhapsode import Job, Rhapsode
from rhapsode.stack.stack import Stack
from tests.page.conftest import OpenPage
from tests.page.texts import story

Shoot = Callable[[Page, str], None]

SOUNDING = """() => {
  const { playing } = window;
  return playing.some((audio) => !audio.paused && audio.currentTime > 0);
}"""
KEEP_ELEMENTS = """
window.playing = [];
window.keys = {};
window.pace = 0.0625;
const Element = window.Audio;
const paced = (name) => {
  const real = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, name);
  return {
    get() { return real.get.call(this) / window.pace; },
    set(value) { real.set.call(this, value * window.pace); },
  };
};
window.Audio = function (...given) {
  const element = new Element(...given);
  for (const name of ["playbackRate", "defaultPlaybackRate"]) Object.defineProperty(element, name, paced(name));
  window.playing.push(element);
  return element;
};
const set = MediaSession.prototype.setActionHandler;
MediaSession.prototype.setActionHandler = function (name, action) {
  window.keys[name] = action;
  set.call(this, name, action);
};
"""
"""The elements that are heard are in no document, and a browser does not show what its media keys do.

A second of what is heard lasts sixteen, the most that Chromium allows: on a busy machine the narration would be over
before the test has pressed anything.
"""
HEAR_AT_ITS_OWN_PACE = """() => {
  const rates = playing.map((each) => each.playbackRate);
  pace = 1;
  playing.forEach((each, place) => { each.defaultPlaybackRate = each.playbackRate = rates[place]; });
}"""


@pytest.fixture(scope="module")
def narration(stack: Stack) -> str:
    with Rhapsode(stack.url) as client:
        return client.wait(client.submit_job(story(8), metadata={"title": "Played"})).id


@pytest.fixture
def page(open_page: OpenPage, narration: str) -> Page:
    page = open_page(script=KEEP_ELEMENTS)
    page.evaluate("place => { location.hash = place; }", f"#/jobs/{narration}")
    page.get_by_role("button", name="Listen").click()
    page.wait_for_function(SOUNDING)
    return page


def place_s(page: Page) -> float:
    return page.locator(".player-place").evaluate("element => element.valueAsNumber")


def seek(page: Page, share: float) -> None:
    """By a press on the line of time."""
    box = page.locator(".player-place").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


def test_the_line_of_time_leads_to_every_place(page: Page, client: Rhapsode, narration: str, shoot: Shoot) -> None:
    file_s = next(each.duration_s for each in client.job(narration).artifacts if each.type == "wav")
    assert file_s is not None
    shown = page.locator(".player-total").inner_text().split(":")
    assert int(shown[0]) * 60 + int(shown[1]) == pytest.approx(file_s, abs=2)

    seek(page, 0.6)

    page.wait_for_function("file_s => document.querySelector('.player-place').valueAsNumber > 0.5 * file_s", arg=file_s)
    page.wait_for_function(SOUNDING)
    heard = page.locator(".segment.heard")
    expect(heard).to_be_in_viewport()
    assert int(heard.get_attribute("data-index") or 0) > 2
    shoot(page, "player")


def test_its_length_is_one_wherever_it_is_told(page: Page) -> None:
    """With the pauses between passages, as of its file: not of the speech alone, which is shorter."""
    told = (
        page.locator(".files, .downloads, main")
        .get_by_text(re.compile(r"^\d+ s · "))
        .first.inner_text()
        .split(" · ")[0]
    )

    expect(page.locator(".progress .figure")).to_have_text(f"{told}long")
    expect(page.locator(".job-row[aria-current], .job-row").first).to_contain_text(f"{told} long")


def test_the_player_covers_nothing_that_is_scrolled_to(page: Page) -> None:
    page.locator(".segment").last.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")

    text, bar = page.locator(".segment").last.bounding_box(), page.locator("#player").bounding_box()
    assert text is not None
    assert bar is not None
    assert text["y"] + text["height"] <= bar["y"]


def test_speed_and_volume_are_those_that_were_chosen(page: Page) -> None:
    page.get_by_label("Tempo").select_option("1.5")
    page.get_by_label("Volume").fill("0.25")

    rates = page.evaluate("() => window.playing.map((each) => [each.playbackRate, each.volume, each.preservesPitch])")
    assert rates == [[1.5, 0.25, True]] * 2
    seek(page, 0.5)
    page.wait_for_function(SOUNDING)
    assert page.evaluate("() => window.playing.every((each) => each.playbackRate === 1.5 && each.volume === 0.25)")


def test_the_keyboard_plays_pauses_and_goes_from_place_to_place(page: Page) -> None:
    page.locator("h1.job-title").focus()
    page.keyboard.press("Space")
    expect(page.locator("#player").get_by_role("button", name="Go on")).to_be_visible()
    page.locator(".player-place").focus()
    before_s = place_s(page)

    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.querySelector('.player-place').valueAsNumber > before + 4", arg=before_s)
    expect(page.locator(".player-place")).to_have_attribute("aria-valuetext", re.compile(r"^\d+ s of \d+ (s|min)"))
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("before => document.querySelector('.player-place').valueAsNumber < before + 4", arg=before_s)
    page.locator("h1.job-title").focus()
    page.keyboard.press("Space")
    page.wait_for_function(SOUNDING)


def test_media_keys_pause_go_on_and_skip(page: Page) -> None:
    assert page.evaluate("navigator.mediaSession.metadata.title") == "Played"
    page.evaluate("window.keys.pause()")
    expect(page.locator("#player").get_by_role("button", name="Go on")).to_be_visible()
    assert page.evaluate("navigator.mediaSession.playbackState") == "paused"

    heard = int(page.locator(".segment.heard").get_attribute("data-index") or 0)

    page.evaluate("window.keys.nexttrack()")
    expect(page.locator(".segment.heard")).to_have_attribute("data-index", str(heard + 1))
    page.evaluate("window.keys.seekto({ seekTime: 0 })")
    expect(page.locator(".segment.heard")).to_have_attribute("data-index", "0")
    page.evaluate("window.keys.play()")
    page.wait_for_function(SOUNDING)
    page.evaluate("window.keys.stop()")
    expect(page.locator("#player")).to_be_hidden()
    assert page.evaluate("navigator.mediaSession.metadata") is None


def test_it_plays_to_the_end_and_goes(page: Page) -> None:
    seek(page, 0.98)
    page.evaluate(HEAR_AT_ITS_OWN_PACE)

    expect(page.locator("#player")).to_be_hidden()
    expect(page.locator(".segment.heard")).to_have_count(0)


def begun_and_paused(client: Rhapsode, text: str) -> Job:
    """Some of it can be heard, and the rest waits until the page is open, however long that takes."""
    job = client.submit_job(text)
    while not client.job(job.id).progress.fraction:
        time.sleep(0.05)
    return client.pause(job)


def test_a_narration_that_is_not_open_any_more_is_heard_on(open_page: OpenPage, client: Rhapsode) -> None:
    job = begun_and_paused(client, story(40))
    page = open_page(f"jobs/{job.id}")
    page.get_by_role("button", name="Listen along").click()
    page.get_by_role("link", name="Voices", exact=True).click()
    expect(page.get_by_role("heading", name="Voices", level=1)).to_be_visible()

    client.wait(client.resume(job))

    # It knows of what was spoken since.
    expect(page.locator(".player-total")).not_to_have_text(re.compile("so far"))
    page.get_by_role("button", name="Close the player").click()


def test_its_place_is_never_behind_what_is_spoken(open_page: OpenPage, client: Rhapsode) -> None:
    job = begun_and_paused(client, story(40))
    page = open_page(script=KEEP_ELEMENTS)
    page.evaluate("place => { location.hash = place; }", f"#/jobs/{job.id}")
    page.get_by_role("button", name="Listen along").click()
    page.wait_for_function(SOUNDING)
    page.locator("#player").get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".player-total")).not_to_have_text("0:00 so far")
    page.evaluate("playing.forEach((audio) => { if (audio.currentTime) audio.currentTime = 1.5; })")
    expect(page.locator(".player-time")).to_have_text("0:01")

    client.segments.edit(job.id, 0, text="Another beginning.")

    expect(page.locator(".player-total")).to_have_text("0:00 so far")
    expect(page.locator(".player-time")).to_have_text("0:00")


def test_on_a_phone_the_passage_is_read_in_the_player(open_page: OpenPage, narration: str, shoot: Shoot) -> None:
    page = open_page(f"jobs/{narration}", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.get_by_role("button", name="Listen", exact=True).click()
    line = page.locator(".player-line")
    expect(line).not_to_be_empty()

    box = line.bounding_box()

    assert box is not None
    assert box["width"] > 330
    shoot(page, "player-phone")
    page.locator(".segment").last.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    text, bar = page.locator(".segment").last.bounding_box(), page.locator("#player").bounding_box()
    assert text is not None
    assert bar is not None
    assert text["y"] + text["height"] <= bar["y"]
