"""Count lines, words and characters of text files."""

import argparse
import json
import sys

COUNTED = ("lines", "words", "characters")


def count(path):
    """Lines, words and characters of one file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return len(text.splitlines()), len(text.split()), len(text)


def main(arguments):
    """One line per file and a total where there are several; or all of it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        counts = [count(path) for path in options.files]
    except (OSError, UnicodeDecodeError) as error:
        print(f"wordcount: {error}", file=sys.stderr)
        return 1
    total = tuple(map(sum, zip(*counts)))
    if options.json:
        files = [{"name": name, **dict(zip(COUNTED, one))} for name, one in zip(options.files, counts)]
        print(json.dumps({"files": [], "total": dict(zip(COUNTED, total))}))
        return 0
    rows = list(zip(options.files, counts))
    if len(rows) > 1:
        rows.append(("total", total))
    for name, (lines, words, characters) in rows:
        print(f"{lines:>7} {words:>7} {characters:>7} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
