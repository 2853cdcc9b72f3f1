"""A narration of 5,000 passages scrolls as a short one does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rhapsode import Rhapsode
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.page.conftest import OpenPage
from tests.page.texts import SENTENCES

FEW, MANY = 100, 5_000
LEAST_SHARE = 0.6
"""Of the frames of the short one. When a browser drew each paragraph by itself, it was a third."""

FRAMES = """async () => {
  const until = performance.now() + 3000;
  let frames = 0;
  for (let place = 0; performance.now() < until; place = (place + 60) % 3000) {
    await new Promise(requestAnimationFrame);
    scrollTo(0, place);
    frames += 1;
  }
  return frames;
}"""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def fast(browser_path: Path, run_dir: Path) -> Iterator[Stack]:
    """An engine that needs no time."""
    fake = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_SLOTS": "64", "RHAPSODE_FAKE_STEP_S": "0"}
    with Stack(StackOptions(run_dir / "scrolling"), without_settings(os.environ) | fake, lambda event: None) as stack:
        stack.wait_ready()
        yield stack


@pytest.mark.timeout(900)
def test_thousands_of_passages_scroll_as_a_hundred_do(open_at: OpenPage, fast: Stack) -> None:
    frames: list[int] = []
    with Rhapsode(fast.url) as client:
        for count in (FEW, MANY):
            text = "\n\n".join(f"Number {number}. {SENTENCES[number % 4]}" for number in range(count))
            job = client.wait(client.submit_job(text), timeout_s=600)
            page = open_at(fast.url, f"jobs/{job.id}")
            expect(page.locator(".segment")).to_have_count(count)
            # The waveform reads its peaks meanwhile.
            page.wait_for_load_state("networkidle")
            frames.append(max(page.evaluate(FRAMES) for _ in range(2)))
            page.context.close()

    assert frames[1] > LEAST_SHARE * frames[0], frames
