"""browser.py - a page in headless Chromium, driven over its own pipes (the DevTools protocol).

Keeps what the page writes to the console, its errors, and each request that it makes."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_S = 120


def find():
    """The path of a Chromium, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def high(descriptor):
    """The same file under a number that is not 3 or 4."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return copy


class Page:
    """One page. Use it with `with`."""

    def __init__(self, width=1000, height=900):
        self.profile = tempfile.mkdtemp(prefix="weir-page.")
        ours_in, their_out = map(high, os.pipe())
        their_in, ours_out = map(high, os.pipe())
        # Chromium reads commands from its descriptor 3 and writes answers to 4.
        command = ('exec "$0" "$@" 3<&%d 4>&%d' % (their_in, their_out))
        self.process = subprocess.Popen(
            ["bash", "-c", command, find(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "--no-first-run",
             "--disable-background-networking", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(their_in, their_out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(their_in)
        os.close(their_out)
        self.input, self.output = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")
        self.rest, self.number, self.session = b"", 0, None
        self.console, self.requests, self.loaded = [], [], 0
        target = self.call("Target.createTarget", url="about:blank")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
        except (EOFError, OSError):
            pass
        self.input.close()
        self.output.close()
        self.process.wait(timeout=ANSWER_S)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b"\0" not in self.rest:
            got = os.read(self.output.fileno(), 1 << 20)
            if not got:
                raise EOFError("Chromium has ended")
            self.rest += got
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def notice(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Runtime.exceptionThrown":
            details = p["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.console.append(p["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded += 1

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.input.write(json.dumps(message).encode() + b"\0")
        self.input.flush()
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.notice(answer)

    def open(self, path):
        loaded = self.loaded
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        while self.loaded == loaded:
            self.notice(self.receive())

    def run(self, script):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def media(self, kind="screen", dark=False):
        self.call("Emulation.setEmulatedMedia", media=kind,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, path, top=0, height=None, width=1000):
        height = height or self.run("document.documentElement.scrollHeight")
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                           clip={"x": 0, "y": top, "width": width, "height": height, "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def pdf(self, path):
        answer = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
