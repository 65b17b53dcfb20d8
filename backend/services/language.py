"""The language in which the server names things for a person."""

from typing import Literal

from sqlalchemy.orm import Session

from ..models import User

Language = Literal["en", "zh-CN"]
SETTING = "language"


def language_of(session: Session, user_id: str) -> Language:
    """What the web app has stored as the person's language; English when nothing is."""
    user = session.get(User, user_id)
    chosen = user.settings.get(SETTING) if user else None
    return "zh-CN" if chosen == "zh-CN" else "en"
