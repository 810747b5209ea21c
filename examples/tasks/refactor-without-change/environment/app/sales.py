"""Reports of sales, for a day, for a seller and for a product."""


def by_day(rows):
    """What was sold on each day, the latest day first."""
    groups = {}
    for row in rows:
        if row["amount"] < 0:
            raise ValueError(f"negative amount: {row['amount']}")
        if row["cancelled"]:
            continue
        key = row["day"]
        if key not in groups:
            groups[key] = {"count": 0, "sum": 0}
        groups[key]["count"] += 1
        groups[key]["sum"] += row["amount"]
    lines = []
    lines.append("Sales by day")
    lines.append("=" * 30)
    total = 0
    for key in sorted(groups, reverse=True):
        group = groups[key]
        mean = group["sum"] / group["count"]
        lines.append(f"{key:<12}{group['count']:>4}{group['sum']:>8}{mean:>6.1f}")
        total += group["sum"]
    if not groups:
        lines.append("nothing was sold")
    lines.append("-" * 30)
    lines.append(f"{'total':<12}{total:>12}")
    return "\n".join(lines)


def by_seller(rows):
    """What each seller sold, the best first; of equals the first by name."""
    groups = {}
    for row in rows:
        if row["amount"] < 0:
            raise ValueError(f"negative amount: {row['amount']}")
        if row["cancelled"]:
            continue
        key = row["seller"].title()
        if key not in groups:
            groups[key] = {"count": 0, "sum": 0}
        groups[key]["count"] += 1
        groups[key]["sum"] += row["amount"]
    lines = []
    lines.append("Sales by seller")
    lines.append("=" * 30)
    total = 0
    for key in sorted(groups, key=lambda name: (-groups[name]["sum"], name)):
        group = groups[key]
        mean = group["sum"] / group["count"]
        lines.append(f"{key:<12}{group['count']:>4}{group['sum']:>8}{mean:>6.1f}")
        total += group["sum"]
    if not groups:
        lines.append("nobody sold anything")
    lines.append("-" * 30)
    lines.append(f"{'total':<12}{total:>12}")
    return "\n".join(lines)


def by_product(rows, least=0):
    """What was sold of each product, by name; products below `least` are left out, but count in the total."""
    groups = {}
    for row in rows:
        if row["amount"] < 0:
            raise ValueError(f"negative amount: {row['amount']}")
        if row["cancelled"]:
            continue
        key = row["product"]
        if key not in groups:
            groups[key] = {"count": 0, "sum": 0}
        groups[key]["count"] += 1
        groups[key]["sum"] += row["amount"]
    lines = []
    lines.append("Sales by product")
    lines.append("=" * 30)
    total = 0
    for key in sorted(groups):
        group = groups[key]
        mean = group["sum"] / group["count"]
        if group["sum"] >= least:
            lines.append(f"{key:<12}{group['count']:>4}{group['sum']:>8}{mean:>6.1f}")
        total += group["sum"]
    if not groups:
        lines.append("nothing was sold")
    lines.append("-" * 30)
    lines.append(f"{'total':<12}{total:>12}")
    return "\n".join(lines)
