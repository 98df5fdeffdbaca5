#!/usr/bin/python3
"""examples/limiter_proxy.py in front of examples/fake_model.py: what a user is charged."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
import servers  # noqa: E402
from between import Between  # noqa: E402
from limiter import Limiter, limit, new_name  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
URL = urllib.parse.urlsplit(os.environ["WEIR_URL"])
API = Limiter(os.environ["WEIR_URL"], "default")
YEAR = 31536000000  # a limit that is refilled in a year does not change during a test


class Process:
    """An example that prints `ready`."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen([sys.executable, str(EXAMPLES / name), *map(str, arguments)],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class ProxyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.between = Between(URL.hostname, URL.port)
        cls.port, model = servers.free_ports(2)
        cls.model = Process("fake_model.py", model)
        cls.proxy = Process("limiter_proxy.py", "--listen", cls.port, "--weir", f"127.0.0.1:{cls.between.port}",
                            "--model", f"127.0.0.1:{model}")

    @classmethod
    def tearDownClass(cls):
        cls.proxy.end()
        cls.model.end()
        cls.between.close()

    def setUp(self):
        self.user = new_name("user")
        API.set_limits(limit("rpm", 5, YEAR), limit("tpm", 1000, YEAR), entity=self.user, resource="model")

    def ask(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", "/complete", body if isinstance(body, bytes) else json.dumps(body), {"X-User": self.user})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, text

    def assert_left(self, rpm, tpm):
        left = {name: int(value) for name, value in API.remaining(self.user, "model").items()}
        self.assertEqual(left, {"rpm": rpm, "tpm": tpm})

    def test_a_call_is_charged_what_it_used(self):
        status, _, body = self.ask({"tokens": 70, "max_tokens": 300})
        self.assertEqual((status, json.loads(body)["usage"]["total_tokens"]), (200, 70))
        self.assert_left(4, 930)
        self.ask({"tokens": 400, "max_tokens": 10})
        self.assert_left(3, 530)

    def test_a_call_that_fails_is_not_charged(self):
        self.assertEqual(self.ask({"max_tokens": 300})[0], 500)
        self.assert_left(5, 1000)

    def test_one_that_is_too_much_is_refused(self):
        self.ask({"tokens": 900})
        status, headers, body = self.ask({"tokens": 1, "max_tokens": 300})
        self.assertEqual(status, 429)
        self.assertGreater(int(headers["Retry-After"]), 0)
        self.assertEqual(json.loads(body)["limit"], "tpm")
        self.assert_left(4, 100)
        self.ask({"tokens": 1300, "max_tokens": 20})  # more than was there: debt
        self.assert_left(3, -1200)
        self.assertEqual(self.ask({"tokens": 1, "max_tokens": 1})[0], 429)

    def test_many_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            statuses = sorted(status for status, *_ in pool.map(self.ask, [{"tokens": 10, "max_tokens": 20}] * 10))
        self.assertEqual(statuses, [200] * 5 + [429] * 5)
        self.assert_left(0, 950)

    def test_answers_that_are_lost_count_once(self):
        for faults in (["lost"], ["unsent"], [None, "lost"], ["lost", None, "lost"]):
            self.between.faults[:] = faults
            before = API.remaining(self.user, "model")
            self.assertEqual(self.ask({"tokens": 70})[0], 200)
            self.assertEqual(self.between.faults, [])
            after = API.remaining(self.user, "model")
            self.assertEqual({k: round(before[k] - after[k]) for k in before}, {"rpm": 1, "tpm": 70})

    def test_wrong_requests(self):
        for body in (b"", b"{", b"[]", b'{"max_tokens":"x"}'):
            self.assertEqual(self.ask(body)[0], 400)
        self.assert_left(5, 1000)


def tearDownModule():
    API.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
