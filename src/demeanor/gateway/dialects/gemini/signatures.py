"""Other providers' signatures, in the form that Gemini's clients can carry.

A thought signature is bytes here, written in base64, and a client may write the same bytes back in another alphabet.
Signatures of other providers are text that must come back letter for letter, so they travel in an envelope.
"""

from __future__ import annotations

import base64
import binascii

_MARK = b"demeanor:"


def seal(token: str) -> str:
    """Another provider's signature as a thought signature."""
    return base64.b64encode(_MARK + token.encode("utf-8", "replace")).decode("ascii")


def unseal(signature: str) -> str:
    """The signature that was sealed, or the thought signature itself."""
    plain = signature.replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        return content.removeprefix(_MARK).decode("utf-8") if content.startswith(_MARK) else signature
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return signature
