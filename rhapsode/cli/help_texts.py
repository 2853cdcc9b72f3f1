"""Help of commands: it shows names or choices of values, not types."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

_NAMES = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "datetime": "TIME", "path": "PATH", "%Y-%m-%d": "DATE"}


class PlainGroup(TyperGroup):
    """Lists commands under the heading of their `rich_help_panel`, each with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - of a module private to typer
        found: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.commands[name]
            panel = command.rich_help_panel
            heading = panel if isinstance(panel, str) else "Commands"
            found.setdefault(heading, []).append((name, first_sentence(command.help or "")))
        width = max(map(len, self.commands))
        for heading, rows in found.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, on one line."""
    head, stop, _ = " ".join(text.split("\n\n")[0].split()).partition(". ")
    return head + stop.rstrip()


class PlainCommand(TyperCommand):
    """A command with plain help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Raises a usage error for a second value of an option that takes one: Typer would keep the last."""
        _, _, named = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(named).items():
            if times > 1 and parameter.param_type_name == "option" and not parameter.multiple:
                names = " / ".join(parameter.opts)
                raise BadParameter("it is given several times, and may be given once", ctx=ctx, param_hint=names)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - of a module private to typer
        return [usage_piece(piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        for heading, records in self.sections(ctx).items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:  # noqa: ANN401
        """Each heading with what stands below it, arguments first."""
        found: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.shown(ctx):
            if record := parameter.get_help_record(ctx):
                found.setdefault(self.heading_of(ctx, parameter), []).append(_plain(parameter, record))
        return dict(sorted(found.items(), key=lambda each: each[0] != "Arguments"))

    def shown(self, ctx: Any) -> list[Any]:  # noqa: ANN401
        return self.get_params(ctx)

    def heading_of(self, ctx: Any, parameter: Any) -> str:  # noqa: ANN401
        return "Arguments" if parameter.param_type_name == "argument" else "Options"


def usage_piece(piece: str) -> str:
    """`{JOB...}...` is `JOB...`, and `[NAME...]...` is `[NAME...]`."""
    if piece.startswith("{") and (end := piece.rfind("}")) > 0 and piece[end + 1 :] in {"", "..."}:
        piece = piece[1:end] + piece[end + 1 :]
    return piece.removesuffix("...") if piece.endswith(("......", "...]...")) else piece


def value_name(shown: str) -> str:
    """Its choices, or a word in capitals: of `<list[a|b]>` it is `a|b`, of `<int range>` NUMBER."""
    if not (shown.startswith("<") and shown.endswith(">")):
        return shown
    inner = shown[1:-1].removesuffix(" range")
    if inner.startswith("list[") and inner.endswith("]"):
        inner = inner.removeprefix("list[").removesuffix("]")
    return _NAMES.get(inner, inner)


def _plain(parameter: Any, record: tuple[str, str]) -> tuple[str, str]:  # noqa: ANN401
    name, text = record
    head, space, kind = name.rpartition(" <")
    if not space:
        return record
    value = value_name(f"<{kind}")
    is_named = parameter.param_type_name == "argument" and "|" not in value
    return (head if is_named else f"{head} {value}"), text
