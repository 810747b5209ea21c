"""What ledger.py promises."""

import unittest

from ledger import balance, format_amount, parse_amount


class ParseAmount(unittest.TestCase):
    def test_units_and_cents(self):
        self.assertEqual(parse_amount("12.34"), 1234)

    def test_one_decimal_is_tens_of_cents(self):
        self.assertEqual(parse_amount("1.5"), 150)

    def test_the_sign_is_that_of_the_cents_too(self):
        self.assertEqual(parse_amount("-1.25"), -125)


class FormatAmount(unittest.TestCase):
    def test_thousands(self):
        self.assertEqual(format_amount(123450), "1,234.50")

    def test_less_than_nothing(self):
        self.assertEqual(format_amount(-125), "-1.25")


class Balance(unittest.TestCase):
    def test_lines_of_blanks_do_not_count(self):
        self.assertEqual(balance(["# May", "wages 1,000.00", "  ", "rent -400.10"]), "599.90")


if __name__ == "__main__":
    unittest.main()
