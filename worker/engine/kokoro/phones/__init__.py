"""English text to Kokoro's phones: `phones_of`."""

from worker.engine.kokoro.phones.dictionary import Accent
from worker.engine.kokoro.phones.text import Phones, phones_of

__all__ = ["Accent", "Phones", "phones_of"]
