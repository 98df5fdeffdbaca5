#!/usr/bin/env python3
"""What tools/cluster_health.py says of routers that answer no pages."""
import contextlib
import http.server
import io
import pathlib
import socket
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import cluster_health  # noqa: E402  pylint: disable=wrong-import-position


class Refusing(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(503)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class HealthTest(unittest.TestCase):
    def report(self, port):
        with tempfile.NamedTemporaryFile("w") as daemons, contextlib.redirect_stdout(io.StringIO()) as out:
            daemons.write(f"router-1 router 1 {port} -\n")
            daemons.flush()
            with mock.patch.object(sys, "argv", ["", daemons.name, "router-1"]):
                self.assertEqual(cluster_health.main(), 1)
        return out.getvalue()

    def test_a_router_that_answers_503_is_not_said_to_give_no_answer(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            self.assertIn("! router-1 answers 503\n", self.report(server.server_port))
        finally:
            server.shutdown()
            server.server_close()

    def test_a_router_that_does_not_listen_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
        self.assertIn(f"! router-1 does not answer on port {port}: ", self.report(port))


if __name__ == "__main__":
    unittest.main()
