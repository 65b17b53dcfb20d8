"""Secrets at rest: encrypted with a key that is derived from the instance's."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken


def encrypt(secret_key: str, purpose: str, text: str) -> str:
    """`text`, encrypted for one purpose."""
    return _box(secret_key, purpose).encrypt(text.encode()).decode()


def decrypt(secret_key: str, purpose: str, token: str) -> str | None:
    """What was encrypted, or None if the instance's key is another one by now."""
    try:
        return _box(secret_key, purpose).decrypt(token.encode()).decode()
    except InvalidToken:
        return None


def _box(secret_key: str, purpose: str) -> Fernet:
    digest = hashlib.sha256(f"{purpose}:{secret_key}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))
