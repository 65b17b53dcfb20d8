"""The models of providers that are set up without names: what their servers list, asked now and then."""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import ModelError

ASK_TIMEOUT_SECONDS = 3.0
FRESH_SECONDS = 300.0
FAILED_SECONDS = 30.0  # a server that was down is asked again soon, but does not hold up every request
# Servers list what cannot talk beside what can; the first name becomes the default model.
_NO_CHAT = re.compile(
    r"embed|rerank|whisper|tts|audio|realtime|transcribe|speech|moderation|dall-e|image|sora|davinci|babbage", re.I
)


@dataclass(frozen=True, slots=True)
class _Known:
    names: tuple[str, ...]
    until: float  # monotonic seconds


class OfferedModels:
    """Remembers by provider what was listed. Thread-safe; no lock is held while a server is asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def names(self, provider_id: str, ask: Callable[[float], list[str]]) -> tuple[str, ...]:
        """What the server lists, models that talk only; empty if it cannot be asked. `ask` takes seconds to wait."""
        with self._lock:
            known = self._known.get(provider_id)
        if known is not None and time.monotonic() < known.until:
            return known.names
        try:
            found, fresh = ask(ASK_TIMEOUT_SECONDS), FRESH_SECONDS
        except ModelError:
            # What was listed before is a better guess than nothing.
            found, fresh = list(known.names) if known else [], FAILED_SECONDS
        names = tuple(dict.fromkeys(name for name in found if not _NO_CHAT.search(name))) or tuple(found)
        with self._lock:
            self._known[provider_id] = _Known(names, time.monotonic() + fresh)
        return names

    def forget(self, provider_ids: set[str]) -> None:
        """Ask these again at the next chance."""
        with self._lock:
            for provider_id in provider_ids:
                self._known.pop(provider_id, None)
