"""Amounts of money as whole cents."""

import re

_AMOUNT = re.compile(r"(-?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,2}))?")


def parse_amount(text):
    """The amount in cents: "-1,234.5" is -123450. ValueError where `text` is no amount."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no amount")
    sign, units, cents = match.groups()
    whole = int(sign + units.replace(",", ""))
    return whole * 100 + int(cents or 0)


def format_amount(cents):
    """Cents as text with two decimals and commas: -123450 is "-1,234.50"."""
    return f"{cents // 100:,}.{cents % 100:02d}"


def balance(lines):
    """The sum of all lines such as "rent -500.00"; empty lines and those that begin with «#» do not count."""
    total = 0
    for line in lines:
        if line.startswith("#") or not line:
            continue
        total += parse_amount(line.split()[-1])
    return format_amount(total)
