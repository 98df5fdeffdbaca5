#!/usr/bin/env python3
"""What tools/cluster demo shows of events: also of those that are about a table, or about no table."""
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import demo  # noqa: E402  pylint: disable=wrong-import-position


class EventsTest(unittest.TestCase):
    def lines(self, *events):
        return "\n".join(demo.event_lines(demo.Screen(), list(events)))

    def test_an_event_of_a_partition_names_it(self):
        self.assertIn("partition 7: it is hot", self.lines(
            {"time": 0, "kind": "split", "table": demo.TABLE, "partition": 7, "reason": "it is hot"}))

    def test_an_event_of_a_table_has_no_partition(self):
        self.assertIn("the table: a key is hot", self.lines(
            {"time": 0, "kind": "advice", "table": demo.TABLE, "reason": "a key is hot"}))

    def test_the_newest_event_is_shown_in_full_within_the_width(self):
        reason = "not split: 97 % of the load is for one item, pk=the-popular-one. Spread it over several keys " * 2
        lines = demo.event_lines(demo.Screen(), [{"time": 0, "kind": "split-refused", "table": demo.TABLE,
                                                  "partition": 7, "reason": reason}] * 2)
        self.assertEqual(len(lines), 1 + demo.EVENT_ROWS)
        self.assertTrue(all(len(line) <= demo.WIDTH for line in lines))
        self.assertIn("several keys", " ".join(lines[2:]))


class SplitsTest(unittest.TestCase):
    def test_splits_of_the_popular_key_are_not_the_customers(self):
        points = [f'{demo.ORDERS_KEY}="{demo.HOT_KEY}"', f'{demo.ORDERS_KEY}="{demo.CUSTOMER}", order="7"']
        events = [{"kind": kind, "reason": f"the partition is at its maximum; split at {point}"}
                  for kind in ("split", "split-refused") for point in points]
        self.assertEqual(demo.customer_splits(events), 1)


class SummaryTest(unittest.TestCase):
    def test_its_lines_fit_into_the_screen(self):
        rows = [demo.measured_line("one customer", 9999, 9999.0, 9999.0, 32, 35)]
        for line in rows + demo.why_orders(100).splitlines():
            self.assertLessEqual(len(line), demo.WIDTH, line)


class TableTest(unittest.TestCase):
    def rows(self, count, hot):
        return [{"partition": n, "table": demo.TABLE, "node": 1, "allocated": 100.0, "consumed": 10.0,
                 "throttled": {"key-range": 50.0 if n == hot else 0.0}, "moved": False} for n in range(1, count + 1)]

    def test_a_screen_of_24_rows_has_all(self):
        for count in (1, 4, demo.ROWS_MAX, demo.ROWS_MAX + 1, 40):
            lines = demo.table_lines(demo.Screen(), self.rows(count, count), "second 1")
            self.assertLess(len(lines) + 1 + demo.EVENT_ROWS, 24)
            self.assertIn("partition maximum", "\n".join(lines))
            self.assertIn(f"{100 * count:,}/s", lines[-1])

    def test_what_is_not_shown_is_summed_up(self):
        self.assertIn("32 more", "\n".join(demo.table_lines(demo.Screen(), self.rows(40, 7), "second 1")))


class PictureTest(unittest.TestCase):
    def test_it_names_what_is_refused_and_what_is_idle(self):
        rows = TableTest().rows(3, 2)
        picture = demo.hot_partition.draw(rows, "a headline", demo.WHY)
        root = xml.etree.ElementTree.fromstring(picture)
        texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("50 writes/s refused, while 270 units/s of the same table are idle", texts)
        self.assertIn("50/s refused: partition maximum", texts)
        self.assertEqual(texts.count("10/s used, 90/s idle"), 2)


class ToldTest(unittest.TestCase):
    def test_what_was_not_as_told_is_named_with_its_figure(self):
        told = demo.Told()
        told.more("splits", 0, 1)
        told.less("writes", 5, 7)
        self.assertEqual(told.not_so, ["splits: 0, expected at least 1"])


if __name__ == "__main__":
    unittest.main()
