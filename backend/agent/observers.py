"""Tells observers of a run's moments; an observer that fails is logged and never disturbs the run."""

import logging
from collections.abc import Sequence
from typing import Any

from .ports import Observer

log = logging.getLogger(__name__)


class Observers:
    """Several observers as one: each hears every moment, whatever the others do."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    def __bool__(self) -> bool:
        return bool(self._observers)

    def notify(self, moment: str, data: dict[str, Any]) -> None:
        """Pass the moment on to each."""
        for observer in self._observers:
            try:
                observer.notify(moment, data)
            except Exception:
                log.exception("an observer failed at %s", moment)
