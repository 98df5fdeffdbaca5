#!/usr/bin/env python3
"""A proxy before a language model: weir limits the requests and the tokens of each user (header X-User).

    python3 limiter_proxy.py --listen 8080 --weir 127.0.0.1:8000 --model 127.0.0.1:8090

Before a call it takes one request (rpm) and an estimate of the tokens (tpm). After the call it corrects the estimate by
the tokens that the model tells. If the model fails, it gives both back.
"""
import argparse
import asyncio
import json
import uuid


async def read_message(reader):
    """The words of the first line, the header lines, and the body, of a request or an answer."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return first.split(" ", 2), headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def post(address, path, body, key=""):
    """One request over a connection of its own; (status, header lines, body)."""
    reader, writer = await asyncio.open_connection(*address.split(":"))
    try:
        writer.write(f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n"
                     f"Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        words, headers, answer = await asyncio.wait_for(read_message(reader), 60)
        return int(words[1]), headers, answer
    finally:
        writer.close()


async def limiter(options, operation, request):
    """Asks weir; again if the answer was lost, which counts once: the key, or the lease, is the same."""
    key, body = uuid.uuid4().hex, json.dumps(request).encode()
    for attempt in (1, 2):
        try:
            return await post(options.weir, "/limiter/v1/" + operation, body, key)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            if attempt == 2:
                raise
            await asyncio.sleep(0.05)


async def call_model(options, user, path, body):
    """(status, header lines, body) for the user."""
    estimate = len(body) // 4 + json.loads(body).get("max_tokens", 256)
    status, headers, answer = await limiter(options, "acquire", {
        "entity": user, "resource": "model", "consume": {"rpm": 1, "tpm": estimate}, "lease_ms": 120000})
    if status != 200:
        return status, {"Retry-After": headers["retry-after"]} if "retry-after" in headers else {}, answer
    lease = json.loads(answer).get("lease")  # none if weir lets requests pass while its store is away
    used = None
    try:
        status, _, answer = await post(options.model, path, body)
        used = json.loads(answer)["usage"]["total_tokens"] if status == 200 else None
    except (OSError, ValueError, KeyError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
        status, answer = 502, json.dumps({"error": f"the model: {error!r}"}).encode()
    if lease and used is None:
        await limiter(options, "rollback", {"lease": lease})
    elif lease:  # after this the lease needs no commit: it expires, and what it took stays taken
        await limiter(options, "adjust", {"lease": lease, "adjust": {"tpm": used - estimate}})
    return status, {}, answer


async def serve(reader, writer, options):
    try:
        (_, path, _), headers, body = await read_message(reader)
        try:
            status, more, answer = await call_model(options, headers.get("x-user", "anonymous"), path, body)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            status, more, answer = 503, {}, json.dumps({"error": f"the limiter: {error!r}"}).encode()
        except (ValueError, AttributeError, TypeError) as error:
            status, more, answer = 400, {}, json.dumps({"error": f"the request: {error!r}"}).encode()
        lines = {"Content-Type": "application/json", "Content-Length": len(answer), "Connection": "close", **more}
        writer.write((f"HTTP/1.1 {status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())).encode() + b"\r\n" + answer)
        await writer.drain()
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # the client is gone, or sends no HTTP
    writer.close()


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=int, default=8080, help="a port of 127.0.0.1")
    parser.add_argument("--weir", default="127.0.0.1:8000", help="a router")
    parser.add_argument("--model", default="127.0.0.1:8090")
    options = parser.parse_args()
    server = await asyncio.start_server(lambda r, w: serve(r, w, options), "127.0.0.1", options.listen)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
