#!/usr/bin/env python3
"""The limits of waits: tests/patience.py."""
import tempfile
import unittest
from unittest import mock

import patience


class PatienceTest(unittest.TestCase):
    def setUp(self):
        self.now = 1000.0
        self.file = tempfile.NamedTemporaryFile("w+")  # pylint: disable=consider-using-with
        self.addCleanup(self.file.close)
        for name, value in (("time.monotonic", lambda: self.now), ("PRESSURE", self.file.name)):
            patched = mock.patch(f"patience.{name}", value)
            patched.start()
            self.addCleanup(patched.stop)
        self.stall(50)

    def stall(self, total_s):
        self.file.seek(0)
        self.file.truncate()
        self.file.write("some avg10=1.00 avg60=1.00 avg300=1.00 total=%d\nfull avg10=0.00 total=0\n" % (total_s * 1e6))
        self.file.flush()

    def test_a_second_counts_while_the_processors_are_free(self):
        p = patience.Patience(30)
        self.now += 30
        self.assertFalse(p.is_over())
        self.now += 1
        self.assertTrue(p.is_over())

    def test_a_second_does_not_count_while_something_waits_for_a_processor(self):
        p = patience.Patience(30)
        self.now += 80
        self.stall(50 + 55)
        self.assertFalse(p.is_over())
        self.now += 10
        self.assertTrue(p.is_over())

    def test_nothing_waits_for_ever(self):
        p = patience.Patience(30)
        self.now += 30 * patience.TIMES + 1
        self.stall(50 + 30 * patience.TIMES + 1)
        self.assertTrue(p.is_over())

    def test_without_the_kernels_word_every_second_counts(self):
        self.file.seek(0)
        self.file.truncate()
        self.file.flush()
        p = patience.Patience(30)
        self.now += 31
        self.assertTrue(p.is_over())

    def test_until_gives_the_value_or_nothing(self):
        self.assertEqual(patience.until(lambda: 7, 1), 7)
        values = iter([0, 0, 5])
        self.assertEqual(patience.until(lambda: next(values), 100, poll_s=0), 5)
        self.assertIsNone(patience.until(lambda: setattr(self, "now", self.now + 40), 100, poll_s=0))


if __name__ == "__main__":
    unittest.main()
