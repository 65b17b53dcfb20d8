"""The names of the models that a server offers, as its address for them answers."""

from collections.abc import Mapping

from ..cancel import CancelToken
from ..errors import ModelError
from .connection import Deadline
from .faults import error_for, read_body
from .sse import parse_json
from .transport import Exchange, Transport

MODEL_LIST_BYTES = 4 * 1024 * 1024
LIST_TIMEOUT_SECONDS = 10.0


def listed(transport: Transport, url: str, headers: Mapping[str, str], secret: str, timeout: float) -> list[str]:
    """The names behind `url`. Raises ModelError and its kinds."""
    sent = {name: value for name, value in headers.items() if name != "Content-Type"}
    opened = transport.send(Exchange(url, b"", sent, "GET"), Deadline(None, timeout), CancelToken())
    try:
        body = opened.response.read_all(MODEL_LIST_BYTES)
        if opened.response.status != 200:
            raise error_for(read_body(opened.response.status, body), opened.response.headers, secret)
        return _names(body)
    finally:
        opened.close()


def _names(body: bytes) -> list[str]:
    try:
        value = parse_json(body)
    except ValueError:
        value = None
    items = value.get("data", value.get("models")) if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise ModelError("The server's list of models cannot be read. Check the base URL.")
    names = (item.get("id") or item.get("name") if isinstance(item, dict) else item for item in items)
    return [name for name in names if isinstance(name, str) and name]
