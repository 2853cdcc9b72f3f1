"""English text to Kokoro's phones: `phones_of`."""

from worker.engine.kokoro.phones.dictionary import Accent
from worker.engine.kokoro.phones.text import guessed_words, phones_of

__all__ = ["Accent", "guessed_words", "phones_of"]
