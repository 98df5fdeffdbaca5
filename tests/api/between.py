"""A place between a client and a server, where requests and answers get lost."""
import socket
import threading

WAIT_S = 30


class Between:
    """Passes requests on, one at a time a connection. `faults` names what happens to the next ones:

    lost      the server gets the request; the connection is closed without an answer
    half      the server gets the request; the client gets half of the answer, and the end of the connection
    silent    the server gets the request; the client gets nothing, until it closes the connection
    unsent    the server gets nothing; the connection is closed
    busy      the server gets nothing; the client gets 503
    idle      the answer comes; then the connection is closed
    """

    def __init__(self, host, port):
        self.target = (host, port)
        self.faults = []
        self.connections = self.requests = 0
        self.seen = []  # requests, whole
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    @staticmethod
    def message(file):
        """A message with Content-Length; b"": the connection has ended."""
        head, length = b"", 0
        while not head.endswith(b"\r\n\r\n"):
            line = file.readline()
            if not line:
                return b""
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return head + file.read(length)

    def serve(self, client):
        with client, client.makefile("rb") as requests:
            client.settimeout(WAIT_S)
            while self.serve_one(client, requests):
                pass

    def serve_one(self, client, requests):
        """Whether the connection goes on."""
        try:
            request = self.message(requests)
            if not request:
                return False
            fault = self.faults.pop(0) if self.faults else None
            self.requests += 1
            self.seen.append(request)
            if fault == "unsent":
                return False
            if fault == "busy":
                client.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
                return True
            with socket.create_connection(self.target, WAIT_S) as server, server.makefile("rb") as answers:
                server.sendall(request)
                answer = self.message(answers)
            if fault == "half":
                client.sendall(answer[:len(answer) // 2])
            if fault == "silent":
                client.recv(1)
            if fault in ("lost", "half", "silent"):
                return False
            client.sendall(answer)
            return fault != "idle"
        except OSError:
            return False
