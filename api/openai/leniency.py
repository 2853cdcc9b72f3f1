"""What a call of OpenAI's shape says beyond what its model can do: speech is made without it, and the answer names it.

Programs send every server the same fields. `RHAPSODE_STRICT_SPEECH` refuses them, as `/v1/jobs` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from api.http.problems.problem import FieldViolation, HttpProblem, invalid
from api.services.container import ApiServices
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.output import MAX_SPEED, MIN_SPEED
from rhapsode.contract.openai import SpeechOrder

MAX_NAMED_CHARS = 500
"""What the metadata of a job takes."""

_BEYOND_A_MODEL = {"not_supported", "not_allowed"}

_FIELDS = {
    "/instructions": ("instructions",),
    "/ref_text": ("ref_text",),
    "/x_vector_only_mode": ("x_vector_only_mode",),
    "/voice": ("voice", "speaker"),
}

_SAMPLING = ("seed", *(name for name in Sampling.model_fields if name != "max_new_tokens"))

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wish:
    """order: what is spoken. ignored: the fields of the call that it has not, or not as they were."""

    order: SpeechOrder
    ignored: tuple[str, ...] = ()


def without_what_cannot_be(services: ApiServices, wish: Wish, make: Callable[[Wish], T]) -> T:
    """What `make` makes of as much of the order as it takes. Raises the `HttpProblem` of everything else."""
    if services.settings.strict_speech:
        _refuse_unknown(wish.order)
        return make(wish)
    wish = _at_a_possible_speed(wish)
    while True:
        try:
            return make(wish)
        except HttpProblem as problem:
            less = _without(wish, problem.violations)
            if less is None:
                raise
            wish = less


def _refuse_unknown(order: SpeechOrder) -> None:
    if order.model_extra:
        detail = "there is no such field"
        raise invalid([FieldViolation("unknown_field", detail, pointer=f"/{name[:200]}") for name in order.model_extra])


def naming_sampling(wish: Wish, *, has_sampling: bool) -> Wish:
    """Of a model without sampling, what is said about it is ignored. It stays in the order, as a job keeps it."""
    said = () if has_sampling else [name for name in _SAMPLING if getattr(wish.order, name) is not None]
    return Wish(wish.order, (*wish.ignored, *said))


def named(ignored: Sequence[str]) -> str:
    """As `X-Ignored` and a job's metadata have them: in ASCII."""
    return ", ".join(quote(name[:60], safe=" ()") for name in ignored)[:MAX_NAMED_CHARS]


def ignored_header(names: str) -> dict[str, str]:
    return {"X-Ignored": names} if names else {}


def _at_a_possible_speed(wish: Wish) -> Wish:
    speed = min(max(wish.order.speed, MIN_SPEED), MAX_SPEED)
    if speed == wish.order.speed:
        return wish
    said = f"speed ({speed:g} instead of {wish.order.speed:g})"
    return Wish(wish.order.model_copy(update={"speed": speed}), (*wish.ignored, said))


def _without(wish: Wish, violations: Sequence[FieldViolation]) -> Wish | None:
    """None where the fault is no field that a model may do without. Who speaks is one only beside a voice that is
    brought."""
    order, names = wish.order, list[str]()
    for each in violations:
        if each.code not in _BEYOND_A_MODEL or (each.pointer == "/voice" and not order.brings_voice):
            return None
        names += (name for name in _FIELDS.get(each.pointer or "", ()) if getattr(order, name) is not None)
    return Wish(order.model_copy(update=dict.fromkeys(names)), (*wish.ignored, *names)) if names else None
