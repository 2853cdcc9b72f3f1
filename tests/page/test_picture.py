"""The pictures of the first page: a fable by the demo voice, on a stack of its own. `make pictures` puts them there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from rhapsode import Rhapsode
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.page.conftest import SHOTS, OpenPage
from tests.page.test_waveform import HEIGHTS

FABLES = Path(__file__).parents[2] / "rhapsode" / "demo" / "fables.txt"
VIEW = {"width": 1280, "height": 800}
MOST_BYTES = 250_000

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def speaking(browser_path: Path, run_dir: Path) -> Iterator[Stack]:
    """With the real model, where the session's stack hums."""
    with Stack(StackOptions(run_dir / "picture"), without_settings(os.environ), lambda event: None) as stack:
        stack.wait_ready()
        yield stack


@pytest.fixture(scope="module")
def fables(speaking: Stack) -> str:
    title, fable, *_ = FABLES.read_text().split("\n\n")
    with Rhapsode(speaking.url) as client:
        job = client.submit_job(f"{title}\n\n{fable}", voice="slt", seed=7, metadata={"title": title})
        return client.wait(job, timeout_s=600).raise_unless_succeeded().id


@pytest.mark.timeout(900)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_page_shows_a_narration(
    open_at: OpenPage,
    speaking: Stack,
    fables: str,
    shoot: Callable[[Page, str], None],
    scheme: Literal["light", "dark"],
) -> None:
    page = open_at(speaking.url, f"jobs/{fables}", viewport=VIEW, color_scheme=scheme)
    expect(page.get_by_role("heading", level=1, name="The Wind and the Sun")).to_be_visible()
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    expect(page.get_by_text("disputing which was the stronger").first).to_be_visible()
    page.wait_for_function(f"() => ({HEIGHTS})() > 8")

    shoot(page, f"first-page-{scheme}")

    assert (SHOTS / f"first-page-{scheme}.png").stat().st_size < MOST_BYTES
