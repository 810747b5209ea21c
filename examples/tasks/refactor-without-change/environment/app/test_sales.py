"""A few of the things that the reports say."""

import unittest

from sales import by_day, by_product, by_seller

ROWS = [
    {"day": "2026-05-01", "seller": "ann", "product": "tea", "amount": 12, "cancelled": False},
    {"day": "2026-05-02", "seller": "bob", "product": "tea", "amount": 7, "cancelled": False},
    {"day": "2026-05-02", "seller": "ann", "product": "jam", "amount": 5, "cancelled": True},
]


class Reports(unittest.TestCase):
    def test_the_latest_day_is_first(self):
        self.assertEqual(by_day(ROWS).splitlines()[2], "2026-05-02     1       7   7.0")

    def test_the_best_seller_is_first(self):
        self.assertIn("Ann", by_seller(ROWS).splitlines()[2])

    def test_the_total_counts_all(self):
        self.assertEqual(by_product(ROWS, least=100).splitlines()[-1], "total                 19")


if __name__ == "__main__":
    unittest.main()
