"""The formats of well-known vendors' API keys, to find secrets whose values are unknown.

Each pattern starts with the vendor's own prefix. Entropy is not used: in an agent's log, nearly every line looks
random.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_E = r"(?![A-Za-z0-9])"
_DIGIT = r"(?=[A-Za-z_-]{0,80}[0-9])"
_GIVEN = r"['\"\\]{0,4}[ \t]{0,8}[=:][ \t]{0,8}['\"\\]{0,4}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"

TOKEN_PREFIX, TOKEN_PATTERN = "demeanor-", "[0-9a-f]{40}"
"""The key that the gateway gives to an agent, which is worthless elsewhere."""

VENDORS: tuple[tuple[str, str, str], ...] = (
    ("demeanor-token", TOKEN_PREFIX, TOKEN_PATTERN + _E),
    ("anthropic-key", "sk-ant-", _DIGIT + r"[A-Za-z0-9_-]{16,200}"),
    ("openai-key", "sk-", _DIGIT + r"[A-Za-z0-9_-]{20,200}"),
    ("github-token", "ghp_", r"[A-Za-z0-9]{30,255}"),
    ("github-token", "gho_", r"[A-Za-z0-9]{30,255}"),
    ("github-token", "ghu_", r"[A-Za-z0-9]{30,255}"),
    ("github-token", "ghs_", r"[A-Za-z0-9]{30,255}"),
    ("github-token", "ghr_", r"[A-Za-z0-9]{30,255}"),
    ("github-token", "github_pat_", r"[A-Za-z0-9_]{22,255}"),
    ("gitlab-token", "glpat-", r"[A-Za-z0-9_.-]{20,80}"),
    ("huggingface-token", "hf_", r"[A-Za-z0-9]{30,60}" + _E),
    ("google-key", "AIza", r"[A-Za-z0-9_-]{35}" + _E),
    ("google-oauth", "ya29.", r"[A-Za-z0-9_-]{20,500}"),
    ("google-oauth", "GOCSPX-", r"[A-Za-z0-9_-]{20,80}"),
    ("aws-key-id", "AKIA", r"[A-Z2-7]{16}" + _E),
    ("aws-key-id", "ASIA", r"[A-Z2-7]{16}" + _E),
    ("aws-secret-key", "aws_secret_access_key", _GIVEN),
    ("aws-secret-key", "AWS_SECRET_ACCESS_KEY", _GIVEN),
    ("aws-secret-key", "SecretAccessKey", _GIVEN),
    ("azure-key", "AccountKey=", r"[A-Za-z0-9+/]{40,100}={0,2}"),
    ("slack-token", "xox", r"[abeoprs]-[A-Za-z0-9-]{10,250}"),
    ("slack-token", "xapp-", r"[A-Za-z0-9-]{10,250}"),
    ("slack-webhook", "hooks.slack.com/services/", r"[A-Za-z0-9/]{20,120}"),
    ("discord-webhook", "discord.com/api/webhooks/", r"\d{15,22}/[A-Za-z0-9_-]{50,100}"),
    ("stripe-key", "sk_live_", r"[A-Za-z0-9]{16,250}"),
    ("stripe-key", "sk_test_", r"[A-Za-z0-9]{16,250}"),
    ("stripe-key", "rk_live_", r"[A-Za-z0-9]{16,250}"),
    ("stripe-webhook", "whsec_", r"[A-Za-z0-9+/]{24,100}={0,2}"),
    ("jwt", "eyJ", r"[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{16,1000}"),
    (
        "private-key",
        "-----BEGIN ",
        r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----).){20,7000}(?:-----END[A-Z0-9 ]{1,50}-----)?",
    ),
    ("npm-token", "npm_", r"[A-Za-z0-9]{36}" + _E),
    ("pypi-token", "pypi-AgE", r"[A-Za-z0-9_-]{40,500}"),
    ("groq-key", "gsk_", r"[A-Za-z0-9]{40,80}"),
    ("xai-key", "xai-", r"[A-Za-z0-9]{40,120}"),
    ("perplexity-key", "pplx-", r"[A-Za-z0-9]{40,80}"),
    ("replicate-token", "r8_", r"[A-Za-z0-9]{37}" + _E),
    ("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}"),
    ("digitalocean-token", "dop_v1_", r"[0-9a-f]{64}" + _E),
    ("shopify-token", "shpat_", r"[0-9a-fA-F]{32}" + _E),
    ("linear-key", "lin_api_", r"[A-Za-z0-9]{32,64}"),
    ("notion-token", "ntn_", r"[A-Za-z0-9]{40,60}" + _E),
)
"""Name, prefix, and the pattern of the rest."""


def vendor_keys(data: bytes) -> Iterator[tuple[int, int, str]]:
    """The vendors' keys in `data`: start, end and name. Fast if no prefix occurs."""
    for name, first, begin, rest in _vendors():
        if begin in data:
            for match in _regex(first, rest).finditer(data):
                yield *match.span(), name


@cache
def _vendors() -> tuple[tuple[str, str, bytes, str], ...]:
    return tuple((name, begin, begin.encode(), rest) for name, begin, rest in VENDORS)


@cache
def _regex(begin: str, rest: str) -> re.Pattern[bytes]:
    """The prefix comes before the lookbehind, so that the regex engine searches for it at full speed.

    A key does not begin right after a letter, except after an escaped line end or a percent-encoded character.
    """
    word = re.escape(begin)
    behind = rf"(?:(?<![A-Za-z0-9_-]{word})|(?<=\\[nrt]{word})|(?<=%[0-9A-Fa-f]{{2}}{word}))"
    free = begin.startswith(("AccountKey", "Secret", "hooks", "discord", "-----"))
    return re.compile((word + ("" if free else behind) + rest).encode(), re.DOTALL)
