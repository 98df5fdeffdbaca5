#!/usr/bin/env python3
"""What tools/cluster demo shows of events: also of those that are about a table, or about no table."""
import pathlib
import sys
import unittest

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


if __name__ == "__main__":
    unittest.main()
