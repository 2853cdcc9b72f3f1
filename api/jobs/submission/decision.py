"""What a request comes to once the facts about it are known: a submission, or the problem with it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from api.acceptance.deadlines import future_ms, start_ms
from api.http.problems.problem import invalid_field
from api.jobs.submission.brought_voice import brought_voice
from api.jobs.submission.cast import Cast, choose_cast, reference_room
from api.jobs.submission.facts import Facts
from api.jobs.submission.input import stored_entries
from api.jobs.submission.languages import refuse_foreign_texts
from api.jobs.submission.resolving import resolve_language, resolve_narration
from reading.script.entries import encode_entries
from storage.jobs.submissions import Submission
from storage.narration.spec import NarrationSpec
from storage.objects.keys import input_text


@dataclass(frozen=True, slots=True)
class Decision:
    """What a request comes to; nothing of it is stored yet.

    input: what the job works on; None of a document, which is taken from its upload.
    """

    submission: Submission
    spec: NarrationSpec
    cast: Cast
    input: bytes | None


def decide(facts: Facts) -> Decision:
    """Raises a `Problem` for everything that can be refused, or the `StorageError` of a voice that is not there."""
    request, prepared = facts.request, facts.prepared
    dictionaries = tuple(str(each.version) for each in facts.dictionaries)
    brought = None
    if request.brings_voice:
        brought = brought_voice(request, facts.tenant, facts.job, facts.card, facts.recording)
    cast = choose_cast(request, facts.roles, facts.card, facts.cards, facts.voices, brought)
    card = cast.lead.card
    room = max([reference_room(chosen.own, card) for chosen in cast.voices if chosen.own], default=0)
    spec = resolve_narration(request, card, cast.lead.own, cast.members, room, prepared.source, dictionaries)
    languages = {use.name: resolve_language(use.name, card, use.pointer) for use in prepared.languages}
    if not dictionaries:
        refuse_foreign_texts(request.input, card)
    if request.not_before is not None and request.validate_only:
        raise invalid_field("/not_before", "not_supported", "a plan alone is made at once")
    deadline_ms = request.deadline and future_ms(request.deadline)
    not_before_ms = request.not_before and start_ms(request.not_before)
    if deadline_ms is not None and not_before_ms is not None and deadline_ms <= not_before_ms:
        raise invalid_field("/not_before", "out_of_range", "must be before the deadline")
    submission = Submission(
        id=facts.job,
        tenant=facts.tenant,
        spec=spec,
        priority=request.priority,
        input_key=input_text(facts.tenant, facts.job),
        input_chars=prepared.num_chars or 0,
        # A plan alone takes none of the tenant's room: nothing of it is spoken.
        estimated_audio_ms=1 if request.validate_only else prepared.audio_ms,
        retention_s=request.retention_s,
        deadline_ms=deadline_ms,
        not_before_ms=not_before_ms,
        metadata=request.metadata,
        webhook=facts.webhook,
    )
    given = None if prepared.text is None else prepared.text.encode()
    if prepared.entries:
        given = encode_entries(stored_entries(prepared, languages))
    return Decision(submission, spec, cast, given)
