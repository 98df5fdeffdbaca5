"""A client of the rate limiter that holds docs/limiter-api.yaml against each request and answer."""
import http.client
import pathlib
import sys
import urllib.parse
import uuid

import openapi

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import patience  # noqa: E402

PREFIX = "/limiter/v1"
DOCUMENT = openapi.Document(pathlib.Path(__file__).resolve().parent.parent.parent / "docs/limiter-api.yaml", PREFIX)
WAIT_S = 30
POLL_S = 0.02


def new_name(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def until(what, condition):
    """Polls until the condition is true; its value."""
    value = patience.until(condition, WAIT_S, POLL_S)
    if value is None:
        raise AssertionError(f"not within {WAIT_S} s: {what}")
    return value


def limit(name, capacity, period_ms=60000, amount=None, **more):
    return {"name": name, "capacity": capacity, "refill_amount": capacity if amount is None else amount,
            "refill_period_ms": period_ms, **more}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        is_json = headers.get("content-type", "").startswith("application/json")
        self.value = openapi.parse(body) if is_json and body else None

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body.decode(errors='replace')}"


class Limiter:
    """Not for several threads. `seen` gets (operationId, status) of each answer."""

    def __init__(self, url, namespace=None):
        self.host = urllib.parse.urlsplit(url)
        self.namespace = namespace or new_name("ns")
        self.connection = None
        self.seen = set()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def raw(self, method, target, body=None, headers=None):
        """An exchange that nobody judges. `body`: bytes. A connection that the server closed is opened anew."""
        for again in (True, False):
            fresh = self.connection is None
            if fresh:
                self.connection = http.client.HTTPConnection(self.host.hostname, self.host.port, timeout=WAIT_S)
            try:
                self.connection.request(method, target, body, headers or {})
                answer = self.connection.getresponse()
                found = Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
                if answer.will_close:
                    self.close()
                return found
            except (OSError, http.client.HTTPException):
                self.close()
                if fresh or not again:
                    raise
        return None

    def call(self, method, path, query=None, body=None, headers=None, wrong=False):
        """One request and its answer, both as the document has them. `wrong`: the request is not."""
        path = PREFIX + path
        query = {k: openapi.text_of(v) if not isinstance(v, str) else v for k, v in (query or {}).items()}
        headers = dict(headers or {})
        if body is not None:
            body = openapi.parse(openapi.text_of(body))
            headers.setdefault("Content-Type", "application/json")
        faults = DOCUMENT.request_faults(method, path, query, headers, body)
        if bool(faults) != wrong:
            raise AssertionError(f"{method} {path} {query} {body}: " + ("; ".join(faults) or "the document allows this"))
        target = path + ("?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote) if query else "")
        answer = self.raw(method, target, None if body is None else openapi.text_of(body).encode(), headers)
        described = DOCUMENT.answer(method, path, answer.status)
        if described is None:
            raise AssertionError(f"{method} {target}: the document has no such answer: {answer}")
        self.judge(f"{method} {target} {body}", described, answer)
        self.seen.add((DOCUMENT.operation(method, path)["operationId"], answer.status))
        return answer

    @staticmethod
    def judge(what, described, answer):
        faults = DOCUMENT.answer_faults(described, answer.headers, answer.body)
        if faults:
            raise AssertionError(f"{what}: {answer}:\n" + "\n".join(faults))

    # ---- the operations, in the namespace of this client ----

    def post(self, path, wrong=False, headers=None, **body):
        return self.call("POST", path, body=body, headers=headers, wrong=wrong)

    def bucket(self, path, entity, resource, wrong=False, method="GET", headers=None, **query):
        return self.call(method, path, {"namespace": self.namespace, "entity": entity, "resource": resource, **query},
                         headers=headers, wrong=wrong)

    def acquire(self, entity, resource, consume, headers=None, wrong=False, **more):
        return self.post("/acquire", wrong, headers, namespace=self.namespace, entity=entity, resource=resource,
                         consume=consume, **more)

    def set_limits(self, *limits, wrong=False, **level):
        return self.call("PUT", "/limits", body={"namespace": self.namespace, **level, "limits": list(limits)}, wrong=wrong)

    def remaining(self, entity, resource):
        """{limit: tokens left}."""
        return {one["name"]: one["available"] for one in self.bucket("/available", entity, resource).value["limits"]}
