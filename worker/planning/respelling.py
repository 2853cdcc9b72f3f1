"""What a job's dictionaries and its normalisation make of a script."""

from __future__ import annotations

from storage.errors import ArtifactMissing
from storage.jobs.work_items import ClaimedItem
from storage.narration.script.script import Script, Span
from storage.narration.spec import NarrationSpec, Normalization
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.pronunciations.dictionaries import decode_rules
from worker.errors import unusable
from worker.leases.keeper import HeldLease
from worker.leases.persistence import until_available
from worker.speech.text.numbers.rules import NORMALIZERS
from worker.speech.text.respelling import Lexicon, respelt


def respell_script(script: Script, item: ClaimedItem, held: HeldLease, artifacts: ArtifactStore) -> Script:
    """The job's dictionaries in their order, then numbers and signs. Raises `PermanentItemError`."""
    spec, lease = item.narration, item.lease
    for index in range(len(spec.dictionaries)):
        key = keys.job_dictionary(lease.tenant, lease.job, index)
        data = until_available(lambda key=key: _rules(key, artifacts), held)
        script = respelt(script, _lexicon(data))
    if spec.normalization is Normalization.BASIC:
        named = {_language(span, spec) for block in script.blocks for span in block.spans}
        for language in sorted(named & NORMALIZERS.keys()):
            rules = NORMALIZERS[language]
            script = respelt(script, rules, lambda span, name=language: _language(span, spec) == name)
    return script


def _language(span: Span, spec: NarrationSpec) -> str:
    return (span.voicing.language or spec.language).casefold()


def _rules(key: str, artifacts: ArtifactStore) -> bytes:
    try:
        return artifacts.get(key)
    except ArtifactMissing as error:
        raise unusable("internal", "a pronunciation dictionary of the job is not in the store any more") from error


def _lexicon(data: bytes) -> Lexicon:
    try:
        return Lexicon(decode_rules(data))
    except ValueError as error:
        raise unusable("internal", "a pronunciation dictionary of the job is damaged") from error
