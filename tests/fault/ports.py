"""Ports of servers under test: no port is given to two tests that run side by side."""
import pathlib
import random
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from patience import until  # noqa: E402

PORTS = range(10000, 32000)
BLOCK = 100  # ports
WAIT_S = 90

# A process holds a block while a socket of its own is bound to the block's first port. `free`: the others, not yet given.
free = []
giving_ports = threading.Lock()


def hold(count):
    """The first port of `count` blocks side by side that no other test holds."""
    firsts = range(PORTS.start, PORTS.stop - count * BLOCK, BLOCK)
    at = random.randrange(len(firsts))
    for first in [*firsts[at:], *firsts[:at]]:
        held = []
        try:
            for n in range(count):
                held.append(socket.socket())
                held[-1].bind(("127.0.0.1", first + n * BLOCK))
        except OSError:
            for s in held:
                s.close()
            continue
        for s in held:
            s.detach()  # open until the process ends
        return first
    return None


def wait(what, condition):
    found = until(condition, WAIT_S)
    if found is None:
        raise AssertionError(f"not within {WAIT_S} s: {what}")
    return found


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    """Ports of a block that this process holds until it ends, each given once: no other test takes one, not even while
    its server is down. They are below the range from which the kernel gives ports to outgoing connections."""
    ports = []
    with giving_ports:
        while len(ports) < count:
            if not free:
                first = wait("a block of ports is free", lambda: hold(1))
                free.extend(range(first + 1, first + BLOCK))
            port = free.pop(0)
            if is_free(port):
                ports.append(port)
    return ports


def cluster_port(offsets):
    """The first port of a cluster of tools/cluster, which takes the ports at these offsets from it."""
    def found():
        first = hold((max(offsets) + 1) // BLOCK + 1)
        return first and all(is_free(first + 1 + offset) for offset in offsets) and first + 1
    return wait("blocks of ports are free", found)
