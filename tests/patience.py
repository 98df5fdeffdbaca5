"""How long a test waits for something that must happen.

A limit by the wall clock fails when the machine is busy with other things. Here a second counts as far as whoever
wanted a processor had one (pressure stall information of Linux). Nothing waits for longer than TIMES its limit.
"""
import time

PRESSURE = "/proc/pressure/cpu"
TIMES = 10


def stalled_s():
    """Seconds since the machine's start during which something waited for a processor. 0: the kernel does not tell."""
    try:
        with open(PRESSURE) as file:
            return int(file.readline().rsplit("total=", 1)[1]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0


class Patience:
    def __init__(self, limit_s):
        self.limit_s = limit_s
        self.began, self.stalled = time.monotonic(), stalled_s()

    def is_over(self):
        passed = time.monotonic() - self.began
        return passed > TIMES * self.limit_s or passed - (stalled_s() - self.stalled) > self.limit_s


def until(condition, limit_s, poll_s=0.02):
    """Polls until the condition is true; its value. None: patience is over."""
    patience = Patience(limit_s)
    while True:
        value = condition()
        if value:
            return value
        if patience.is_over():
            return None
        time.sleep(poll_s)
