"""Limits on what a newcomer has to know. They may fall, not rise."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from storage.runtime.config.settings import SETTING_NAMES

ROOT = Path(__file__).parent.parent
PRODUCT = ("api", "reading", "rhapsode", "storage", "worker")
MADE = {"rhapsode.cli.job_options", "rhapsode.client.request_options"}
SYNC_CLIENT = "rhapsode.client.sync"
"""Both are made at each install; they are not in git."""

SHARED_NAMES = {"Job"}
"""A document of the contract, which OpenAPI names so, and what the Python client makes of it."""

MOST_LINES = 111_277
MOST_SETTINGS = 74
MOST_OPTIONS = 223
MOST_SMALL_FILES = 13
SMALL_LINES = 45
MOST_ENTRIES = 15
MOST_LARGE_FOLDERS = 8
MOST_NAMES_OF_READING = 66
NO_ENTRIES = {"__init__.py", "__pycache__", "README.md"}


def modules() -> dict[str, Path]:
    files = (file for root in PRODUCT for file in (ROOT / root).rglob("*.py"))
    return {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def written() -> dict[str, Path]:
    return {name: file for name, file in modules().items() if name not in MADE and not name.startswith(SYNC_CLIENT)}


def num_lines(file: Path) -> int:
    return len(file.read_bytes().splitlines())


def test_a_public_class_name_stands_for_one_class() -> None:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for module, file in modules().items():
        if not module.startswith(SYNC_CLIENT):
            for each in ast.parse(file.read_text()).body:
                if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                    found[each.name].append(module)

    assert {name: places for name, places in found.items() if len(places) > 1 and name not in SHARED_NAMES} == {}


def test_the_product_does_not_grow() -> None:
    assert sum(map(num_lines, written().values())) <= MOST_LINES


def test_few_settings() -> None:
    assert len(SETTING_NAMES) <= MOST_SETTINGS


def test_few_options_of_commands() -> None:
    declared = sum(file.read_text().count("typer.Option(") for file in (ROOT / "rhapsode").rglob("*.py"))

    assert declared <= MOST_OPTIONS


def test_few_small_files_have_one_importer() -> None:
    known = modules()
    importers: defaultdict[str, set[str]] = defaultdict(set)
    others = (file for root in ("benchmarks", "generators", "training") for file in (ROOT / root).rglob("*.py"))
    for file in (*known.values(), *others):
        for module in imported(file, known):
            importers[module].add(str(file))
    small = [
        module
        for module, file in known.items()
        if len(importers[module]) == 1 and num_lines(file) <= SMALL_LINES and not file.name.startswith("__")
    ]

    assert len(small) <= MOST_SMALL_FILES, small


def test_others_import_few_names_of_reading() -> None:
    outside = (file for module, file in modules().items() if module.split(".")[0] != "reading")
    statements = (each for file in outside for each in ast.walk(ast.parse(file.read_text())))
    names = {
        (each.module, name.name)
        for each in statements
        if isinstance(each, ast.ImportFrom) and each.module and each.module.split(".")[0] == "reading"
        for name in each.names
    }

    assert len(names) <= MOST_NAMES_OF_READING, sorted(names)


def imported(file: Path, known: dict[str, Path]) -> Iterator[str]:
    for each in ast.walk(ast.parse(file.read_text())):
        if isinstance(each, ast.ImportFrom) and each.module:
            for name in each.names:
                full = f"{each.module}.{name.name}"
                yield full if full in known else each.module
        elif isinstance(each, ast.Import):
            yield from (name.name for name in each.names)


def test_few_folders_have_many_entries() -> None:
    folders = {file.parent for file in modules().values()}
    large = {
        str(folder.relative_to(ROOT)): entries
        for folder in folders
        if (entries := len({each.name for each in folder.iterdir()} - NO_ENTRIES)) > MOST_ENTRIES
    }

    assert len(large) <= MOST_LARGE_FOLDERS, large
