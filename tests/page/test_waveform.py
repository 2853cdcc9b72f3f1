"""The picture of a narration's sound: what it is drawn of, what a press on it does, and how the text follows it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from rhapsode import Rhapsode
from tests.page.conftest import OpenPage
from tests.page.texts import story

Shoot = Callable[[Page, str], None]

COLOURS = """selector => {
  const canvas = document.querySelector(selector);
  if (!canvas?.clientWidth) return [];
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const found = new Set();
  for (let at = 0; at < pixels.length; at += 4) if (pixels[at + 3] === 255) found.add(pixels.slice(at, at + 3).join());
  return [...found];
}"""
COLOUR = """(canvas, name) => {
  canvas.style.color = `var(${name})`;
  return getComputedStyle(canvas).color.match(/[0-9]+/g).map(Number);
}"""
"""Red, green and blue of one of the page's colours."""

HEIGHTS = """() => {
  const canvas = document.querySelector(".wave");
  if (!canvas?.clientWidth) return 0;
  const tall = canvas.height - 18 * devicePixelRatio;
  const pen = canvas.getContext("2d");
  const [red, green, blue] = COLOUR(canvas, "--bar-done");
  const heights = new Set();
  for (let x = 0; x < canvas.width; x += 1) {
    const column = pen.getImageData(x, 0, 1, tall).data;
    let height = 0;
    for (let y = 0; y < tall; y += 1) {
      if (column[4 * y] === red && column[4 * y + 1] === green && column[4 * y + 2] === blue) height += 1;
    }
    if (height) heights.add(height);
  }
  return heights.size;
}""".replace("COLOUR(", f"({COLOUR})(")
"""How many heights the bars of spoken passages have."""


RISING = base64.b64encode(bytes(range(0, 250, 10))).decode()


def rising(route: Route) -> None:
    """The fake engine's tones are as loud at their end as at their beginning: in their place what rises."""
    answer = route.fetch()
    page = answer.json()
    assert all(each["peaks"] for each in page["data"])
    route.fulfill(json=page | {"data": [each | {"peaks": RISING} for each in page["data"]]})


def test_it_is_drawn_of_the_sound(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job(story(5)))
    page = open_page()
    page.route("**/waveform?*", rising)
    page.evaluate("place => { location.hash = place; }", f"#/jobs/{job.id}")

    page.wait_for_function(f"() => ({HEIGHTS})() > 8")


def test_without_peaks_it_is_drawn_all_the_same(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job(story(5)))
    page = open_page()
    page.route("**/waveform?*", lambda route: route.fulfill(status=404, json={"status": 404, "title": "Not found"}))
    page.evaluate("place => { location.hash = place; }", f"#/jobs/{job.id}")

    page.wait_for_function(f"() => ({HEIGHTS})() >= 1")
    assert page.evaluate(HEIGHTS) < 4


def test_a_press_is_heard_and_text_and_picture_follow_each_other(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    job = client.wait(client.submit_job(story(5)))
    page = open_page(f"jobs/{job.id}")
    page.wait_for_function(f"() => ({HEIGHTS})() >= 1")
    wave = page.locator(".wave")
    box = wave.bounding_box()
    assert box is not None

    wave.hover(position={"x": box["width"] * 0.5, "y": 40})
    expect(page.locator(".wave-caption")).to_have_text(re.compile(r"^0:\d\d · \w"))
    pointed = page.locator(".segment.pointed")
    expect(pointed).to_have_count(1)
    wave.click(position={"x": box["width"] * 0.5, "y": 40})

    # From the middle on: it may be the end of a passage, behind which the next one is heard.
    expect(page.locator(".segment.heard")).to_have_attribute("data-index", re.compile(r"^[2-5]$"))
    page.locator(".segment").nth(1).hover()
    expect(pointed).to_have_attribute("data-index", "1")
    shoot(page, "waveform")


def test_it_is_seen_closer_and_from_farther_away(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    job = client.wait(client.submit_job(story(8)))
    page = open_page(f"jobs/{job.id}")
    page.wait_for_function(f"() => ({HEIGHTS})() >= 1")
    wave = page.locator(".wave")
    told = page.locator("#announcements")

    page.get_by_role("button", name="Zoom in").click()
    expect(told).to_have_text("30 s in sight")
    page.get_by_role("button", name="Zoom in").click()
    expect(told).to_have_text("20 s in sight")
    # The middle of what was seen stays there.
    box = wave.bounding_box()
    assert box is not None
    wave.hover(position={"x": box["width"] / 2, "y": 40})
    expect(page.locator(".wave-caption")).to_have_text(re.compile(r"^0:2[23] · \w"))
    shoot(page, "zoomed")
    for _ in range(6):
        page.get_by_role("button", name="Zoom out").click()
    wave.hover(position={"x": 2, "y": 40})
    expect(page.locator(".wave-caption")).to_have_text(re.compile(r"^0:00 · \w"))
    page.keyboard.down("Control")
    wave.hover(position={"x": box["width"] / 2, "y": 40})
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    wave.hover(position={"x": 2, "y": 40})
    expect(page.locator(".wave-caption")).not_to_have_text(re.compile("^0:00"))


def test_chapters_lead_to_their_places(open_page: OpenPage, shoot: Shoot) -> None:
    page = open_page()
    told = "\n\n".join(f"# Chapter {name}\n\n{story(6)}" for name in ("red", "green", "blue"))
    page.set_input_files("#document", {"name": "three.md", "mimeType": "text/markdown", "buffer": told.encode()})
    page.get_by_role("button", name="Narrate", exact=True).click()
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")

    rail = page.get_by_role("navigation", name="Chapters")
    expect(rail.get_by_role("button")).to_contain_text(["Chapter red", "Chapter green", "Chapter blue"])
    # Longer than the picture: the whole is above it.
    expect(page.locator(".wave-whole")).to_be_visible()
    rail.get_by_role("button", name="Chapter blue").click()
    expect(page.locator(".segment", has_text="Chapter blue").first).to_be_in_viewport()
    page.locator(".segment", has_text="Chapter green").first.click()
    page.get_by_role("button", name="Play from here").click()
    expect(rail.get_by_role("button", name="Chapter green")).to_have_attribute("aria-current", "true")
    shoot(page, "chapters")


def test_what_was_flagged_is_marked_in_the_picture(open_page: OpenPage, client: Rhapsode) -> None:
    hurried = f"The number of the safe is {' '.join(str(number) for number in range(1_000, 1_030))}."
    plain = [f"{number} ships are in the harbour and all the lamps are lit." for number in range(100, 118)]
    job = client.wait(client.submit_job({"segments": [{"text": text} for text in (*plain, hurried)]}))
    client.segments.regenerate(job.id, len(plain))
    job = client.wait(job)
    page = open_page(f"jobs/{job.id}")
    expect(page.locator(".segment[data-flagged]")).to_have_count(1)

    red, green, blue = page.locator(".wave").evaluate(COLOUR, "--bar-flagged")

    page.wait_for_function(f"() => ({COLOURS})('.wave-whole').includes('{red},{green},{blue}')")
