"""Gathers the pages of the site into build/docs-source, and their configuration into build/mkdocs.yml."""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from generators import error_pages  # noqa: E402 - from the tree that this file is of

SOURCE = ROOT / "build/docs-source"
CONFIGURATION = ROOT / "docs/mkdocs.yml"
SHOWN = ("docs/pictures", "docs/site.css", "api/page/icon.svg")
ERRORS = "errors"
"""The folder of the pages of problem codes, as at a running server."""

Nav = Sequence[Mapping[str, "str | Nav"]]
"""Pages and sections by their titles."""

FENCE = re.compile(r"^( *)(```+)(\w*).*$")
LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
SOUND = re.compile(r"\[([^\]]+)\]\(([^)\s]+\.mp3)\)")
PLAYER = '\n\n<p class="sound">{0[0]} <audio controls preload="none" src="{0[1]}"></audio></p>'
NUMBERED = re.compile(r"\d+\. ")
CODE_CELL = re.compile(r"^\| `([a-z_]+)` \|")


def main() -> None:
    """Ends with status 1 and the names of pages that have no place in `nav`."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    pages = set(_pages(_nav()))
    for page in pages:
        _write(page, _page((ROOT / page).read_text(), page, pages))
    for code, text in error_pages.error_pages():
        _write(f"{ERRORS}/{code}.md", text)
    for name in SHOWN:
        for file in sorted((ROOT / name).iterdir()) if (ROOT / name).is_dir() else [ROOT / name]:
            target = SOURCE / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    shutil.copyfile(CONFIGURATION, SOURCE.parent / "mkdocs.yml")
    if missing := sorted(set(_pages_of_the_tree()) - pages):
        sys.exit(f"docs/mkdocs.yml: add to nav: {', '.join(missing)}")


def _nav() -> Nav:
    text = CONFIGURATION.read_text()
    return yaml.safe_load(text[text.index("\nnav:") :])["nav"]


def _pages(nav: Nav) -> Iterator[str]:
    for entry in nav:
        for content in entry.values():
            if isinstance(content, str):
                yield content
            else:
                yield from _pages(content)


def _pages_of_the_tree() -> Iterator[str]:
    for folder in ("api", "benchmarks", "docker", "docs", "examples", "generators", "reading", "rhapsode", "storage"):
        for page in (ROOT / folder).rglob("*.md"):
            yield page.relative_to(ROOT).as_posix()


def _write(name: str, text: str) -> None:
    target = SOURCE / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def _page(markdown: str, source: str, pages: set[str]) -> str:
    """As a forge shows it: fences without the words for tests, no links to files that are no page, sound that plays.

    Numbered items hold blocks with 3 spaces; the site needs 4.
    """
    of_errors = source == error_pages.MADE.as_posix()
    lines: list[str] = []
    fence, indent = "", ""
    for written in markdown.splitlines():
        if not fence and written and not written.startswith("   "):
            indent = " " if NUMBERED.match(written) else ""
        line = f"{indent}{written}" if written.startswith("   ") else written
        if found := FENCE.match(line):
            fence = "" if fence else found[2]
            lines.append(f"{found[1]}{found[2]}{found[3]}")
        elif fence:
            lines.append(line)
        else:
            linked = _with_error_page(line, source) if of_errors else line
            lines.append(LINK.sub(lambda link: _link(link, source, pages), linked))
    return _with_players("\n".join([*lines, ""]))


def _with_players(markdown: str) -> str:
    """A player below each paragraph that leads to sound."""
    paragraphs = markdown.split("\n\n")
    return "\n\n".join(f"{each}{''.join(map(PLAYER.format, SOUND.findall(each)))}" for each in paragraphs)


def _with_error_page(line: str, source: str) -> str:
    way = posixpath.relpath(ERRORS, posixpath.dirname(source))
    return CODE_CELL.sub(rf"| [`\1`]({way}/\1.md) |", line)


def _link(link: re.Match[str], source: str, pages: set[str]) -> str:
    target = link["target"]
    if ":" in target or target.startswith("#"):
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target.partition("#")[0]))
    is_shown = path in pages or path.startswith(SHOWN)
    # What does not exist at all is left to Zensical, which names the page and ends with an error.
    return link["text"] if not is_shown and (ROOT / path).exists() else link[0]


if __name__ == "__main__":
    main()
