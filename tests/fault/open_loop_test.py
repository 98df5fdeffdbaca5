#!/usr/bin/env python3
"""The open-loop client against answers that are written down, and its arithmetic against sums by hand."""
import contextlib
import socketserver
import threading
import unittest

import open_loop
from open_loop import Load, Stream

SERVED = b'{"ConsumedCapacity":{"TableName":"t","CapacityUnits":2.5}}'
REFUSED = (b'{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",'
           b'"ThrottlingReasons":[{"reason":"TableWriteProvisionedThroughputExceeded"}]}')
ANSWERS = {  # by table: status, more header lines, body
    "served": (b"200 OK", b"", SERVED),
    "member": (b"400 Bad Request", b"x-weir-throttled-by: member\r\n", REFUSED),
    "reason": (b"400 Bad Request", b"", REFUSED),
    "broken": (b"500 Internal Server Error", b"", b'{"__type":"x#InternalServerError"}'),
    "wrong": (b"400 Bad Request", b"", b'{"__type":"x#ValidationException"}'),
    "closing": (b"200 OK", b"Connection: close\r\n", SERVED),
    "pieces": (b"200 OK", b"", SERVED),
}


class Answering(socketserver.StreamRequestHandler):
    """One connection: each request is answered by the table that it names."""

    def handle(self):
        with contextlib.suppress(ConnectionError):
            while self.answer():
                pass

    def answer(self):
        length = 0
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = self.rfile.read(length)
        if line == b"":
            return False
        table = open_loop.between(body, b'"TableName":"', b'"').decode()
        if table == "lost":
            return False
        if table == "silent":
            self.rfile.read()  # until the client gives up
            return False
        status, lines, text = ANSWERS[table]
        whole = b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, lines, len(text), text)
        for piece in [whole[i:i + 7] for i in range(0, len(whole), 7)] if table == "pieces" else [whole]:
            self.wfile.write(piece)
            self.wfile.flush()
        return b"close" not in lines


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 256


@contextlib.contextmanager
def answering():
    with Server(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def ask(streams, duration_s=1, **members):
    with answering() as port:
        load = Load([port], streams, duration_s, **members)
        try:
            return load.record()
        finally:
            load.stop()


class Sending(unittest.TestCase):
    def test_every_due_request_leaves_one_row_with_its_outcome(self):
        """LOOP-1."""
        tables = [*ANSWERS, "lost"]
        record = ask([Stream(table=table, rate=40, name=table) for table in tables], processes=2)
        expected = {"served": {"served": 40}, "member": {"refused": 40}, "reason": {"refused": 40},
                    "broken": {"failed": 40}, "wrong": {"failed": 40}, "closing": {"served": 40},
                    "pieces": {"served": 40}, "lost": {"failed": 40}}
        for table in tables:
            found = record.summary([table])
            self.assertEqual({k: found[k] for k in ("served", "refused", "failed") if found[k]},
                             expected[table], table)
            self.assertEqual(found["asked"], 40)
        self.assertEqual(record.summary(["served"])["units"], 100)
        self.assertEqual(record.summary(["member"])["reasons"], {"member": 40})
        self.assertEqual(record.summary(["reason"])["reasons"],
                         {"TableWriteProvisionedThroughputExceeded": 40})
        self.assertEqual(record.summary(["broken"])["failures"], {"500 InternalServerError": 40})
        self.assertEqual(record.summary(["lost"])["failures"], {open_loop.LOST: 40})

    def test_what_finds_no_connection_is_counted_as_not_sent(self):
        record = ask([Stream(table="silent", rate=50)], connections=5, give_up_s=0.2, drain_s=0.5)
        self.assertEqual(record.summary()["failures"],
                         {open_loop.UNANSWERED: 5, open_loop.NOT_SENT: 45})
        self.assertEqual(record.late(3600), 45)  # what is never sent is late, whatever the bound

    def test_a_request_that_no_socket_takes_at_once_is_sent_whole(self):
        record = ask([Stream(table="served", rate=5, size=8_000_000)])
        self.assertEqual(record.summary()["served"], 5)

    def test_nobody_listens(self):
        with answering() as port:
            pass
        load = Load([port], [Stream(table="t", rate=20)], 1)
        self.assertEqual(load.record().summary()["failures"], {open_loop.LOST: 20})
        load.stop()


class Schedules(unittest.TestCase):
    def test_a_constant_rate_is_exact(self):
        due = list(open_loop.arrivals(Stream("t", rate=4, begin=1), 2))
        self.assertEqual(due, [1.125, 1.375, 1.625, 1.875])

    def test_a_ramp_has_the_area_below_its_line(self):
        due = list(open_loop.arrivals(Stream("t", rate=[[0, 10, 0, 100], [10, 12, 100]]), 12))
        self.assertEqual(len([t for t in due if t < 10]), 500)
        self.assertEqual(len([t for t in due if t < 5]), 125)
        self.assertEqual(len(due), 700)

    def test_a_poisson_process_has_its_rate(self):
        due = list(open_loop.arrivals(Stream("t", rate=1000, arrival="poisson"), 100))
        self.assertLess(abs(len(due) - 100_000), 5 * 100_000 ** 0.5)

    def test_parts_of_a_schedule_are_the_whole(self):
        streams = [Stream("a", rate=7), Stream("b", rate=11)]
        whole = list(open_loop.schedule(streams, 3, 1, 0, 1))
        parts = [list(open_loop.schedule(streams, 3, 1, part, 3)) for part in range(3)]
        self.assertEqual(sorted(sum(parts, [])), whole)
        self.assertEqual(len(whole), 54)

    def test_zipf_draws_the_first_key_as_often_as_it_should(self):
        choose = open_loop.chooser(Stream("t", key="zipf", keys=100, theta=0.99), 1)
        drawn = [choose() for _ in range(20_000)]
        share = 1 / sum((n + 1) ** -0.99 for n in range(100))
        self.assertLess(abs(drawn.count(0) - 20_000 * share), 5 * (20_000 * share) ** 0.5)
        self.assertTrue(all(0 <= n < 100 for n in drawn))

    def test_an_item_has_the_size_that_was_asked_for(self):
        body = open_loop.request_bytes(Stream("t", size=1025), 7).split(b"\r\n\r\n", 1)[1]
        item = open_loop.json.loads(body)["Item"]
        self.assertEqual(sum(len(name) + len(value["S"]) for name, value in item.items()), 1025)


class Arithmetic(unittest.TestCase):
    def test_the_fullest_window_is_half_open(self):
        served = [(0.0, 1), (0.5, 2), (1.0, 4), (1.5, 8)]
        self.assertEqual(open_loop.most_in_window(served, 1.0), 12)
        self.assertEqual(open_loop.most_in_window(served, 0.5), 8)
        self.assertEqual(open_loop.most_in_window(served, 10), 15)
        self.assertAlmostEqual(open_loop.over_admission(served, 1.0, rate=5, bank=4), 0.6)
        self.assertEqual(open_loop.over_admission(served, 1.0, rate=14), 0)

    def test_a_refusal_is_false_if_an_ideal_bucket_had_the_tokens(self):
        refused = open_loop.THROTTLED + "table"
        rows = [(0.0, open_loop.SERVED, 1, 0, 0), (0.0, open_loop.SERVED, 1, 0, 0),
                (0.0, refused, 0, 0, 0),  # the bucket is empty: rightly refused
                (1.0, refused, 0, 0, 0),  # one token has come in: wrongly
                (1.0, refused, 0, 0, 0)]  # and would have been spent: rightly
        self.assertEqual(open_loop.false_throttles(rows, rate=1, bank=2), (1, 3))

    def test_what_a_bucket_held_is_what_was_served_beyond_its_rate(self):
        refused = open_loop.THROTTLED + "allocation"
        rows = [(1.0 + n / 4, open_loop.SERVED, 1, 0, 0) for n in range(8)] + [
            (3.0, refused, 0, 0, 0), (3.5, open_loop.SERVED, 1, 0, 0)]
        self.assertEqual(open_loop.beyond_rate(rows, rate=2), 4)
        self.assertIsNone(open_loop.beyond_rate(rows[:8], rate=2))

    def test_percentiles_are_values_that_occurred(self):
        values = list(range(1, 101))
        self.assertEqual([open_loop.percentile(values, p) for p in (50, 99, 99.9)], [50, 99, 100])
        self.assertEqual(open_loop.percentile([], 50), 0)

    def test_jain(self):
        self.assertEqual(open_loop.jain([3, 3, 3]), 1)
        self.assertAlmostEqual(open_loop.jain([1, 0, 0, 0]), 0.25)


if __name__ == "__main__":
    unittest.main()
