"""Speak the answer of a language model while the model still writes it.

    OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=none LLM=llama3.2 \\
        python examples/llm_stream.py "Why is the sky blue?" answer.wav

Needs `pip install openai`. To play it at once, write `-` instead of a file and add `| ffplay -f s16le -ar 24000 -`.
`RHAPSODE_SERVER_URL` and `RHAPSODE_API_KEY` choose the server that speaks.
"""

from __future__ import annotations

import asyncio
import os
import sys
import wave
from collections.abc import AsyncIterator

from openai import AsyncOpenAI

from rhapsode import AsyncRhapsode

SERVER = os.environ.get("RHAPSODE_SERVER_URL", "http://127.0.0.1:8765")


async def answer(question: str) -> AsyncIterator[str]:
    """The tokens of the model's answer. Replace this with your own model or framework."""
    async with AsyncOpenAI() as model:
        parts = await model.chat.completions.create(
            model=os.environ["LLM"], messages=[{"role": "user", "content": question}], stream=True
        )
        async for part in parts:
            if part.choices and (token := part.choices[0].delta.content):
                yield token


async def speak(tokens: AsyncIterator[str], path: str) -> None:
    """Write speech as it arrives: a WAV file, or samples (16-bit little-endian, mono) to standard output for `-`."""
    key = os.environ.get("RHAPSODE_API_KEY")
    async with AsyncRhapsode(SERVER, api_key=key) as client, client.stream_speech(tokens, voice="alloy") as speech:
        if path == "-":
            async for chunk in speech:
                sys.stdout.buffer.write(chunk.pcm)
                sys.stdout.flush()
            return
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            async for chunk in speech:
                if not file.tell():
                    file.setframerate(chunk.sample_rate_hz)
                file.writeframes(chunk.pcm)


if __name__ == "__main__":
    asyncio.run(speak(answer(sys.argv[1]), sys.argv[2]))
