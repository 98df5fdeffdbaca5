#!/usr/bin/python3
"""The rate limiter's client in C (include/weir/limiter.h) against a running server, also while requests and answers
get lost, and while the service cannot be reached.

WEIR_LIMITER_CLIENT is build/asan/tests/api/api_limiter_client, WEIR_LIMITER_EXAMPLE examples/limiter.c as a program, WEIR the
program.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
import servers  # noqa: E402
from between import Between  # noqa: E402
from limiter import Limiter, limit, new_name, until  # noqa: E402

URL = os.environ["WEIR_URL"]
API = Limiter(URL)
YEAR = 31536000000  # a limit that is refilled in a year does not change during a test
SLOW_MS = 20000  # for calls that must succeed on a busy machine


class Driver:
    """The client, as a process."""

    def __init__(self, test, url=URL, namespace=API.namespace, timeout_ms=SLOW_MS, attempts=5, outage="block"):
        self.process = subprocess.Popen(
            [os.environ["WEIR_LIMITER_CLIENT"], url, namespace, str(timeout_ms), str(attempts), outage],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.end, test)

    def end(self, test):
        self.process.stdin.close()
        self.process.stdout.close()
        test.assertEqual(self.process.wait(60), 0)

    def __call__(self, *words, **amounts):
        print(*words, *(f"{name}={mtok}" for name, mtok in amounts.items()), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


class Case(unittest.TestCase):
    def setUp(self):
        self.entity, self.resource = new_name("user"), new_name("api")
        API.set_limits(limit("rpm", 10, YEAR), limit("tpm", 1000, YEAR), entity=self.entity, resource=self.resource)

    def assert_left(self, rpm, tpm):
        left = {name: int(value) for name, value in API.remaining(self.entity, self.resource).items()}
        self.assertEqual(left, {"rpm": rpm, "tpm": tpm})

    def acquire(self, driver, lease_ms=0, status="ok", **amounts):
        answer = driver("acquire", self.entity, self.resource, lease_ms, **amounts)
        self.assertEqual(answer["status"], status, answer)
        return answer

    def use(self, driver, word, status="ok", **amounts):
        answer = driver(word, **amounts)
        self.assertEqual(answer["status"], status, answer)
        return answer


class UseTest(Case):
    def test_acquire_tells_every_limit(self):
        driver = Driver(self)
        answer = self.acquire(driver, rpm=1500, tpm=300000)
        self.assertFalse(answer["lease"] or answer["uncounted"] or answer["error"])
        levels = {name: (entity, capacity, remaining // 1000) for entity, name, capacity, remaining, _ in answer["levels"]}
        self.assertEqual(levels, {"rpm": (self.entity, 10000, 8), "tpm": (self.entity, 1000000, 700)})
        answer = self.acquire(driver, 0, "refused", tpm=800000)
        self.assertEqual((answer["reason"], answer["limit"]), ("limit", "tpm"))
        self.assertTrue(0 < answer["retry_after_ms"] <= YEAR)
        self.assert_left(8, 700)

    def test_a_lease_is_used_in_every_way(self):
        driver = Driver(self)
        answer = self.acquire(driver, 60000, rpm=1000, tpm=500000)
        self.assertTrue(answer["lease"])
        self.assertGreater(answer["expires_ms"], 0)
        self.use(driver, "consume", tpm=200000)
        self.assert_left(9, 300)
        self.use(driver, "consume", "refused", tpm=400000)
        self.use(driver, "adjust", tpm=-100000)
        self.use(driver, "release", tpm=50000)
        self.assert_left(9, 450)
        self.use(driver, "commit")
        self.assert_left(9, 450)
        self.use(driver, "rollback", "lease")
        self.acquire(driver, 60000, rpm=2000, tpm=100000)
        self.use(driver, "adjust", tpm=800000)
        self.assert_left(7, -450)
        self.use(driver, "rollback")
        self.assert_left(9, 450)

    def test_what_is_wrong_is_told(self):
        driver = Driver(self)
        self.acquire(driver, 0, "invalid", other=1000)
        self.acquire(driver, 0, "invalid", rpm=11000)
        self.acquire(driver, 0, "invalid")
        answer = driver("acquire", self.entity, new_name("api"), 0, rpm=1000)
        self.assertEqual(answer["status"], "no-limits")
        self.assert_left(10, 1000)

    def test_urls(self):
        for url in ("", "http://", "https://127.0.0.1:1", "http://127.0.0.1", "http://127.0.0.1:", "http://127.0.0.1:99999",
                    "http://:80", "http://a:1/b", "http://::1:80", "http://" + "a" * 256 + ":1"):
            done = subprocess.run([os.environ["WEIR_LIMITER_CLIENT"], url, "n", "1", "1", "block"], check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True)
            self.assertEqual(done.returncode, 3, url)
        where = urllib.parse.urlsplit(URL)
        for url in (f"http://localhost:{where.port}", f"http://127.0.0.1:{where.port}/"):
            self.acquire(Driver(self, url), rpm=1000)


class LossTest(Case):
    def setUp(self):
        super().setUp()
        where = urllib.parse.urlsplit(URL)
        self.between = Between(where.hostname, where.port)
        self.addCleanup(self.between.close)

    def keys_of(self, seen):
        return [re.search(rb"Idempotency-Key: (\S+)\r\n", request).group(1) for request in seen]

    def test_one_connection_for_many_requests(self):
        driver = Driver(self, self.between.url)
        for _ in range(5):
            self.acquire(driver, rpm=1000)
        self.assertEqual((self.between.connections, self.between.requests), (1, 5))
        self.assertEqual(len(set(self.keys_of(self.between.seen))), 5)

    def test_a_connection_that_the_server_closed_costs_no_attempt(self):
        driver = Driver(self, self.between.url, attempts=1)
        for _ in range(3):
            self.between.faults.append("idle")
            self.acquire(driver, rpm=1000)
        self.assertEqual(self.between.connections, 3)
        self.assert_left(7, 1000)

    def test_a_request_counts_once_whatever_is_lost(self):
        for fault in ("lost", "half", "unsent", "busy"):
            for times in (1, 2):
                driver = Driver(self, self.between.url)
                self.between.seen.clear()
                self.between.faults[:] = [fault] * times
                answer = self.acquire(driver, 60000, rpm=1000, tpm=100000)
                self.assertTrue(answer["lease"])
                self.assertEqual(len(self.between.seen), times + 1)
                self.assertEqual(len(set(self.between.seen)), 1, "an attempt differs from the first")
                self.assert_left(9, 900)
                for word, amounts, left in (("consume", {"tpm": 50000}, 850), ("adjust", {"tpm": -25000}, 875),
                                            ("release", {"tpm": 25000}, 900), ("adjust", {"tpm": 300000}, 600)):
                    self.between.faults[:] = [fault] * times
                    self.use(driver, word, **amounts)
                    self.assert_left(9, left)
                self.between.faults[:] = [fault] * times
                self.use(driver, "rollback")
                self.assert_left(10, 1000)
                self.acquire(driver, 60000, rpm=1000)
                self.between.faults[:] = [fault] * times
                self.use(driver, "commit")
                self.assert_left(9, 1000)
                API.post("/reset", namespace=API.namespace, entity=self.entity, resource=self.resource)

    def test_a_silent_server_is_asked_again(self):
        driver = Driver(self, self.between.url, timeout_ms=6000)  # an attempt waits for half of what is left
        self.between.faults[:] = ["silent"]
        self.acquire(driver, rpm=1000)
        self.assertGreaterEqual(len(self.between.seen), 2)
        self.assertEqual(len(set(self.between.seen)), 1, "an attempt differs from the first")
        self.assert_left(9, 1000)

    def test_after_the_last_attempt_the_client_gives_up(self):
        driver = Driver(self, self.between.url, attempts=3)
        self.between.faults[:] = ["lost"] * 3
        self.acquire(driver, 0, "unavailable", rpm=1000)
        self.assertEqual(len(self.between.seen), 3)
        self.assertEqual(len(set(self.keys_of(self.between.seen))), 1)
        self.assert_left(9, 1000)


class AwayTest(Case):
    """Nobody is there, or the store is not."""

    def test_without_a_router_a_client_allows_or_blocks(self):
        port = servers.free_ports(1)[0]
        url = f"http://127.0.0.1:{port}"
        self.acquire(Driver(self, url, timeout_ms=300), 0, "unavailable", rpm=1000)
        driver = Driver(self, url, timeout_ms=300, outage="allow")
        answer = self.acquire(driver, 60000, rpm=1000)
        self.assertTrue(answer["uncounted"])
        self.assertFalse(answer["lease"])
        for word in ("consume", "adjust", "release", "commit", "rollback"):
            self.assertTrue(self.use(driver, word)["uncounted"])

    def test_an_answer_that_cannot_be_read_allows_nothing(self):
        for status, told in (("429 Too Many Requests", "refused"), ("403 Forbidden", "invalid"),
                             ("302 Found", "unavailable"), ("200 OK", "unavailable")):
            with servers.socket.create_server(("127.0.0.1", 0)) as front:
                def serve():
                    connection = front.accept()[0]
                    while b"\r\n\r\n" not in connection.recv(65536):
                        pass
                    connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\n<html>".encode())
                    connection.close()

                threading.Thread(target=serve, daemon=True).start()
                driver = Driver(self, f"http://127.0.0.1:{front.getsockname()[1]}", attempts=1, outage="allow")
                self.acquire(driver, 0, told, rpm=1000)

    def test_a_call_ends_with_its_time(self):
        with servers.socket.create_server(("127.0.0.1", 0)) as mute:  # accepts, and says nothing
            began = time.monotonic()
            driver = Driver(self, f"http://127.0.0.1:{mute.getsockname()[1]}", timeout_ms=500, attempts=3)
            self.acquire(driver, 0, "unavailable", rpm=1000)
            self.assertGreaterEqual(time.monotonic() - began, 0.4)

    def test_without_the_store_a_router_does_what_the_limits_say(self):
        with tempfile.TemporaryDirectory(prefix="weir-limiter-") as directory:
            cluster = servers.Cluster(os.environ["WEIR"], pathlib.Path(directory) / "c", 3, 1,
                                      ["--set", "request_deadline_ms=300", "--set", "limiter_deadline_ms=300",
                                       "--set", "limiter_limits_ms=50"])
            try:
                cluster.start()
                self.store_goes(cluster)
            finally:
                cluster.forget()

    def store_goes(self, cluster):
        url = cluster["router-1"].address
        api = Limiter(url)
        for resource, more in (("blocks", {}), ("allows", {"on_unavailable": "allow"})):
            until("limits are set", lambda: api.set_limits(limit("rpm", 10, YEAR), resource=resource, **more).status == 200)
            until("a bucket is there", lambda: api.acquire("ann", resource, {"rpm": 1}).status == 200)
        for node in cluster.nodes:
            cluster[node].pause()
        try:
            answers = {(resource, said): api.acquire("ann", resource, {"rpm": 1}, **({"on_unavailable": said} if said else {}))
                       for resource in ("blocks", "allows") for said in (None, "allow", "block")}
            for (resource, said), answer in answers.items():
                if (said or resource).startswith("allow"):
                    self.assertEqual((answer.status, answer.value.get("reason")), (200, "unavailable"), (resource, said, answer))
                else:
                    self.assertEqual((answer.status, answer.value["error"]["code"]), (503, "unavailable"), (resource, said, answer))
            check = {resource: api.bucket("/check", "ann", resource, rpm=1).status for resource in ("blocks", "allows")}
            self.assertEqual(check, {"blocks": 503, "allows": 204})
            for outage, status in (("block", "unavailable"), ("allow", "ok")):
                answer = Driver(self, url, api.namespace, attempts=1, outage=outage)("acquire", "ann", "blocks", 0, rpm=1000)
                self.assertEqual((answer["status"], answer["uncounted"]), (status, status == "ok"))
        finally:
            for node in cluster.nodes:
                cluster[node].resume()
        until("the store is back", lambda: api.acquire("ann", "blocks", {"rpm": 1}).status == 200)
        api.close()


class ExampleTest(unittest.TestCase):
    def test_the_example(self):
        api = Limiter(URL, "default")
        bucket = {"entity": "alice", "resource": "model"}
        api.set_limits(limit("rpm", 3, YEAR), limit("tpm", 10000, YEAR), **bucket)
        api.post("/reset", **bucket)
        done = subprocess.run([os.environ["WEIR_LIMITER_EXAMPLE"], URL], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:4], ["request 1: 400 tokens", "request 2: the model failed, and nothing is charged",
                                     "request 3: 600 tokens", "request 4: 700 tokens"])
        self.assertRegex(lines[4], r"^request 5: refused, another try may pass in \d+ ms$")
        left = {name: int(value) for name, value in api.remaining("alice", "model").items()}
        self.assertEqual(left, {"rpm": 0, "tpm": 10000 - 400 - 600 - 700})
        api.call("DELETE", "/limits", bucket)


def tearDownModule():
    API.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
