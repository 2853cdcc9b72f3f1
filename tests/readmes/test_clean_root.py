"""What the walk in a clean root takes out of the pages; `make clean-root` walks."""

from __future__ import annotations

from tests.readmes.clean_root import AUDIOBOOK, GPU_BOX, README, is_of_checkout, typed_in


def test_the_way_to_an_installation_is_in_the_readme() -> None:
    install = [
        each.command for each in typed_in(README, first="## Ways to start", until="## Use it") if is_of_checkout(each)
    ]

    assert [command.split()[0] for command in install] == ["apt-get", "git", "make"]


def test_blocks_and_commands_of_sentences_are_typed_in_the_order_of_the_page() -> None:
    book = [each.command for each in typed_in(AUDIOBOOK)]
    box = [each.command for each in typed_in(GPU_BOX)]

    assert (
        book.index("rhapsode up")
        < book.index("rhapsode plan aesop.md")
        < book.index("rhapsode dictionaries add names.csv --to ID")
    )
    assert box[0] == "rhapsode doctor"
    assert "rhapsode backup FOLDER" in box
    assert not [command for command in (*book, *box) if "`" in command]
    assert "rhapsode plan" not in book, "a command without arguments is only named"
