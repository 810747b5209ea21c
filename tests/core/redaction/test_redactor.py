"""No secret survives, in whatever shape; and nothing else changes."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, strategies as st

from demeanor.core.redaction.encodings import can_be_secret
from demeanor.core.redaction.key_patterns import VENDORS
from demeanor.core.redaction.redactor import Redactor, without_digits

SECRETS = st.text(min_size=8, max_size=60).filter(
    lambda text: len(text.strip()) >= 8 and text not in "‹redacted:secret›"
)
PLAIN = st.text(st.characters(exclude_characters="0123456789", exclude_categories=("Cs",)), max_size=80)
MARK = re.compile(r"‹redacted:[A-Za-z0-9_.-]+:[0-9a-f]{8}›")
SHAPES: dict[str, Callable[[bytes], bytes]] = {
    "raw": lambda raw: raw,
    "json": lambda raw: json.dumps(raw.decode("utf-8", "surrogatepass"))[1:-1].encode(),
    "json, not ascii": lambda raw: json.dumps(raw.decode(), ensure_ascii=False)[1:-1].encode(),
    "json in json": lambda raw: json.dumps(json.dumps(raw.decode()))[3:-3].encode(),
    "url": lambda raw: quote(raw, safe="").encode(),
    "url, slashes": lambda raw: quote(raw).encode(),
    "form": lambda raw: quote_plus(raw).encode(),
    "hex": lambda raw: raw.hex().encode(),
    "HEX": lambda raw: raw.hex().upper().encode(),
    "base64": base64.b64encode,
    "base64, url": base64.urlsafe_b64encode,
    "base64 behind one": lambda raw: base64.b64encode(b"k" + raw),
    "base64 behind two": lambda raw: base64.b64encode(b"k:" + raw + b"!"),
    "base64 in lines": lambda raw: base64.encodebytes(b"-" * 40 + raw),
    "base32": base64.b32encode,
    "base32 behind three, lower": lambda raw: base64.b32encode(b"k: " + raw + b"!").lower(),
    "every byte percent-encoded": lambda raw: b"".join(b"%%%02x" % byte for byte in raw),
    "EVERY BYTE PERCENT-ENCODED": lambda raw: b"".join(b"%%%02X" % byte for byte in raw),
    "percent-encoded twice": lambda raw: quote(quote(raw, safe=""), safe="").encode(),
    "unicode escapes": lambda raw: _utf16(raw, "\\u{:04x}"),
    "UNICODE ESCAPES, doubly": lambda raw: _utf16(raw, "\\\\u{:04X}"),
    "hex escapes": lambda raw: b"".join(b"\\x%02x" % byte for byte in raw),
    "bytes in a repr": lambda raw: repr(raw)[2:-1].encode(),
    "repr of a repr": lambda raw: repr(repr(raw.decode()))[2:-2].encode("utf-8", "backslashreplace"),
    "json four times": lambda raw: _nested(raw.decode(), 4).encode(),
    "xml": lambda raw: _xml(raw.decode()).encode(),
    "xml twice": lambda raw: _xml(_xml(raw.decode())).encode(),
    "xml, numbers": lambda raw: "".join(f"&#{ord(letter)};" for letter in raw.decode()).encode(),
    "xml, hex numbers": lambda raw: "".join(f"&#x{ord(letter):X};" for letter in raw.decode()).encode(),
    "utf-16": lambda raw: raw.decode().encode("utf-16-le"),
    "utf-16, big": lambda raw: raw.decode().encode("utf-16-be"),
    "coloured": lambda raw: _between(raw, b"\x1b[01;31m"),
    "coloured, in json": lambda raw: json.dumps(_between(raw, b"\x1b[K").decode())[1:-1].encode(),
    "with a title in it": lambda raw: _between(raw, b"\x1b]0;title\x07"),
    "with spaces without width": lambda raw: _between(raw, b"\xe2\x80\x8b"),
    "with spaces without width, in json": lambda raw: json.dumps(_between(raw, b"\xef\xbb\xbf").decode())[
        1:-1
    ].encode(),
    "octal escapes": lambda raw: b"".join(b"\\%03o" % byte for byte in raw),
    "escapes of JavaScript": lambda raw: "".join(f"\\u{{{ord(letter):x}}}" for letter in raw.decode()).encode(),
    "in two lines": lambda raw: raw[: len(raw) // 2] + b"\n  " + raw[len(raw) // 2 :],
    "in many lines": lambda raw: b"\r\n".join(raw[at : at + 3] for at in range(0, len(raw), 3)),
    "continued": lambda raw: raw[:4] + b'" \\\n    "' + raw[4:],
    "in chunks of a stream": lambda raw: b"\n".join(
        b'{"type": "delta", "text": %b}' % json.dumps(raw.decode()[at : at + 3]).encode()
        for at in range(0, len(raw.decode()), 3)
    ),
}


def _utf16(raw: bytes, form: str) -> bytes:
    units = raw.decode().encode("utf-16-be")
    return "".join(form.format(units[at] << 8 | units[at + 1]) for at in range(0, len(units), 2)).encode()


def _between(raw: bytes, hidden: bytes) -> bytes:
    """Something invisible between all characters."""
    return hidden.join(letter.encode() for letter in raw.decode())


def _nested(text: str, times: int) -> str:
    return text if not times else _nested(json.dumps(text)[1:-1], times - 1)


def _xml(text: str) -> str:
    return html.escape(text)


@given(SECRETS, PLAIN, PLAIN)
def test_what_was_kept_without_a_secret_compares_with_what_was_sent(secret: str, before: str, after: str) -> None:
    """A prompt that is read from a capture is held against the same snapshot as at first, in another command."""
    text = f"{before} {secret} {after}"
    then, now = Redactor({"MY_KEY": secret}), Redactor({"MY_KEY": secret})
    assert without_digits(now.steady.text(then.text(text))) == without_digits(then.steady.text(text))


@given(SECRETS, st.sampled_from(sorted(SHAPES)), PLAIN, PLAIN)
def test_a_secret_is_found_in_every_shape(secret: str, shape: str, before: str, after: str) -> None:
    """Wherever it stands, in whatever shape: afterwards it is not there, and its mark is."""
    shown = SHAPES[shape](secret.encode())
    text = before.encode() + b" " + shown + b" " + after.encode()
    found = Redactor({"MY_KEY": secret}).data(text)
    assert shown not in found
    assert secret.encode() not in found
    assert base64.b64encode(secret.encode())[:-4] not in found
    assert MARK.search(found.decode())


@given(st.text(st.characters(codec="ascii", exclude_characters="\\'\"", exclude_categories=("Cc", "Zs")), min_size=8))
def test_case_does_not_matter(secret: str) -> None:
    """Programs change the case of names and headers."""
    assume("redacted" not in secret.lower())
    for text in (secret.lower(), secret.upper(), secret.swapcase()):
        assert text not in Redactor({"MY_KEY": secret}).text(f"it is {text} here").replace("it is ", "", 1)


@given(st.text(max_size=200), SECRETS)
def test_text_without_secrets_is_not_changed(text: str, secret: str) -> None:
    """It comes back as the very same value."""
    redactor = Redactor({"MY_KEY": secret})
    assume(not redactor.spans(text.encode("utf-8", "surrogatepass")))
    assert redactor.text(text) is text


def test_the_same_secret_has_the_same_mark_in_any_shape_and_another_one_has_another() -> None:
    """So two places can be compared; with another key, of another run, nothing can be."""
    redactor = Redactor({"A": "correct horse battery", "B": "staple staple staple"})
    shown = redactor.text("correct horse battery, correct%20horse%20battery, staple staple staple")
    marks = MARK.findall(shown)
    assert marks[0] == marks[1] != marks[2]
    assert Redactor({"A": "correct horse battery"}).text("correct horse battery") != marks[0]
    assert redactor.steady.text("correct horse battery") == "‹redacted:A›"
    assert redactor.also({"C": "one more secret"}).text("correct horse battery") == marks[0]


EXAMPLES = {
    "demeanor-token": "demeanor-" + "0a" * 20,
    "anthropic-key": "sk-ant-api03-" + "aB3_" * 20,
    "openai-key": "sk-proj-" + "aB3_" * 20,
    "github-token": "ghp_" + "aB3d" * 9,
    "gitlab-token": "glpat-" + "aB3_" * 5,
    "huggingface-token": "hf_" + "aBcD" * 8,
    "google-key": "AIza" + "aB3_-" * 7,
    "google-oauth": "ya29." + "aB3_" * 10,
    "aws-key-id": "AKIA" + "ABCDEFGH" * 2,
    "aws-secret-key": "aws_secret_access_key = " + "aB3/" * 10,
    "azure-key": "AccountKey=" + "aB3/" * 21 + "==",
    "slack-token": "xoxb-" + "123456789012-abcDEF",
    "slack-webhook": "hooks.slack.com/services/T0000/B0000/" + "a" * 24,
    "discord-webhook": "discord.com/api/webhooks/" + "1" * 18 + "/" + "a" * 68,
    "stripe-key": "sk_live_" + "aB3d" * 6,
    "stripe-webhook": "whsec_" + "aB3d" * 8,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZ2VudCJ9." + "aB3_" * 8,
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\n" + "aB3/\n" * 30 + "-----END RSA PRIVATE KEY-----",
    "npm-token": "npm_" + "aB3d" * 9,
    "pypi-token": "pypi-AgE" + "aB3_" * 20,
    "groq-key": "gsk_" + "aB3d" * 13,
    "xai-key": "xai-" + "aB3d" * 20,
    "perplexity-key": "pplx-" + "aB3d" * 12,
    "replicate-token": "r8_" + "a" * 37,
    "sendgrid-key": "SG." + "aB3_" * 5 + "." + "aB3_" * 10,
    "digitalocean-token": "dop_v1_" + "0a" * 32,
    "shopify-token": "shpat_" + "0a" * 16,
    "linear-key": "lin_api_" + "aB3d" * 10,
    "notion-token": "ntn_" + "aB3d" * 11,
}


def test_every_vendor_has_an_example() -> None:
    """So no pattern is there that never matched."""
    assert EXAMPLES.keys() == {name for name, _, _ in VENDORS}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_keys_of_vendors_are_found_unasked(name: str) -> None:
    """In prose, in JSON behind an escaped end of line, and as the value of a variable."""
    key = EXAMPLES[name]
    for text in (f"it is {key} here", json.dumps(f"line\n{key}\nline"), f"KEY={key}", f'{{"key": "{key}"}}'):
        shown = Redactor().text(text)
        assert f"‹redacted:{name}:" in shown
        assert key[-12:] not in shown.replace("-----END RSA PRIVATE KEY-----", "")


def test_what_only_looks_a_little_like_a_key_stays() -> None:
    """Names of classes, files and tasks, hashes, ids, uuids, and public keys."""
    text = (
        "risk-averse task-force sk-loading-spinner-animation-large desk-1 AKIAmaybe eyJust AIza hf_model npm_x\n"
        "d41d8cd98f00b204e9800998ecf8427e 123e4567-e89b-12d3-a456-426614174000 xoxo-hugs -----BEGIN PUBLIC KEY-----\n"
        "ghp_short github_pat_ sk-learn SG.1 https://user@example.org/path sha256:" + "ab" * 32
    )
    assert Redactor().text(text) is text


def test_what_the_scenario_says_itself_is_spared() -> None:
    """A key that is part of the play."""
    key = EXAMPLES["github-token"]
    assert Redactor(spare=f"TOKEN={key}".encode()).text(f"it is {key}") == f"it is {key}"


@given(
    st.integers(6, 20), st.sampled_from(["{}…", "{}\n[… 77 bytes left out …]\nmore", "x\n[… 7 bytes left out …]\n{}"])
)
def test_half_a_secret_is_not_left_where_a_text_was_cut_short(size: int, frame: str) -> None:
    """Excerpts are made before anybody looks for secrets."""
    secret = "Zq7-" * 6
    half = secret[-size:] if frame.startswith("x") else secret[:size]
    assert half not in Redactor({"MY_KEY": secret}).text(frame.format(half))


@pytest.mark.parametrize("frame", ["'{}...{}'", "{}…{}", "{} ... {}", "[{}...]x{}"])
def test_a_shortened_secret_leaves_nothing_of_value(frame: str) -> None:
    """Libraries shorten values in the middle (pytest, reprlib): neither end is left, unless it is very short."""
    secret = "sk-ant-api03-9fK2mQx7Lw4ZtB8vYc1RnE5u"
    text = frame.format(secret[:14], secret[-12:])
    shown = Redactor({"MY_KEY": secret}, vendors=False).text(text)
    assert " ... " in frame or (secret[:14] not in shown)
    assert frame != "{}…{}" or secret[-12:] not in shown
    assert frame != "'{}...{}'" or secret[-12:] not in shown


def test_a_million_marks_take_linear_time() -> None:
    """Each mark costs the same, also if a remainder of the secret stands beside it."""
    secret = "Zq7-" * 6
    redactor = Redactor({"MY_KEY": secret})
    text = "Zq7-Zq7-Zq… " * 60_000 + "…" * 200_000
    assert "Zq7-Zq" not in redactor.text(text)


def test_long_data_of_every_kind_takes_linear_time() -> None:
    """Escapes, quotes, dots and white space without end."""
    redactor = Redactor({"MY_KEY": "Zq7-" * 6})
    for piece in ("%41", "\\", "\\u0041", "&#65;", "&amp;", '"text":"', "\n[…", "...", " ", '"', "sk-", "eyJ", "\0"):
        text = piece * 50_000
        assert redactor.text(text) is text


def test_a_secret_with_blanks_is_found_in_a_form() -> None:
    """There, blanks are plus signs, which no view of the data shows."""
    secret = "correct horse battery staple"
    text = f"user=me&password={quote_plus(secret)}&x=1"
    assert Redactor({"PW": secret}, digits=False).text(text) == "user=me&password=‹redacted:PW›&x=1"


@pytest.mark.parametrize("value", ["x", "k7", "a1-b2", "Brest", "localhost", "12345678", "/usr/local/bin"])
def test_short_and_common_values_are_not_secrets(value: str) -> None:
    """They would be found in ordinary text, which would be stored without them."""
    assert not can_be_secret(value)
    assert can_be_secret("k7-8f3kQ0zR71")
