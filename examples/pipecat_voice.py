"""Rhapsode as the voice of a pipecat pipeline: `Pipeline([..., llm, speech(), transport.output()])`."""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false

from pipecat.services.openai.tts import OpenAITTSService


def speech() -> OpenAITTSService:
    """pipecat takes OpenAI's voice names only. For a voice of yours, set `VALID_VOICES["anna"] = "anna"` there."""
    settings = OpenAITTSService.Settings(model="tts-1", voice="alloy")
    return OpenAITTSService(base_url="http://127.0.0.1:8765/v1", api_key="none", settings=settings)
