"""Whether the instance can serve, and how its parts stand."""

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from ..agent.types import JsonObject
from .runtime import Runtime


def readiness(runtime: Runtime) -> tuple[bool, JsonObject]:
    """(ready, details): ready means that the database answers; details are for the signed-in."""
    details = dict(runtime.readiness())
    try:
        with runtime.db.read() as session:
            session.execute(text("SELECT 1 FROM users LIMIT 1"))
    except SQLAlchemyError as fault:
        return False, {**details, "database": {**details.get("database", {}), "error": type(fault).__name__}}
    return True, details
