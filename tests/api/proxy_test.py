#!/usr/bin/env python3
"""weir behind nginx: a request that is hidden in another one is never executed.

Each case is a request with a CreateTable behind or inside it that only a server sees which finds
another end of the request than nginx does. nginx forwards over connections that it keeps open, which is
where a hidden request would hurt the next client. Exit code 77: nginx is not installed.
"""
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
import servers  # noqa: E402
from servers import Client, Server, until  # noqa: E402

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
IDLE_S = 2  # nginx closes what is malformed at once; what it waits for, it waits for longer
ANSWER_S = 60  # of a request that must be answered
CONFIG = """
daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log warn;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
    ignore_invalid_headers off; underscores_in_headers on;
    upstream weir {{ server 127.0.0.1:{port}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{front};
        location / {{
            proxy_pass http://weir; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_request_buffering {buffering};
        }}
    }}
}}
"""
HEAD = ("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.ListTables\r\n")


def hidden(name):
    body = ('{"TableName":"%s","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id",'
            '"KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}'
            % name)
    return ("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
            "X-Amz-Target: DynamoDB_20120810.CreateTable\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}")


def in_body(head):
    """The hidden request is the body, as nginx counts it."""
    return lambda canary: f"{HEAD}{head}Content-Length: {len(canary)}\r\n\r\n{canary}"


def in_chunk(coding, size="%x", after="\r\n", before=""):
    """The hidden request is one chunk."""
    return lambda canary: (f"{HEAD}{before}{coding}\r\n\r\n{size % len(canary)}\r\n{canary}{after}"
                           "0\r\n\r\n")


CASES = {
    "a body": in_body(""),
    "a body with an empty length before": in_body("Content-Length: \r\n"),
    "a body with another length before": in_body("Content-Length: 2\r\n"),
    "a body with a blank before the colon": in_body("Content-Length : 2\r\n"),
    "a body with a tab before the colon": in_body("Content-Length\t: 2\r\n"),
    "a body with a folded length": in_body("X: y\r\n Content-Length: 2\r\n"),
    "a body with a length behind a bare CR": in_body("X: y\rContent-Length: 2\r\n"),
    "a body with a length behind a bare LF": in_body("X: y\nContent-Length: 2\r\n"),
    "a body with _ for -": in_body("Content_Length: 2\r\n"),
    "a body and chunks": in_body("Transfer-Encoding: chunked\r\n"),
    "a body and chunks with a blank before the colon": in_body("Transfer-Encoding : chunked\r\n"),
    "a body and chunks behind a vertical tab": in_body("Transfer-Encoding: \x0bchunked\r\n"),
    "a body and an unknown coding": in_body("Transfer-Encoding: xchunked\r\n"),
    "a body and identity": in_body("Transfer-Encoding: identity\r\n"),
    "a body and chunks by another name": in_body("Transfer_Encoding: chunked\r\n"),
    "a body and an upgrade": in_body("Connection: upgrade\r\nUpgrade: h2c\r\n"),
    "a body and two hosts": in_body("Host: i\r\n"),
    "a body of a GET": lambda canary: (f"GET / HTTP/1.1\r\nHost: h\r\n"
                                       f"Content-Length: {len(canary)}\r\n\r\n{canary}"),
    "a body to be expected": in_body("Expect: 100-continue\r\n"),
    "a chunk": in_chunk("Transfer-Encoding: chunked"),
    "a chunk, size with zeros": in_chunk("Transfer-Encoding: chunked", size="0000000%x"),
    "a chunk with an extension": in_chunk("Transfer-Encoding: chunked", size="%x;a=b"),
    "a chunk with bare LF in its extension": in_chunk("Transfer-Encoding: chunked", size="%x;\n"),
    "a chunk with a blank behind its size": in_chunk("Transfer-Encoding: chunked", size="%x "),
    "a chunk without CRLF behind": in_chunk("Transfer-Encoding: chunked", after="XX"),
    "a chunk with LF behind": in_chunk("Transfer-Encoding: chunked", after="\n"),
    "a chunk, gzip first": in_chunk("Transfer-Encoding: gzip, chunked"),
    "a chunk, coding named twice": in_chunk("Transfer-Encoding: chunked",
                                            before="Transfer-Encoding: chunked\r\n"),
    "a chunk, coding folded": in_chunk("Transfer-Encoding:\r\n chunked"),
    "a chunk, coding in capitals": in_chunk("Transfer-Encoding: CHUNKED"),
    "a chunk of HTTP/1.0": lambda canary: in_chunk("Transfer-Encoding: chunked")(canary).replace(
        "HTTP/1.1", "HTTP/1.0", 1),
    "a trailer": lambda canary: f"{HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n{canary}\r\n\r\n",
    "a length of 0 in another base": lambda canary: f"{HEAD}Content-Length: 0x0\r\n\r\n{canary}",
    "a line of an empty name": in_body(": x\r\n"),
}
# Nothing is wrong with these.
LIVES = ("a body", "a chunk")


def exchange(port, text, lives=False):
    """All that is answered until the connection closes or falls silent. lives: it must be answered."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(text.encode("latin-1"))
        s.settimeout(ANSWER_S if lives else IDLE_S)
        try:
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                answer += piece
                if b"\r\n\r\n" in answer and answer.count(b"HTTP/1.1 ") >= 1:
                    s.settimeout(0.2)
        except (TimeoutError, ConnectionResetError):
            pass
    return answer.decode("latin-1")


def status_of(answer):
    return int(answer.split()[1]) if answer.startswith("HTTP/1.1 ") else 0


def tables(port):
    client = Client(port)
    found = client.call("ListTables")["TableNames"]
    client.close()
    return found


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def run(server, directory, buffering):
    front = servers.free_ports(1)[0]
    place = directory / f"nginx-{buffering}"
    place.mkdir()
    config = place / "nginx.conf"
    config.write_text(CONFIG.format(directory=place, port=server.port, front=front,
                                    buffering=buffering))
    nginx = subprocess.Popen([NGINX, "-p", str(place), "-c", str(config)],
                             stderr=subprocess.DEVNULL)
    statuses = {}
    try:
        until("nginx listens", lambda: listens(front))
        known = tables(front)
        exchange(front, hidden(f"control-{buffering}"), lives=True)  # as a request of its own it is one
        assert f"control-{buffering}" in tables(front)
        for number, (name, make) in enumerate(CASES.items()):
            canary = f"canary-{buffering}-{number}"
            answer = exchange(front, make(hidden(canary)), lives=name in LIVES)
            statuses[name] = status_of(answer)
            # The proxy let it through, and weir took the hidden request for a body that is no JSON.
            assert name not in LIVES or "SerializationException" in answer, (name, answer)
            for _ in range(3):  # whoever uses the kept connections next gets answers of its own
                found = tables(front)
                if canary in found or len(found) != len(known) + 1:
                    raise AssertionError(f"{name}: the hidden request was executed: {found}")
    finally:
        nginx.terminate()
        nginx.wait()
    return statuses


def main():
    parser = servers.parser(__doc__)
    options = parser.parse_args()
    if not pathlib.Path(NGINX).exists():
        print("skipped: nginx is not installed (tools/setup test)")
        return 77
    with servers.workplace("proxy") as path:
        directory = pathlib.Path(tempfile.mkdtemp(dir=path))
        server = Server(options.weir, ["local", "--port", 0, "--data", directory / "data"],
                        directory / "log")
        try:
            server.start()
            for buffering in ("on", "off"):
                statuses = run(server, directory, buffering)
                print(f"proxy_request_buffering {buffering}: " + ", ".join(
                    f"{name}: {status}" for name, status in statuses.items()))
            # And without a proxy in front.
            known = tables(server.port)
            for number, (name, make) in enumerate(CASES.items()):
                exchange(server.port, make(hidden(f"direct-{number}")))
                if tables(server.port) != known:
                    raise AssertionError(f"{name}: executed without a proxy")
            server.stop()
        finally:
            server.forget()
    return 0


if __name__ == "__main__":
    sys.exit(main())
