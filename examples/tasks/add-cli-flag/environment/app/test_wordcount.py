"""What the program prints."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).with_name("wordcount.py")


def wordcount(*arguments, folder):
    return subprocess.run([sys.executable, PROGRAM, *arguments], cwd=folder, capture_output=True, text=True)


class WordCount(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "a.txt").write_text("one two\nthree\n")
        (self.folder / "b.txt").write_text("four\n")

    def test_one_file(self):
        self.assertEqual(wordcount("a.txt", folder=self.folder).stdout.split(), ["2", "3", "14", "a.txt"])

    def test_several_files_have_a_total(self):
        lines = wordcount("a.txt", "b.txt", folder=self.folder).stdout.splitlines()
        self.assertEqual(lines[-1].split(), ["3", "4", "19", "total"])

    def test_a_missing_file_ends_it(self):
        end = wordcount("none.txt", folder=self.folder)
        self.assertEqual((end.returncode, end.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
