"""What every route shares: the runtime, who is asking, checked input, and the note a view carries for the documentation."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, cast

from flask import Response, current_app, g, request
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from .. import strict_json
from ..errors import Forbidden, InvalidInput, NotSignedIn, RequestError
from ..services.auth import Identity
from ..services.runtime import Runtime

JSON_BODY_MAX_BYTES = 4 << 20
EXTENSION = "nanoclaw"
_reader = strict_json.decoder()
View = Callable[..., ResponseReturnValue]


@dataclass(frozen=True, slots=True)
class Operation:
    """What the documentation and the checks must know of one view.

    `returns` maps a status to a model of the JSON, to a media type or several, or to None for an empty answer.
    """

    summary: str
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    raw_body: str | None = None
    returns: Mapping[int, type[BaseModel] | str | tuple[str, ...] | None] = field(default_factory=dict)
    errors: tuple[int, ...] = ()
    public: bool = False
    admin: bool = False


def operation(summary: str, **facts: Any) -> Callable[[View], View]:
    """Check query and body of a view, hand them over as `query` and `body`, and document it.

    Takes the fields of Operation. Views are for the signed-in unless `public`, for admins if `admin`.
    """
    spec = Operation(summary, **facts)

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(**kwargs: Any) -> ResponseReturnValue:
            if spec.query is not None:
                kwargs["query"] = checked_model(spec.query, request.args.to_dict())
            if spec.body is not None:
                kwargs["body"] = checked_model(spec.body, json_body())
            return view(**kwargs)

        checked.operation = spec  # type: ignore[attr-defined]
        return checked

    return decorate


def operation_of(endpoint: str | None) -> Operation | None:
    """The note of the view behind an endpoint, if it carries one."""
    view = current_app.view_functions.get(endpoint or "")
    return getattr(view, "operation", None)


# ---------------------------------------------------------------- who and what
def runtime() -> Runtime:
    """The parts of this instance."""
    return cast(Runtime, current_app.extensions[EXTENSION])


def identity() -> Identity:
    """Who is asking. Raises NotSignedIn."""
    found: Identity | None = g.get("identity")
    if found is None:
        raise NotSignedIn("Sign in first.", suggestion="Run `python3 run.py link` and open the link it prints.")
    return found


def user_id() -> str:
    """The id of who is asking. Raises NotSignedIn."""
    return identity().user_id


def require_admin() -> None:
    """Raises NotSignedIn or Forbidden."""
    if not identity().is_admin:
        raise Forbidden("Only an administrator may do this.")


# ---------------------------------------------------------------- input
def checked_model(model: type[BaseModel], values: Any) -> BaseModel:
    """`values` as the model. Raises InvalidInput with the messages of each field."""
    try:
        return model.model_validate(values)
    except ValidationError as e:
        errors: dict[str, list[str]] = {}
        for problem in e.errors(include_url=False, include_context=False, include_input=False):
            errors.setdefault(".".join(map(str, problem["loc"])) or "body", []).append(problem["msg"])
        field, texts = next(iter(errors.items()))
        raise InvalidInput(f"Some fields are not right. {field}: {texts[0]}.", errors) from e


def json_body() -> Any:
    """The body as JSON; an empty one counts as {}. Raises RequestError for malformed JSON, 415 for another type."""
    request.max_content_length = JSON_BODY_MAX_BYTES
    raw = request.get_data(cache=False)
    if len(raw) >= JSON_BODY_MAX_BYTES:  # without a length it was cut there, and what follows was not read
        raise RequestEntityTooLarge
    if not raw.strip():
        return {}
    if not request.is_json:
        raise UnsupportedMediaType("Send JSON with Content-Type: application/json.")
    try:
        text = raw.decode()
        value = _reader.decode(text)
        strict_json.check_depth(text, value)
        if b"\\u" in raw:
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair cannot be stored
    except (ValueError, RecursionError) as e:
        raise RequestError("The body is not valid JSON.") from e
    return value


# ---------------------------------------------------------------- output
def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text.encode("utf-8", "replace"), status, headers, mimetype="application/json")


def nothing() -> Response:
    """204."""
    return Response(status=204)
