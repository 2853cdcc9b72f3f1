"""Pages of the documentation are led to, and what they show is there; `tests/test_architecture.py` looks at links."""

from __future__ import annotations

import re
from pathlib import Path

from storage.narration.aliases import OPENAI_VOICES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_page_of_the_documentation_is_led_to() -> None:
    index = (DOCS / "README.md").read_text()
    pages = [page for page in DOCS.rglob("*.md") if page != DOCS / "README.md"]

    assert len(pages) > 5
    assert [page.name for page in pages if f"({page.relative_to(DOCS).as_posix()})" not in index] == []


def test_the_page_for_openais_client_has_each_of_its_voices() -> None:
    page = (DOCS / "tutorials" / "from-openai.md").read_text()

    assert dict(re.findall(r"`(\w+)`: `(\w+)`", page)) == OPENAI_VOICES


def test_what_the_first_page_shows_is_there() -> None:
    shown = re.findall(r'(?:src|srcset)="([^"]+)"', (ROOT / "README.md").read_text())

    assert len(shown) == 4
    assert [name for name in shown if not (ROOT / name).is_file()] == []
    assert all(path.stat().st_size < 250_000 for path in (DOCS / "pictures").iterdir())
