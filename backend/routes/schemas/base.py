"""What all answers share: their base, pages of them, and the one shape of errors."""

from pydantic import BaseModel, ConfigDict, create_model


class Answer(BaseModel):
    """An object that a route answers with."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())


def page_of(item: type[BaseModel]) -> type[BaseModel]:
    """`{items, next_cursor}` of a kind."""
    name = f"{item.__name__}Page"
    return create_model(
        name,
        __base__=Answer,
        __doc__=f"A page of {item.__name__}.",
        items=(list[item], ...),  # type: ignore[valid-type]
        next_cursor=(str | None, ...),
    )


class Problem(Answer):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: dict[str, list[str]] | None = None
    suggestion: str | None = None
    retryable: bool | None = None
