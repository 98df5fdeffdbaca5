#!/usr/bin/env python3
"""Stands for a language model: python3 fake_model.py [PORT]

It answers with as many tokens as the member `tokens` of the request says, and fails if there is none.
"""
import http.server
import json
import sys


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tokens = request.get("tokens")
        body = json.dumps({"usage": {"total_tokens": tokens}, "text": "word " * (tokens or 0)}).encode()
        self.send_response(500 if tokens is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8090), Model)
print("ready", flush=True)
server.serve_forever()
