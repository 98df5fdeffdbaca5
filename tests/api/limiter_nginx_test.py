#!/usr/bin/python3
"""examples/limiter-nginx.conf: nginx asks the rate limiter before it forwards. Exit code 77: nginx is not installed."""
import http.client
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
import servers  # noqa: E402
from limiter import Limiter, limit, new_name, until  # noqa: E402

CONFIG = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/limiter-nginx.conf"
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
URL = urllib.parse.urlsplit(os.environ["WEIR_URL"])
API = Limiter(os.environ["WEIR_URL"], "default")
YEAR = 31536000000  # a limit that is refilled in a year does not change during a test


class Service(http.server.BaseHTTPRequestHandler):
    """The API behind nginx. /forbidden is 403."""

    protocol_version = "HTTP/1.1"
    seen = []

    def do_GET(self):
        self.seen.append(self.path)
        body = b"served"
        self.send_response(403 if self.path == "/forbidden" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Front:
    """nginx with the configuration, but for its ports."""

    def __init__(self, weir_port, service_port):
        self.port = servers.free_ports(1)[0]
        self.directory = tempfile.mkdtemp(prefix="weir-nginx-")
        text = CONFIG.read_text()
        for shown, port in (("8000", weir_port), ("8080", self.port), ("8090", service_port)):
            assert f"127.0.0.1:{shown}" in text
            text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{port}")
        config = pathlib.Path(self.directory) / "nginx.conf"
        config.write_text(text)
        self.process = subprocess.Popen([NGINX, "-p", self.directory, "-c", str(config)])
        until("nginx listens", lambda: listens(self.port))

    def get(self, path="/", key=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=({} if key is None else {"X-Api-Key": key}) | (headers or {}))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, body

    def end(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)


class NginxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        threading.Thread(target=cls.service.serve_forever, daemon=True).start()
        cls.front = Front(URL.port, cls.service.server_address[1])
        API.set_limits(limit("rpm", 1000, YEAR), resource="api")

    @classmethod
    def tearDownClass(cls):
        cls.front.end()
        cls.service.shutdown()
        API.call("DELETE", "/limits", {"resource": "api"})

    def key(self, capacity):
        key = new_name("k")
        API.set_limits(limit("rpm", capacity, YEAR), entity="key-" + key, resource="api")
        return key

    def test_a_request_too_many_is_answered_with_429(self):
        key = self.key(3)
        for left in (2, 1, 0):
            status, headers, body = self.front.get(key=key)
            self.assertEqual((status, body), (200, b"served"))
            self.assertEqual(headers["ratelimit-policy"], f'"rpm";q=3;w={YEAR // 1000}')
            self.assertTrue(headers["ratelimit"].startswith(f'"rpm";r={left};t='), headers)
        served = len(Service.seen)
        for _ in range(2):
            status, headers, body = self.front.get(key=key)
            self.assertEqual((status, body), (429, b'{"error":"too many requests"}\n'))
            self.assertEqual(headers["content-type"], "application/json")
            self.assertTrue(0 < int(headers["retry-after"]) <= YEAR // 1000 // 3 + 1, headers)
            self.assertTrue(headers["ratelimit"].startswith('"rpm";r=0;'), headers)
        self.assertEqual(len(Service.seen), served, "nginx forwarded what was refused")

    def test_each_key_has_a_bucket(self):
        first, second = self.key(1), self.key(1)
        self.assertEqual([self.front.get(key=k)[0] for k in (first, first, second, second)], [200, 429, 200, 429])
        self.assertEqual(self.front.get()[0], 200)  # by its address

    def test_a_key_cannot_change_the_question(self):
        before = int(API.remaining("address-127.0.0.1", "api")["rpm"])
        for key in ("a&rpm=0", "a b", "a#b", "a%26rpm=0", "k" * 65):
            self.assertEqual(self.front.get(key=key)[0], 200)
        self.assertEqual(int(API.remaining("address-127.0.0.1", "api")["rpm"]), before - 5)

    def test_the_services_own_403_stays(self):
        status, headers, body = self.front.get("/forbidden", self.key(5))
        self.assertEqual((status, body), (403, b"served"))
        self.assertNotIn("retry-after", headers)

    def test_a_page_of_another_site_may_use_the_api(self):
        page = {"Origin": "http://shop.example", "Sec-Fetch-Site": "cross-site"}
        self.assertEqual([self.front.get(key=key, headers=page)[0] for key in [self.key(1)] * 2], [200, 429])

    def test_without_the_limiter_requests_pass(self):
        front = Front(servers.free_ports(1)[0], self.service.server_address[1])
        try:
            for _ in range(3):
                status, headers, _ = front.get(key="any")
                self.assertEqual(status, 200)
                self.assertNotIn("ratelimit", headers)
        finally:
            front.end()


def tearDownModule():
    API.close()


if __name__ == "__main__":
    if not pathlib.Path(NGINX).exists():
        print("skipped: nginx is not installed (tools/setup test)")
        sys.exit(77)
    unittest.main(verbosity=2)
