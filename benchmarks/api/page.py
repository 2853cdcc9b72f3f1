"""What the page at / weighs and how soon it can be used, on loopback, with many narrations in its list.

    python benchmarks/api/page.py [--jobs 1000] [--visits 15]

Starts an API without a worker, submits the jobs, which all wait, and opens the page in headless Chromium, each visit in
a context with an empty cache: time until its scripts have run and the list stands there, time of a visit with the files
in the cache, the list's answer as the page asks for it and as a client times it, a click on a row with all rows on
the page. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from api.system.page import page as page_files
from benchmarks.api.served_api import ServedApi, served_api
from tests.run_guard import guarded_run
from tests.tools.chromium import HOW_TO_GET, find_browser, start_browser

LIST_ANSWERS = 40
READY = "html[data-ready]"
FIRST_ROW = ".job-row a"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--visits", type=int, default=15)
    arguments = parser.parse_args()
    with _api() as api, sync_playwright() as playwright:
        url = f"http://127.0.0.1:{api.port}"
        path = find_browser(playwright)
        if path is None:
            sys.exit(HOW_TO_GET)
        _fill(url, arguments.jobs)
        browser = start_browser(playwright, path)
        figures = {
            "browser": browser.version,
            "jobs": arguments.jobs,
            "weight": _weight(),
            "first_view": _first_view(browser, url),
            "first_visit_ms": _visits(browser, url, arguments.visits),
            "later_visit_ms": _later_visits(browser, url, arguments.visits),
            **_long_list(browser, url, arguments.jobs),
            "list_answer_cpu_ms": _list_cpu_ms(api, url),
        }
        browser.close()
    print(json.dumps(figures, indent=1))


def _weight() -> dict[str, int]:
    files = [*page_files().documents.values(), *page_files().assets.values()]
    return {
        "files": len(files),
        "bytes": sum(len(file.plain) for file in files),
        "bytes_sent": sum(len(file.zipped) for file in files),
    }


def _first_view(browser: Browser, url: str) -> dict[str, int]:
    """What the narrations ask for, before any other section is opened; answers of the API left out."""
    page = browser.new_page()
    page.goto(url)
    page.wait_for_selector(FIRST_ROW)
    sizes = page.evaluate(
        """() => [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")]
          .filter(({ name }) => !name.includes("/v1/"))
          .map(({ encodedBodySize }) => encodedBodySize)"""
    )
    page.close()
    return {"files": len(sizes), "bytes_sent": sum(sizes)}


def _visits(browser: Browser, url: str, count: int) -> dict[str, float]:
    """Each with nothing in the cache."""
    times: list[tuple[float, float]] = []
    for _ in range(count):
        context = browser.new_context()
        times.append(_timed_visit(context, url))
        context.close()
    return _told(times)


def _later_visits(browser: Browser, url: str, count: int) -> dict[str, float]:
    context = browser.new_context()
    _timed_visit(context, url)
    times = [_timed_visit(context, url) for _ in range(count)]
    context.close()
    return _told(times)


def _timed_visit(context: BrowserContext, url: str) -> tuple[float, float]:
    """Milliseconds from the address to scripts that have run, and to the first row of the list."""
    page = context.new_page()
    begun_s = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector(READY, state="attached")
    usable_ms = (time.perf_counter() - begun_s) * 1000
    page.wait_for_selector(FIRST_ROW)
    listed_ms = (time.perf_counter() - begun_s) * 1000
    page.close()
    return usable_ms, listed_ms


def _told(times: list[tuple[float, float]]) -> dict[str, float]:
    return {
        "usable_p50": round(statistics.median(usable for usable, _ in times), 1),
        "listed_p50": round(statistics.median(listed for _, listed in times), 1),
        "listed_max": round(max(listed for _, listed in times), 1),
    }


def _long_list(browser: Browser, url: str, jobs: int) -> dict[str, Any]:
    page = browser.new_page()
    page.goto(url)
    page.wait_for_selector(FIRST_ROW)
    begun_s = time.perf_counter()
    while page.locator(FIRST_ROW).count() < jobs:
        page.evaluate("document.querySelector('.job-list').lastElementChild.scrollIntoView()")
        page.wait_for_timeout(10)
    loaded_ms = (time.perf_counter() - begun_s) * 1000
    answers = page.evaluate(
        """async (count) => {
          const times = [];
          for (let turn = 0; turn < count; turn += 1) {
            const begun = performance.now();
            await (await fetch("v1/jobs?limit=50")).json();
            times.push(performance.now() - begun);
          }
          return times.sort((a, b) => a - b);
        }""",
        LIST_ANSWERS,
    )
    return {
        "all_rows_ms": round(loaded_ms),
        "list_answer_ms": {"p50": round(statistics.median(answers), 1), "max": round(answers[-1], 1)},
        "click_to_narration_ms": round(_median_ms(lambda turn: _open_row(page, turn * jobs // 6), 5), 1),
    }


def _list_cpu_ms(api: ServedApi, url: str) -> float:
    """What an answer costs the API's process: the same on a busy machine, which the times above are not."""
    with httpx.Client(base_url=url) as http:
        begun_s = api.cpu_s()
        for _ in range(LIST_ANSWERS):
            http.get("/v1/jobs?limit=50").raise_for_status()
        return round((api.cpu_s() - begun_s) * 1000 / LIST_ANSWERS, 1)


def _open_row(page: Page, number: int) -> None:
    page.evaluate("number => document.querySelectorAll('.job-row a')[number].click()", number)
    page.wait_for_selector(".job-title:not(:text-is('…'))")


def _median_ms(action: Callable[[int], None], count: int) -> float:
    times: list[float] = []
    for turn in range(count):
        begun_s = time.perf_counter()
        action(turn)
        times.append((time.perf_counter() - begun_s) * 1000)
    return statistics.median(times)


def _fill(url: str, jobs: int) -> None:
    """All of them wait: there is no worker, so that the figures are the page's and its API's alone."""
    with httpx.Client(base_url=url) as http:
        for number in range(jobs):
            order = {"input": {"text": f"Line {number}."}, "metadata": {"title": f"Narration number {number}"}}
            http.post("/v1/jobs", json=order).raise_for_status()


@contextmanager
def _api() -> Generator[ServedApi]:
    with guarded_run() as folder, served_api(folder) as api:
        yield api


if __name__ == "__main__":
    main()
