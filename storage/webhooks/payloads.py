"""What a webhook says: `{type, timestamp, data}`, thin, with links to what it tells of. Pure.

Made once of the facts that the event's function noted, and kept: every attempt sends the same bytes. No text that is
spoken and no link that needs no credentials is ever in one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from rhapsode.contract.jobs.quality import SEGMENT_QUALITY
from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.webhook_events import TEST_EVENT
from storage.jobs.warnings import SEGMENT_GAP
from storage.objects.keys import DELIVERED

MAX_BODY_BYTES = 20_000
"""Standard Webhooks asks for less than 20 kB."""

MAX_DETAIL_CHARS = 500
MAX_ARTIFACTS = 32
MAX_WARNINGS = 16

Facts = Mapping[str, JsonValue]
Data = dict[str, JsonValue]

OMITTABLE = ("metadata", "warnings", "artifacts")
"""Fields of a job or a batch that are left out, in this order, should a body be too large; `omitted` names them."""


def compose(event: str, created_at_ms: int, facts: str, api_url: str) -> str:
    """The body of an event as JSON. facts: what was noted of it. api_url: how the receiver's owner reaches the API."""
    known: Facts = json.loads(facts)
    data = _data_of(event)(known, api_url)
    body = _encoded(event, created_at_ms, data)
    omitted: list[JsonValue] = []
    for name in OMITTABLE:
        job = data.get("job") or data.get("batch")
        if len(body.encode()) < MAX_BODY_BYTES or not isinstance(job, dict) or name not in job:
            break
        job[name] = {} if name == "metadata" else []
        omitted.append(name)
        job["omitted"] = omitted
        body = _encoded(event, created_at_ms, data)
    return body


def rfc3339(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _encoded(event: str, created_at_ms: int, data: Data) -> str:
    document = {"type": event, "timestamp": rfc3339(created_at_ms), "data": data}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _data_of(event: str) -> Callable[[Facts, str], Data]:
    if event.startswith("job."):
        return _job_data
    if event.startswith("batch."):
        return _batch_data
    if event.startswith("voice.cache."):
        return _cache_data
    if event.startswith("voice."):
        return _voice_data
    if event.startswith("usage."):
        return _quota_data
    return _test_data if event == TEST_EVENT else _endpoint_data


def _job_data(facts: Facts, api_url: str) -> Data:
    job = facts["job"]
    address = f"{api_url}/v1/jobs/{job}"
    total, done = _integer(facts["segments_total"]), _integer(facts["segments_done"])
    return {
        "job": {
            "id": job,
            "kind": facts["kind"],
            "state": facts["state"],
            "phase": None if JobState(facts["state"]).is_terminal else facts.get("phase"),
            # Grows with every change of the job: of two events that arrive out of order, the larger is the later.
            "version": _integer(facts["version"]),
            "created_at": _moment(facts.get("created_at_ms")),
            "started_at": _moment(facts.get("started_at_ms")),
            "finished_at": _moment(facts.get("finished_at_ms")),
            "progress": {
                "fraction": round(done / total, 4) if total else 0.0,
                "segments_total": total,
                "segments_done": done,
                "segments_failed": _integer(facts["segments_failed"]),
                "segments_flagged": _count(facts, "flagged"),
                "chars_done": _integer(facts["chars_done"]),
                "audio_s_done": _integer(facts["audio_ms_done"]) / 1000,
            },
            "artifacts": _artifacts(facts.get("artifacts")),
            "error": _error(facts.get("error")),
            "warnings": _warnings(facts.get("warnings")),
            "metadata": _parsed(facts.get("metadata"), {}),
        },
        "detail": _short(_parsed(facts.get("more"), {})),
        "links": {"self": address, "artifacts": f"{address}/artifacts"},
    }


def _batch_data(facts: Facts, api_url: str) -> Data:
    batch = facts["job"]
    counts: Data = {name: _count(facts, f"ended_{name}") for name in ("succeeded", "failed", "cancelled", "expired")}
    return {
        "batch": {
            "id": batch,
            "state": facts["state"],
            "version": _integer(facts["version"]),
            "created_at": _moment(facts.get("created_at_ms")),
            "finished_at": _moment(facts.get("finished_at_ms")),
            "counts": {"total": _count(facts, "lines"), **counts},
            "error": _error(facts.get("error")),
            "metadata": _parsed(facts.get("metadata"), {}),
        },
        "links": {"self": f"{api_url}/v1/batches/{batch}"},
    }


def _voice_data(facts: Facts, api_url: str) -> Data:
    voice = facts["voice"]
    return {"voice": {"id": voice, "name": facts.get("name")}, "links": {"self": f"{api_url}/v1/voices/{voice}"}}


def _cache_data(facts: Facts, api_url: str) -> Data:
    cache: Data = {"model": facts["model"], "mode": facts["mode"], "error": _error(facts.get("error"))}
    links: Data = {"self": f"{api_url}/v1/voices/{facts['voice']}/cache"}
    of_cache: Data = {"cache": cache, "links": links}
    return _voice_data(facts, api_url) | of_cache


def _quota_data(facts: Facts, api_url: str) -> Data:
    """As `GET /v1/quotas` names and counts them: audio in seconds."""
    name, held, limit = facts["quota"], _integer(facts["held"]), _integer(facts["limit"])
    told_at = datetime.fromtimestamp(_integer(facts["at_ms"]) / 1000, UTC)
    quota: Data = {"name": name, "held": held, "limit": limit}
    if name == "audio_ms":
        quota = {"name": "audio_s", "held": held / 1000, "limit": limit / 1000}
    return {"quota": quota | {"period": told_at.date().isoformat()}, "links": {"self": f"{api_url}/v1/quotas"}}


def _endpoint_data(facts: Facts, api_url: str) -> Data:
    address = f"{api_url}/v1/webhook-endpoints/{facts['endpoint']}"
    endpoint: Data = {"id": facts["endpoint"], "description": facts.get("description"), "reason": facts["reason"]}
    return {"webhook_endpoint": endpoint, "links": {"self": address}}


def _test_data(facts: Facts, api_url: str) -> Data:
    address = f"{api_url}/v1/webhook-endpoints/{facts['endpoint']}"
    return {"webhook_endpoint": {"id": facts["endpoint"]}, "links": {"self": address}}


def _artifacts(text: JsonValue) -> list[JsonValue]:
    """With their keys in the store where a caller chose them. Other keys are not shown."""
    shown = ("name", "type", "bytes", "sha256", "duration_s")
    found = _parsed(text, [])
    if not isinstance(found, list):
        raise TypeError(f"artifacts are {type(found).__name__}")
    return [
        {name: each.get(name) for name in shown} | {"key": _delivered(each.get("key"))}
        for each in found[:MAX_ARTIFACTS]
        if isinstance(each, dict)
    ]


def _warnings(text: JsonValue) -> list[JsonValue]:
    """Of segments that were kept with a fault or are a gap; other warnings may quote what is spoken."""
    found = _parsed(text, [])
    if not isinstance(found, list):
        raise TypeError(f"warnings are {type(found).__name__}")
    of_segments = [
        each for each in found if isinstance(each, dict) and each.get("code") in (SEGMENT_QUALITY, SEGMENT_GAP)
    ]
    return [_short(each) for each in of_segments[:MAX_WARNINGS]]


def _delivered(key: JsonValue) -> JsonValue:
    return key if isinstance(key, str) and key.startswith(DELIVERED) else None


def _error(text: JsonValue) -> JsonValue:
    return None if text is None else _short(_parsed(text, {}))


def _short(found: JsonValue) -> JsonValue:
    """With texts cut: a job's error may quote a lot of what went wrong."""
    if not isinstance(found, dict):
        return found
    return {name: value[:MAX_DETAIL_CHARS] if isinstance(value, str) else value for name, value in found.items()}


def _parsed(text: JsonValue, default: JsonValue) -> JsonValue:
    return json.loads(text) if isinstance(text, str) and text else default


def _moment(unix_ms: JsonValue) -> str | None:
    return rfc3339(_integer(unix_ms)) if unix_ms else None


def _count(facts: Facts, name: str) -> int:
    """0 where nothing was counted yet."""
    return _integer(facts.get(name) or 0)


def _integer(value: JsonValue) -> int:
    """The functions' numbers come as such, or as the text that Redis keeps."""
    if isinstance(value, int | float | str):
        return int(float(value))
    raise TypeError(f"{value!r} is no number")
