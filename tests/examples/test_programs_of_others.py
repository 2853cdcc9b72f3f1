"""Requests as the programs of others make them with our examples: each is taken from its file, and sent to a system."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import jinja2
import pytest
import yaml

from rhapsode.stack.stack import Stack
from tests.examples.conftest import EXAMPLES, SERVER, Receiver

PATIENCE_S = 120


def at(stack: Stack, address: str) -> str:
    assert address.startswith((SERVER, stack.url)), address
    return address.replace(SERVER, stack.url)


def is_mp3(sound: bytes) -> bool:
    return sound.startswith(b"ID3") or (sound[0] == 0xFF and sound[1] & 0xE0 == 0xE0)


def filled(template: str, values: dict[str, Any]) -> str:
    """What n8n makes of a parameter: behind `=`, what stands in braces is looked up."""
    if not template.startswith("="):
        return template

    def value(expression: re.Match[str]) -> str:
        found: Any = values
        for name in expression[1].strip().split("."):
            found = found[name]
        return str(found)

    return re.sub(r"\{\{(.*?)\}\}", value, template[1:])


def test_n8n_waits_for_the_webhook_and_fetches_the_file(stack: Stack, receiver: Receiver) -> None:
    workflow = json.loads((EXAMPLES / "n8n-narrate.json").read_text())
    nodes = {node["name"]: node for node in workflow["nodes"]}
    way = ["Start"]
    while way[-1] in workflow["connections"]:
        ((next_one,),) = workflow["connections"][way[-1]]["main"]
        way.append(next_one["node"])
    assert way == list(nodes)

    hand_in, wait, fetch = (nodes[name]["parameters"] for name in way[1:])
    body = json.loads(filled(hand_in["jsonBody"], {"$execution": {"resumeUrl": receiver.url}}))
    accepted = httpx.request(hand_in["method"], at(stack, hand_in["url"]), json=body)
    assert accepted.status_code == 202, accepted.text
    assert (wait["resume"], wait["httpMethod"]) == ("webhook", "POST")

    told = receiver.told.get(timeout=PATIENCE_S)
    assert (told["type"], told["data"]["job"]["id"]) == ("job.succeeded", accepted.json()["id"])
    file = httpx.request(fetch["method"], filled(fetch["url"], {"$json": {"body": told}}), follow_redirects=True)
    assert file.status_code == 200
    assert is_mp3(file.content)


def test_open_webui_reads_aloud(stack: Stack) -> None:
    lines = (EXAMPLES / "open-webui.env").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert settings["AUDIO_TTS_ENGINE"] == "openai"

    spoken = httpx.post(
        f"{at(stack, settings['AUDIO_TTS_OPENAI_API_BASE_URL'])}/audio/speech",
        json={
            "input": "This is an answer.",
            "voice": settings["AUDIO_TTS_VOICE"],
            "model": settings["AUDIO_TTS_MODEL"],
        },
        headers={"Authorization": f"Bearer {settings['AUDIO_TTS_OPENAI_API_KEY']}", "X-OpenWebUI-User-Name": "Ada"},
        timeout=PATIENCE_S,
    )

    assert (spoken.status_code, spoken.headers["content-type"]) == (200, "audio/mpeg")
    assert is_mp3(spoken.content)


@pytest.mark.parametrize("key", ["", "a-key"])
def test_sillytavern_has_its_characters_speak(stack: Stack, key: str) -> None:
    settings = json.loads((EXAMPLES / "sillytavern-tts.json").read_text())
    provider = settings[settings["currentProvider"]]

    for voice in provider["available_voices"]:
        spoken = httpx.post(
            at(stack, provider["provider_endpoint"]),
            json={
                "input": f"I am {voice}.",
                "response_format": "mp3",
                "voice": voice,
                "speed": provider["speed"],
                "model": provider["model"],
            },
            # `fetch` takes the space at the end away.
            headers={"Authorization": f"Bearer {key}".strip()},
            timeout=PATIENCE_S,
        )
        assert spoken.status_code == 200, spoken.text
        assert is_mp3(spoken.content)


def test_home_assistants_integration_gets_a_wav_in_parts_or_whole(stack: Stack) -> None:
    spoken = httpx.post(
        f"{stack.url}/v1/audio/speech",
        json={"model": "tts-1", "input": "The door is open.", "voice": "alloy", "response_format": "wav", "speed": 1},
        timeout=PATIENCE_S,
    )

    assert (spoken.status_code, spoken.content[:4]) == (200, b"RIFF")


def test_home_assistant_plays_what_was_narrated(stack: Stack, receiver: Receiver) -> None:
    configuration = yaml.safe_load((EXAMPLES / "home-assistant.yaml").read_text())
    templates = jinja2.Environment(autoescape=False)
    templates.filters["to_json"] = json.dumps
    commands = configuration["rest_command"]

    narrate = commands["rhapsode_narrate"]
    said = {"text": 'He said "three".\nThen he went.', "hook": receiver.url}
    payload = templates.from_string(narrate["payload"]).render(said)
    kind = {"Content-Type": narrate["content_type"]}
    accepted = httpx.request(narrate["method"], at(stack, narrate["url"]), content=payload, headers=kind)
    assert accepted.status_code == 202, accepted.text

    trigger = {"json": receiver.told.get(timeout=PATIENCE_S)}
    (automation,) = configuration["automation"]
    (condition,) = automation["conditions"]
    assert templates.from_string(condition).render(trigger=trigger) == "True"
    ask, play = automation["actions"]
    address = templates.from_string(ask["data"]["address"]).render(trigger=trigger)
    command = commands[ask["action"].removeprefix("rest_command.")]
    job = httpx.request(command["method"], templates.from_string(command["url"]).render(address=address))
    answer = {ask["response_variable"]: {"content": job.json()}}
    link = templates.from_string(play["data"]["media_content_id"]).render(answer)
    assert is_mp3(httpx.get(link).content)
