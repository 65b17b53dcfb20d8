"""Services that tools may ask for by name, so that no tool imports the application."""

import threading
from typing import Any

from ..errors import ToolUnavailable

_services: dict[str, Any] = {}
_lock = threading.Lock()


def register_service(name: str, service: Any) -> None:
    """Offer `service` under `name` (`llm_client`, `workspaces`, `search`, `runs`)."""
    with _lock:
        _services[name] = service


def get_service(name: str) -> Any:
    """The service of that name; ToolUnavailable if none was registered."""
    try:
        return _services[name]
    except KeyError:
        raise ToolUnavailable(f"The service {name!r} is not available here.") from None
