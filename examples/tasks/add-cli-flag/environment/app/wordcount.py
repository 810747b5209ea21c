"""Count lines, words and characters of text files."""

import argparse
import sys


def count(path):
    """Lines, words and characters of one file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return len(text.splitlines()), len(text.split()), len(text)


def main(arguments):
    """One line per file; a total where there are several."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        counts = [count(path) for path in options.files]
    except (OSError, UnicodeDecodeError) as error:
        print(f"wordcount: {error}", file=sys.stderr)
        return 1
    rows = list(zip(options.files, counts))
    if len(rows) > 1:
        rows.append(("total", tuple(map(sum, zip(*counts)))))
    for name, (lines, words, characters) in rows:
        print(f"{lines:>7} {words:>7} {characters:>7} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
