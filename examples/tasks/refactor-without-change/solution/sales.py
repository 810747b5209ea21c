"""Reports of sales, for a day, for a seller and for a product."""


def by_day(rows):
    """What was sold on each day, the latest day first."""
    groups = _groups(rows, lambda row: row["day"])
    return _report("day", groups, sorted(groups, reverse=True))


def by_seller(rows):
    """What each seller sold, the best first; of equals the first by name."""
    groups = _groups(rows, lambda row: row["seller"].title())
    best = sorted(groups, key=lambda name: (-sum(groups[name]), name))
    return _report("seller", groups, best, nothing="nobody sold anything")


def by_product(rows, least=0):
    """What was sold of each product, by name; products below `least` are left out, but count in the total."""
    groups = _groups(rows, lambda row: row["product"])
    return _report("product", groups, [name for name in sorted(groups) if sum(groups[name]) >= least])


def _groups(rows, key):
    """The amounts that count, by key."""
    groups = {}
    for row in rows:
        if row["amount"] < 0:
            raise ValueError(f"negative amount: {row['amount']}")
        if not row["cancelled"]:
            groups.setdefault(key(row), []).append(row["amount"])
    return groups


def _report(title, groups, shown, nothing="nothing was sold"):
    """A line for each group that is shown, and the total of all."""
    lines = [f"Sales by {title}", "=" * 30]
    for key in shown:
        count, amount = len(groups[key]), sum(groups[key])
        lines.append(f"{key:<12}{count:>4}{amount:>8}{amount / count:>6.1f}")
    if not groups:
        lines.append(nothing)
    total = sum(map(sum, groups.values()))
    return "\n".join([*lines, "-" * 30, f"{'total':<12}{total:>12}"])
