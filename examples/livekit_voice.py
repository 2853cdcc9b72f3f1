"""Rhapsode as the voice of a LiveKit agent: `AgentSession(..., tts=speech())`."""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false

from livekit.plugins import openai


def speech() -> openai.TTS:
    """`pcm` needs no decoder. `voice` may be a voice of yours."""
    return openai.TTS(
        base_url="http://127.0.0.1:8765/v1", api_key="none", model="tts-1", voice="alloy", response_format="pcm"
    )
