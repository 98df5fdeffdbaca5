#!/usr/bin/env python3
"""`weir load --create-table` against a server that cannot do its first call of each kind, as a busy one."""
import http.server
import json
import subprocess
import threading

import servers
from servers import check

FAILED = {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "not now"}


class Busy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = []

    def do_POST(self):
        operation = self.headers["X-Amz-Target"].split(".")[1]
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = {"Table": {"TableStatus": "ACTIVE"}} if operation == "DescribeTable" else {}
        first = operation.endswith("Table") and operation not in self.seen
        self.seen.append(operation)
        body = json.dumps(FAILED if first else answer).encode()
        self.send_response(500 if first else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def run(options, _):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run([options.weir, "load", "--url", f"http://127.0.0.1:{server.server_port}", "--create-table",
                               "--rate", "20", "--duration", "200ms", "--quiet"], capture_output=True, text=True, check=False)
        server.shutdown()
    check(done.returncode == 0, f"weir load ended with {done.returncode}: {done.stderr}")
    check(Busy.seen.count("CreateTable") == 2, f"it asked for {Busy.seen}")
    return {"calls": len(Busy.seen)}


if __name__ == "__main__":
    servers.case(__doc__, run)
