"""The page for everybody: axe finds nothing, the keyboard reaches everything, nothing jumps, phones suffice."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.api.harness import ServedApi
from tests.page.conftest import OpenPage, arrive, until_announced
from tests.page.texts import hummed, story

Shoot = Callable[[Page, str], None]

PHONE = {"width": 360, "height": 740}

MOST_SHIFT = 0.02
"""Of the score that browsers call good up to 0.1: a line that grows by a word."""

MOST_TABS = 6

WATCH_SHIFTS = """
window.shifts = 0;
window.shifted = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.shifts += entry.value;
    const box = ({ x, y, width, height }) => `${x},${y} ${width}x${height}`;
    for (const { node, previousRect, currentRect } of entry.sources) {
      window.shifted.push(`${node?.className || node?.textContent}: ${box(previousRect)} to ${box(currentRect)}`);
    }
  }
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(scope="module")
def narration(stack: Stack, run_dir: Path) -> str:
    """The id of a narration that is done, on a system with a voice of its own."""
    sample = run_dir / "accessible.wav"
    sample.write_bytes(hummed())
    with Rhapsode(stack.url) as client:
        client.voices.add("Accessible", sample, consent="they agree", ref_text="La la la.")
        return client.wait(client.submit_job(story(6), metadata={"title": "A story that is done"})).id


def views(narration: str) -> dict[str, tuple[str, str]]:
    """Address and what is there once the view is complete, by name."""
    return {
        "new": ("", ".job-row"),
        "narration": (f"jobs/{narration}", ".segment"),
        "live": ("live", "#live-text"),
        "voices": ("voices", ".voice[data-kind=own]"),
        "fleet": ("fleet", ".queue"),
    }


def faults(page: Page) -> list[str]:
    """Whatever axe finds, however slight it calls that."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:300]}" for each in found for node in each["nodes"]
    ]


MISNAMED = """() => [...document.querySelectorAll("button, a[href], summary")].filter((element) => {
  const seen = element.innerText.trim().toLowerCase();
  const named = element.getAttribute("aria-label");
  return named !== null && seen && !named.toLowerCase().includes(seen);
}).map((element) => `${element.innerText} is named ${element.getAttribute("aria-label")}`)"""
"""Who says to a program what they read on a button presses that button (WCAG 2.5.3)."""

NARROW = """() => [...document.querySelectorAll("select")].filter((element) => {
  const { width } = element.getBoundingClientRect();
  return 0 < width && width < 90;
}).map((element) => element.id || element.outerHTML.slice(0, 80))"""
"""Lists that show a letter or two of what is chosen."""

CUT_RINGS = """() => [...document.querySelectorAll("a[href], button, select, input, textarea, summary, [tabindex='0']")]
  .filter((element) => {
    element.focus({ preventScroll: true, focusVisible: true });
    if (document.activeElement !== element || !element.matches(":focus-visible")) return false;
    const style = getComputedStyle(element);
    const reach = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
    if (reach <= 0) return false;
    const box = element.getBoundingClientRect();
    for (let frame = element.parentElement; frame; frame = frame.parentElement) {
      if (getComputedStyle(frame).overflowX === "visible" || frame === document.documentElement) continue;
      const edge = frame.getBoundingClientRect();
      return box.left - reach < edge.left || box.right + reach > edge.left + frame.clientWidth + 1;
    }
    return false;
  }).map((element) => element.outerHTML.slice(0, 120))"""
"""What has the focus, and around which the ring is not whole, left or right."""


def expect_headings_in_order(page: Page) -> None:
    """One of the first level, before all others; none is skipped."""
    shown = page.locator("h1:visible, h2:visible, h3:visible, h4:visible")
    levels = [int(name[1]) for name in shown.evaluate_all("all => all.map((each) => each.tagName)")]
    assert levels[0] == 1, levels
    assert levels.count(1) == 1, levels
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view(open_page: OpenPage, narration: str, shoot: Shoot, scheme: str) -> None:
    # A colour on its way to another one is neither.
    page = open_page(color_scheme=scheme, reduced_motion="reduce")
    for name, (place, sign) in views(narration).items():
        page.evaluate("place => { location.hash = `#/${place}`; }", place)
        expect(page.locator(sign).first).to_be_visible()
        if name == "new":
            page.locator("summary", has_text="More choices").click()
            expect(page.locator("#cast")).to_be_visible()
        if name == "narration":
            page.locator(".segment").nth(1).click()
            page.locator("summary", has_text="Names and speakers").click()
        assert faults(page) == [], name
        assert page.evaluate(MISNAMED) == [], name
        assert page.evaluate(CUT_RINGS) == [], name
        expect_headings_in_order(page)
        shoot(page, f"{name}-{scheme}")
        if name == "narration":
            for button in ("Share", "As code", "History", "Other formats"):
                page.get_by_role("button", name=button, exact=True).click()
                expect(page.get_by_role("dialog")).to_be_visible()
                assert faults(page) == [], button
                page.keyboard.press("Escape")
            page.get_by_role("button", name="Select narrations").click()
            page.locator(".row-choice").first.check()
            assert faults(page) == []
    page.get_by_role("button", name="Keyboard").click()
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert faults(page) == []
    shoot(page, f"keyboard-{scheme}")


def test_every_view_fits_a_phone(open_page: OpenPage, narration: str, shoot: Shoot) -> None:
    page = open_page(viewport=PHONE, device_scale_factor=2, has_touch=True, is_mobile=True)
    for name, (place, sign) in views(narration).items():
        page.evaluate("place => { location.hash = `#/${place}`; }", place)
        expect(page.locator(sign).first).to_be_attached()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
        assert page.evaluate(NARROW) == [], name
        shoot(page, f"{name}-phone")


def test_nothing_moves_while_views_fill_and_a_narration_runs(
    open_page: OpenPage, narration: str, client: Rhapsode, stack: Stack
) -> None:
    page = open_page()
    page.context.add_init_script(WATCH_SHIFTS)
    for name, (place, sign) in views(narration).items():
        page.goto("about:blank")
        arrive(page, f"{stack.url}/#/{place}")
        expect(page.locator(sign).first).to_be_visible()
        assert page.evaluate("window.shifts") < MOST_SHIFT, f"{name}: {page.evaluate('window.shifted')}"
    job = client.submit_job(story(10))
    page.goto("about:blank")
    arrive(page, f"{stack.url}/#/jobs/{job.id}")
    # The title is known with the plan, and may have two lines.
    expect(page.locator(".job-title")).not_to_have_text(re.compile("^(…|Narration )"))
    expect(page.locator('.segment[data-state="done"]').first).to_be_visible()
    before = page.evaluate("window.shifts")
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    expect(page.locator(".files a").first).to_be_visible()
    assert page.evaluate("window.shifts") - before < MOST_SHIFT, page.evaluate("window.shifted.join('; ')")


def test_a_narration_is_made_and_heard_by_keyboard_alone(open_page: OpenPage) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    # The text is what comes next.
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_be_focused()
    page.keyboard.type("A short story for the keyboard. It has two sentences.")
    reach(page, "Narrate")
    page.keyboard.press("Enter")
    # The reader is taken to what was made.
    expect(page.get_by_role("heading", level=1, name="A short story for the keyboard.")).to_be_focused()
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    reach(page, "Listen")
    page.keyboard.press("Enter")
    expect(page.locator(".player-time")).not_to_have_text("0:00")
    page.locator(".segment").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Play from here")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".segment").first).to_be_focused()


def tab_to_text(page: Page) -> None:
    """From the top, past the link that skips."""
    heard: list[str] = []
    while (now := page.evaluate("document.activeElement.id || document.activeElement.innerText")) != "text":
        heard.append(now)
        assert len(heard) <= MOST_TABS, heard
        page.keyboard.press("Tab")


def test_six_tabs_lead_to_the_text_of_a_first_narration(open_at: OpenPage, api: ServedApi) -> None:
    page = open_at(api.url)
    expect(page.get_by_role("button", name="Narrate a fable")).to_be_visible()

    tab_to_text(page)


def test_six_tabs_lead_to_the_text_beside_a_list(open_page: OpenPage, narration: str) -> None:
    page = open_page()
    expect(page.locator(".job-row").first).to_be_visible()

    tab_to_text(page)

    # Nothing is out of reach: the list and the help come behind it.
    for name in ("Which narrations", "API", "Keyboard"):
        reach(page, name)


def reach(page: Page, name: str) -> None:
    """Tab until the element with this name has the focus, as somebody does who sees nothing."""
    for _ in range(300):
        page.keyboard.press("Tab")
        heard = page.evaluate(
            "(e => e.labels?.[0]?.textContent || e.getAttribute('aria-label') || e.textContent)(document.activeElement)"
        )
        if re.fullmatch(name, heard.strip()):
            return
    raise AssertionError(f"{name!r} is not reached by Tab")


def test_what_happens_is_told_to_those_who_do_not_see_it(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.pause(client.submit_job(story(3), metadata={"title": "Told aloud"}))
    page = open_page(f"jobs/{job.id}")
    # It ends while somebody looks.
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "paused")
    client.resume(job)

    until_announced(page, "Told aloud: Done")
