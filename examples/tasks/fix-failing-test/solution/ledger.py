"""Amounts of money as whole cents."""

import re

_AMOUNT = re.compile(r"(-?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,2}))?")


def parse_amount(text):
    """The amount in cents: "-1,234.5" is -123450. ValueError where `text` is no amount."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no amount")
    sign, units, cents = match.groups()
    size = int(units.replace(",", "")) * 100 + int((cents or "").ljust(2, "0"))
    return -size if sign else size


def format_amount(cents):
    """Cents as text with two decimals and commas: -123450 is "-1,234.50"."""
    size = abs(cents)
    return f"{'-' if cents < 0 else ''}{size // 100:,}.{size % 100:02d}"


def balance(lines):
    """The sum of all lines such as "rent -500.00"; empty lines and those that begin with «#» do not count."""
    counted = (line for line in lines if line.strip() and not line.startswith("#"))
    return format_amount(sum(parse_amount(line.split()[-1]) for line in counted))
