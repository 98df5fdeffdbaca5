#!/usr/bin/python3
"""The rate limiter of a running server against docs/limiter-api.yaml.

Each answer is held against the schema of its status, bodies and header fields. A request that the document does not
describe fails the test, unless the test says that the request is wrong. At the end every status that the document
has of an operation must have been seen, but for those in NOT_HERE.
"""
import copy
import decimal
import json
import math
import os
import subprocess
import time
import unittest
import urllib.parse

import openapi
from limiter import DOCUMENT, PREFIX, Limiter, limit, new_name, until

API = Limiter(os.environ["WEIR_URL"])
HOUR = 3600000
YEAR = 8760 * HOUR  # a limit that is refilled in a year does not change during a test
NOT_HERE = {  # statuses: why no request of this test gets them
    503: "the store is there; tests/api/limiter_client_test.py takes it away",
}
LATER = decimal.Decimal("0.1")  # tokens that may come between two requests


def fields(text):
    """A structured field of strings with whole numbers: {name: {parameter: number}}."""
    found = {}
    for item in text.split(", "):
        name, *parameters = item.split(";")
        found[name.strip('"')] = {k: int(v) for k, v in (p.split("=") for p in parameters)}
    return found


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.entity, self.resource = new_name("user"), new_name("api")

    def limits(self, *limits, **level):
        answer = API.set_limits(*limits, entity=self.entity, resource=self.resource, **level)
        self.assertEqual(answer.status, 200, answer)
        return answer

    def acquire(self, status=200, entity=None, headers=None, **more):
        consume = more.pop("consume", {"rpm": 1})
        answer = API.acquire(entity or self.entity, self.resource, consume, headers=headers, **more)
        self.assertEqual(answer.status, status, answer)
        self.assert_shown(answer)
        return answer

    def assert_shown(self, answer):
        """An answer never shows more than a bucket of one shard has."""
        for one in answer.value.get("limits", []):
            now = API.bucket("/status", one["entity"], self.resource).value
            left = {limit["name"]: limit["available"] for limit in now["limits"]}
            if now["shards"] == 1:
                self.assertLessEqual(float(one["remaining"]), max(0, float(left[one["name"]])) + 0.001, (one, now))

    def use(self, path, status=200, headers=None, **body):
        answer = API.post(path, headers=headers, **body)
        self.assertEqual(answer.status, status, answer)
        return answer

    def left(self, entity=None):
        return API.remaining(entity or self.entity, self.resource)

    def assert_left(self, entity=None, **expected):
        left = self.left(entity)
        self.assertEqual(set(left), set(expected))
        for name, value in expected.items():
            self.assertTrue(value <= left[name] <= value + LATER, (name, value, left))

    def refused(self, answer, status, code, field=None, names=None):
        """`field`: the error's. `names`: a word of its message."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.value["error"]["code"], code, answer)
        if field is not None:
            self.assertEqual(answer.value["error"].get("field"), field, answer)
        if names is not None:
            self.assertIn(names, answer.value["error"]["message"])


class DocumentTest(unittest.TestCase):
    def test_it_is_sound(self):
        self.assertEqual(DOCUMENT.own_faults(), [])

    def test_what_does_not_fit_is_found(self):
        described = DOCUMENT.answer("POST", PREFIX + "/acquire", 429)
        headers = {"Content-Type": "application/json", "Retry-After": "1", "RateLimit": '"rpm";r=0;t=1',
                   "RateLimit-Policy": '"rpm";q=1;w=60'}
        body = {"allowed": False, "reason": "limit", "limit": "rpm", "retry_after_ms": 1,
                "limits": [{"entity": "a", "name": "rpm", "capacity": 1, "remaining": 0.5, "reset_ms": 3}]}
        self.assertEqual(DOCUMENT.answer_faults(described, headers, json.dumps(body).encode()), [])
        for name, value in (("allowed", True), ("reason", "else"), ("retry_after_ms", 0.5), ("limits", [{}]),
                            ("more", 1)):
            self.assertNotEqual(DOCUMENT.answer_faults(described, headers, json.dumps({**body, name: value}).encode()), [])
        for name, value in (("RateLimit", "rpm;r=0;t=1"), ("RateLimit-Policy", '"rpm";q=1.5;w=60'), ("Retry-After", "soon"),
                            ("Content-Type", "text/plain")):
            self.assertNotEqual(DOCUMENT.answer_faults(described, {**headers, name: value}, json.dumps(body).encode()), [])

    def test_what_it_does_not_describe_is_not_sent(self):
        for request in (("GET", "/nothing", {}, {}, None), ("POST", "/top", {}, {}, None), ("GET", "/top", {"n": "1"}, {}, None),
                        ("GET", "/check", {"entity": "a", "resource": "b"}, {}, None),
                        ("GET", "/check", {"entity": "a", "resource": "b", "rpm": "x"}, {}, None),
                        ("POST", "/reset", {}, {"Content-Type": "text/plain"}, {"entity": "a", "resource": "b"}),
                        ("POST", "/reset", {}, {"Content-Type": "application/json"}, {"entity": "a"})):
            method, path, *rest = copy.deepcopy(request)
            self.assertNotEqual(DOCUMENT.request_faults(method, PREFIX + path, *rest), [], request)


class UseTest(Case):
    def test_tokens_are_taken_until_none_are_left(self):
        self.limits(limit("rpm", 2, YEAR), limit("tpm", 1000, YEAR))
        for n in (1, 2):
            answer = self.acquire(consume={"rpm": 1, "tpm": 100.5}).value
            self.assertTrue(answer["allowed"])
            self.assertNotIn("lease", answer)
            self.assertEqual({l["name"]: l["capacity"] for l in answer["limits"]}, {"rpm": 2, "tpm": 1000})
            self.assertEqual({l["entity"] for l in answer["limits"]}, {self.entity})
            self.assert_left(rpm=2 - n, tpm=1000 - n * decimal.Decimal("100.5"))
        answer = self.acquire(429, consume={"rpm": 1, "tpm": 100})
        self.assertEqual((answer.value["reason"], answer.value["limit"]), ("limit", "rpm"))
        self.assertTrue(0 < answer.value["retry_after_ms"] <= YEAR // 2)
        self.assertEqual(int(answer.headers["retry-after"]), math.ceil(answer.value["retry_after_ms"] / 1000))
        self.assert_left(rpm=0, tpm=799)

    def test_the_fields_tell_the_same_as_the_body(self):
        self.limits(limit("rpm", 2, YEAR), limit("tpm", decimal.Decimal("1000.5"), 90500))
        for status in (200, 200, 429):
            answer = self.acquire(status, consume={"rpm": 1, "tpm": decimal.Decimal("0.25")})
            policy, now = fields(answer.headers["ratelimit-policy"]), fields(answer.headers["ratelimit"])
            self.assertEqual(policy, {"rpm": {"q": 2, "w": YEAR // 1000}, "tpm": {"q": 1000, "w": 91}})
            for one in answer.value["limits"]:
                self.assertEqual(now[one["name"]], {"r": math.floor(max(0, one["remaining"])),
                                                    "t": math.ceil(one["reset_ms"] / 1000)})

    def test_a_request_beyond_the_capacity_is_refused_as_wrong(self):
        self.limits(limit("rpm", 2, YEAR))
        self.refused(API.acquire(self.entity, self.resource, {"rpm": 3}), 400, "invalid", "consume", "'rpm'")
        self.refused(API.acquire(self.entity, self.resource, {"other": 1}), 400, "invalid", "consume", "'other'")
        self.assert_left(rpm=2)

    def test_a_request_with_a_key_counts_once(self):
        self.limits(limit("rpm", 10, YEAR))
        key = {"Idempotency-Key": new_name("key")}
        for _ in range(3):
            self.acquire(consume={"rpm": 4}, headers=key)
        self.assert_left(rpm=6)
        self.refused(API.acquire(self.entity, self.resource, {"rpm": 5}, headers=key), 409, "token_mismatch")
        self.acquire(consume={"rpm": 4}, headers={"Idempotency-Key": new_name("key")})
        self.assert_left(rpm=2)

    def test_wrong_requests_name_the_field(self):
        self.limits(limit("rpm", 10, YEAR))
        good = {"namespace": API.namespace, "entity": self.entity, "resource": self.resource, "consume": {"rpm": 1}}
        for name, value in (
                ("entity", ""), ("entity", "a" * 257), ("entity", "a#b"), ("entity", "a\nb"), ("entity", 1), ("entity", None),
                ("resource", ""), ("resource", "a#b"), ("namespace", "a/b"), ("namespace", ""), ("namespace", "a" * 65),
                ("lease_ms", 0), ("lease_ms", 300001), ("lease_ms", "1"), ("lease_ms", decimal.Decimal("1.5")),
                ("on_unavailable", "wait"), ("consume", {}), ("consume", [1]), ("consume", {f"l{i}": 1 for i in range(9)})):
            self.refused(API.call("POST", "/acquire", body={**good, name: value}, wrong=True), 400, "invalid", name)
        answer = API.call("POST", "/acquire", body={**good, "other": 1}, wrong=True)
        self.refused(answer, 400, "invalid", names="'other'")
        for name, value in (("rpm", -1), ("rpm", "1"), ("rpm", decimal.Decimal("0.0001")), ("rpm", 10 ** 12 + 1), ("wcu", 1),
                            ("a b", 1), ("", 1), ("a" * 65, 1)):
            answer = API.call("POST", "/acquire", body={**good, "consume": {name: value}}, wrong=True)
            self.refused(answer, 400, "invalid")
            self.assertEqual(answer.value["error"]["field"], "consume", answer)
        for name in ("entity", "resource", "consume"):
            self.refused(API.call("POST", "/acquire", body={k: v for k, v in good.items() if k != name}, wrong=True),
                         400, "invalid", name)
        self.assert_left(rpm=10)

    def test_names_of_all_kinds(self):
        for entity in ("a" * 256, "user:1/2 ä%&=+?", "é" * 128, "\U0001f600", "a\u2028b"):
            name = new_name("api")
            self.assertEqual(API.set_limits(limit("r.p_m-1", 5, YEAR), entity=entity, resource=name).status, 200)
            answer = API.acquire(entity, name, {"r.p_m-1": 1}).value["limits"][0]
            self.assertEqual((answer["entity"], int(answer["remaining"])), (entity, 4))
            if len(urllib.parse.quote(entity)) <= 256:
                self.assertEqual(int(API.remaining(entity, name)["r.p_m-1"]), 4)

    def test_without_limits_there_is_nothing_to_take(self):
        self.refused(API.acquire(self.entity, self.resource, {"rpm": 1}), 404, "no_limits")

    def test_what_to_do_without_the_store_changes_nothing_while_it_is_there(self):
        self.limits(limit("rpm", 1, YEAR))
        for answer, status in (("allow", 200), ("allow", 429), ("block", 429)):
            self.acquire(status, on_unavailable=answer)


class LeaseTest(Case):
    def setUp(self):
        super().setUp()
        self.limits(limit("rpm", 10, YEAR), limit("tpm", 1000, YEAR))
        answer = self.acquire(consume={"rpm": 1, "tpm": 500}, lease_ms=60000)
        self.lease = answer.value["lease"]

    def step(self, path, **body):
        answer = self.use(path, lease=self.lease, **body)
        self.lease = answer.value.get("lease", self.lease)
        return answer

    def test_more_is_taken(self):
        self.step("/consume", consume={"tpm": 300})
        self.assert_left(rpm=9, tpm=200)
        self.assertEqual(self.use("/consume", 429, lease=self.lease, consume={"tpm": 300}).value["limit"], "tpm")
        self.step("/consume", consume={"tpm": 200})
        self.assert_left(rpm=9, tpm=0)

    def test_it_is_corrected(self):
        self.step("/adjust", adjust={"tpm": -200})
        self.assert_left(rpm=9, tpm=700)
        self.step("/adjust", adjust={"tpm": 900})
        self.assert_left(rpm=9, tpm=-200)
        self.assertIn('"tpm";r=0;', self.acquire(429, consume={"tpm": 1}).headers["ratelimit"])

    def test_a_part_is_given_back(self):
        self.step("/release", release={"tpm": 100})
        self.assert_left(rpm=9, tpm=600)
        answer = API.post("/release", lease=self.lease, release={"tpm": 401})
        self.refused(answer, 400, "invalid", "release", "'tpm'")
        self.assert_left(rpm=9, tpm=600)

    def test_rollback_gives_everything_back_once(self):
        self.step("/consume", consume={"tpm": 100})
        for _ in range(3):
            self.assertEqual(API.post("/rollback", lease=self.lease).status, 200)
        self.assert_left(rpm=10, tpm=1000)

    def test_commit_keeps_it(self):
        self.step("/adjust", adjust={"tpm": -100})
        self.use("/commit", lease=self.lease)
        self.assert_left(rpm=9, tpm=600)
        self.refused(API.post("/rollback", lease=self.lease), 409, "lease_used")
        self.assert_left(rpm=9, tpm=600)

    def test_each_use_counts_once(self):
        for _ in range(3):
            answer = self.use("/consume", lease=self.lease, consume={"tpm": 100})
        self.assert_left(rpm=9, tpm=400)
        self.refused(API.post("/consume", lease=self.lease, consume={"tpm": 101}), 409, "lease_used")
        self.refused(API.post("/adjust", lease=self.lease, adjust={"tpm": 100}), 409, "lease_used")
        self.refused(API.post("/release", lease=self.lease, release={"tpm": 100}), 409, "lease_used")
        self.refused(API.post("/rollback", lease=self.lease), 409, "lease_used")
        self.refused(API.post("/commit", lease=self.lease), 409, "lease_used")
        self.use("/rollback", lease=answer.value["lease"])
        self.assert_left(rpm=10, tpm=1000)

    def test_uses_that_differ_in_one_word_are_different(self):
        for path, member in (("/consume", "consume"), ("/adjust", "adjust"), ("/release", "release")):
            lease = self.acquire(consume={"rpm": 1, "tpm": 10}, lease_ms=60000).value["lease"]
            self.use(path, lease=lease, **{member: {"rpm": 1}})
            before = self.left()
            for amounts in ({"tpm": 1}, {"rpm": 1, "tpm": 1}, {"rpm": 0.5}):
                self.refused(API.post(path, lease=lease, **{member: amounts}), 409, "lease_used")
            self.assertEqual({k: int(v) for k, v in self.left().items()}, {k: int(v) for k, v in before.items()})

    def test_it_ends_with_its_time(self):
        answer = self.acquire(consume={"rpm": 1}, lease_ms=1).value
        lease, expires_ms = answer["lease"], answer["expires_ms"]
        until("the lease is over", lambda: time.time() * 1000 > expires_ms + 1)
        for path, body in (("/consume", {"consume": {"rpm": 1}}), ("/adjust", {"adjust": {"rpm": 1}}),
                           ("/release", {"release": {"rpm": 1}}), ("/rollback", {}), ("/commit", {})):
            self.refused(API.post(path, lease=lease, **body), 409, "lease_over")
        self.assert_left(rpm=8, tpm=500)

    def test_a_lease_that_no_router_made(self):
        cut, other = self.lease[:-1], self.lease[:-1] + ("A" if self.lease[-1] != "A" else "B")
        for lease in ("nothing", "AAAA", cut, other, self.lease + self.lease, "x" * 5000, "#"):
            for path, body in (("/consume", {"consume": {"rpm": 1}}), ("/adjust", {"adjust": {"rpm": -1}}),
                               ("/release", {"release": {"rpm": 1}}), ("/rollback", {}), ("/commit", {})):
                self.refused(API.post(path, lease=lease, **body), 400, "invalid", "lease")
        for path, member in (("/consume", "consume"), ("/adjust", "adjust"), ("/release", "release")):
            self.refused(API.call("POST", path, body={"lease": self.lease}, wrong=True), 400, "invalid", member)
            self.refused(API.call("POST", path, body={"lease": self.lease, member: {"wcu": 1}}, wrong=True), 400, "invalid")
        for path in ("/rollback", "/commit"):
            self.refused(API.call("POST", path, body={}, wrong=True), 400, "invalid", "lease")
            self.refused(API.call("POST", path, body={"lease": 1}, wrong=True), 400, "invalid", "lease")
        self.assert_left(rpm=9, tpm=500)


class CheckTest(Case):
    def check(self, status, wrong=False, **more):
        answer = API.bucket("/check", self.entity, self.resource, wrong=wrong, **more)
        self.assertEqual(answer.status, status, answer)
        return answer

    def test_it_takes_as_acquire_does(self):
        self.limits(limit("rpm", 2, YEAR))
        self.check(204, rpm=1)
        answer = self.check(204, rpm=1)
        self.assertEqual(answer.body, b"")
        self.assertEqual(fields(answer.headers["ratelimit"])["rpm"]["r"], 0)
        answer = self.check(403, rpm=1)
        self.assertGreater(int(answer.headers["retry-after"]), 0)
        self.assertEqual(answer.value["limit"], "rpm")

    def test_a_key_makes_it_count_once(self):
        self.limits(limit("rpm", 10, YEAR))
        key = {"Idempotency-Key": new_name("key")}
        self.check(204, rpm=1, headers=key)
        self.check(204, rpm=1, headers=key)
        self.assert_left(rpm=9)
        self.refused(self.check(409, rpm=2, headers=key), 409, "token_mismatch")

    def test_wrong_requests(self):
        self.refused(self.check(404, rpm=1), 404, "no_limits")
        self.limits(limit("rpm", 10, YEAR))
        for value in ("-1", "x", "", "1e3", "0.0001", "1000000000001"):
            self.refused(self.check(400, rpm=value, wrong=True), 400, "invalid", "rpm")
        self.refused(self.check(400, wrong=True), 400, "invalid", names="no limit")
        self.refused(self.check(400, wcu=1, wrong=True), 400, "invalid", "query", "'wcu'")
        self.refused(self.check(400, rpm=11), 400, "invalid", "query", "'rpm'")
        target = f"{PREFIX}/check?entity={self.entity}&resource={self.resource}&namespace={API.namespace}&rpm=1&rpm=1"
        self.refused(API.raw("GET", target), 400, "invalid")


class PromiseTest(Case):
    def refusal(self, consume):
        """The milliseconds that the first refused request is told."""
        while True:
            answer = API.acquire(self.entity, self.resource, consume)
            if answer.status != 200:
                self.assertEqual(answer.status, 429, answer)
                return answer.value["retry_after_ms"]

    def test_who_waits_as_told_is_let_in(self):
        for capacity, amount, period_ms in ((1, 1, 300), (3, 1, 100), (10, 3, 700), (50, 50, 1000), (1000, 7, 13)):
            self.setUp()
            self.limits(limit("rpm", capacity, period_ms, amount), limit("tpm", 2 * capacity, period_ms, amount))
            for taken in (1, max(1, capacity // 3), capacity):
                consume = {"rpm": taken, "tpm": taken}
                left_s = self.refusal(consume) / 1000
                time.sleep(left_s)
                self.acquire(consume=consume)
                self.assertLess(left_s, 3)


class LookTest(Case):
    def test_available_before_the_first_use(self):
        self.limits(limit("rpm", 10, YEAR), limit("tpm", 5, YEAR))
        limits = API.bucket("/available", self.entity, self.resource).value["limits"]
        self.assertEqual(limits, [{"name": n, "capacity": c, "available": c} for n, c in (("rpm", 10), ("tpm", 5))])

    def wait(self, **amounts):
        return API.bucket("/time-until", self.entity, self.resource, **amounts).value["wait_ms"]

    def test_time_until(self):
        self.limits(limit("rpm", 10, HOUR), limit("tpm", 100, 10 * HOUR))
        self.assertEqual(self.wait(rpm=10), 0)
        self.acquire(consume={"rpm": 10, "tpm": 50})
        self.assertTrue(HOUR * 0.9 < self.wait(rpm=5, tpm=60) <= HOUR)
        self.assertTrue(HOUR * 0.45 < self.wait(rpm=5, tpm=50) <= HOUR / 2)
        self.refused(API.bucket("/time-until", self.entity, self.resource, rpm=11), 400, "invalid", "query", "'rpm'")
        self.refused(API.bucket("/time-until", self.entity, self.resource, other=1), 400, "invalid", "query", "'other'")

    def test_without_limits(self):
        for path, more in (("/available", {}), ("/time-until", {"rpm": 1}), ("/capacity", {}), ("/status", {})):
            self.refused(API.bucket(path, self.entity, self.resource, **more), 404, "no_limits")

    def test_wrong_requests(self):
        for path, more in (("/available", {}), ("/time-until", {"rpm": 1}), ("/capacity", {}), ("/status", {})):
            self.refused(API.bucket(path, "a#b", self.resource, wrong=True, **more), 400, "invalid", "entity")
            self.refused(API.bucket(path, self.entity, "", wrong=True, **more), 400, "invalid", "resource")
            self.refused(API.call("GET", path, {"resource": "r", **more}, wrong=True), 400, "invalid", "entity")
        for path in ("/available", "/capacity", "/status"):
            answer = API.bucket(path, self.entity, self.resource, other="1", wrong=True)
            self.refused(answer, 400, "invalid", names="'other'")

    def test_status(self):
        self.limits(limit("rpm", 10, YEAR))
        self.acquire(consume={"rpm": 2})
        value = API.bucket("/status", self.entity, self.resource).value
        self.assertEqual((value["level"], value["shards"], len(value["items"])), ("entity", 1, 1))
        self.assertEqual(int(value["limits"][0]["available"]), 8)
        self.assertTrue(value["items"][0]["there"])
        self.assertEqual(int(value["items"][0]["tokens"]["rpm"]), 8)

    def test_top(self):
        self.limits(limit("rpm", 3, YEAR))
        for status in (200, 200, 200, 429):
            self.acquire(status)
        value = API.call("GET", "/top", {"namespace": API.namespace, "count": 100}).value
        found = [b for b in value["buckets"] if (b["entity"], b["resource"]) == (self.entity, self.resource)]
        self.assertEqual([(b["shards"], b["admitted"]) for b in found], [(1, 3)])
        requests = [b["admitted"] + b["refused"] for b in value["buckets"]]
        self.assertEqual(requests, sorted(requests, reverse=True))
        self.assertEqual(len(API.call("GET", "/top", {"namespace": API.namespace, "count": 1}).value["buckets"]), 1)
        self.assertEqual(API.call("GET", "/top", {"namespace": new_name("ns")}).value, {"buckets": []})
        for count in ("0", "101", "x", ""):
            self.refused(API.call("GET", "/top", {"count": count}, wrong=True), 400, "invalid", "count")


class ConfigureTest(Case):
    """A change of a level reaches buckets within limiter_limits_ms; that of one bucket, at once."""

    def level_is(self, name, capacities):
        def applies():
            answer = API.bucket("/capacity", self.entity, self.resource)
            return answer.status == 200 and (
                answer.value["level"], {l["name"]: l["capacity"] for l in answer.value["limits"]}) == (name, capacities)
        until(f"the level {name} applies", applies)

    def test_the_most_specific_level_gives_all_limits(self):
        levels = (("system", {}), ("resource", {"resource": self.resource}), ("entity default", {"entity": self.entity}),
                  ("entity", {"entity": self.entity, "resource": self.resource}))
        for n, (name, level) in enumerate(levels):
            set_ = API.set_limits(limit("rpm", 100 + n, YEAR), limit(f"only-{n}", 5, YEAR), **level).value
            self.assertEqual(set_["level"], name)
            query = {"namespace": API.namespace, **level}
            self.assertEqual(API.call("GET", "/limits", query).value, set_)
            self.level_is(name, {"rpm": 100 + n, f"only-{n}": 5})
            self.assertEqual(int(self.acquire().value["limits"][0]["capacity"]), 100 + n)
        for n, (name, level) in reversed(list(enumerate(levels))):
            self.level_is(name, {"rpm": 100 + n, f"only-{n}": 5})
            query = {"namespace": API.namespace, **level}
            for _ in range(2):  # a deletion may come twice
                self.assertEqual(API.call("DELETE", "/limits", query).value, {"level": name, "limits": []})
            self.refused(API.call("GET", "/limits", query), 404, "no_limits")
        until("nothing applies", lambda: API.bucket("/capacity", self.entity, self.resource).status == 404)

    def test_a_change_reaches_a_bucket_in_use(self):
        self.limits(limit("rpm", 10, YEAR))
        self.acquire(consume={"rpm": 4})
        self.limits(limit("rpm", 20, YEAR))
        self.assertEqual(self.acquire(consume={"rpm": 1}).value["limits"][0]["capacity"], 20)
        self.limits(limit("rpm", 2, YEAR))
        self.assertLessEqual(self.left()["rpm"], 2)
        self.refused(API.acquire(self.entity, self.resource, {"rpm": 3}), 400, "invalid", "consume")

    def test_what_was_set_is_shown(self):
        limits = [limit("a", 1, 1, decimal.Decimal("1.001"), smallest_request=decimal.Decimal("0.001")),
                  limit("b", 10 ** 12, 31622400000, 10 ** 12),
                  limit("c", decimal.Decimal("1.5"), 250, decimal.Decimal("2.125"), smallest_request=decimal.Decimal("1.5")),
                  {"name": "d", "capacity": 7, "refill_period_ms": 1000}]
        self.limits(*limits, on_unavailable="allow")
        value = API.call("GET", "/limits", {"namespace": API.namespace, "entity": self.entity,
                                            "resource": self.resource}).value
        self.assertEqual(value["on_unavailable"], "allow")
        self.assertEqual(len(value["limits"]), 4)
        for given, shown in zip(limits, value["limits"]):
            self.assertEqual(shown, {"refill_amount": given["capacity"], "smallest_request": 1, **given})

    def test_wrong_limits(self):
        good = limit("rpm", 10)
        for name, value in (("name", ""), ("name", "wcu"), ("name", "a b"), ("name", "a" * 65), ("name", 1), ("capacity", 0),
                            ("capacity", -1), ("capacity", 10 ** 12 + 1), ("capacity", "1"), ("refill_amount", 0),
                            ("capacity", decimal.Decimal("0.0005")), ("refill_amount", -1), ("refill_amount", 10 ** 12 + 1),
                            ("refill_period_ms", 0), ("refill_period_ms", 31622400001), ("refill_period_ms", "60s"),
                            ("refill_period_ms", decimal.Decimal("0.5")), ("smallest_request", -1), ("smallest_request", 0),
                            ("capacity", decimal.Decimal("0.5")), ("refill_amount", decimal.Decimal("0.5"))):
            answer = API.set_limits({**good, name: value}, entity=self.entity, wrong=True)
            self.refused(answer, 400, "invalid", name)
        answer = API.set_limits({**good, "other": 1}, entity=self.entity, wrong=True)
        self.refused(answer, 400, "invalid", names="'other'")
        for name in ("name", "capacity", "refill_period_ms"):
            answer = API.set_limits({k: v for k, v in good.items() if k != name}, entity=self.entity, wrong=True)
            self.refused(answer, 400, "invalid", name)
        self.refused(API.set_limits({**good, "smallest_request": 11}, entity=self.entity), 400, "invalid", "smallest_request")
        self.refused(API.set_limits(good, good, entity=self.entity), 400, "invalid", "limits")
        self.refused(API.set_limits(entity=self.entity, wrong=True), 400, "invalid", "limits")
        self.refused(API.set_limits(*(limit(f"l{i}", 1) for i in range(9)), entity=self.entity, wrong=True),
                     400, "invalid", "limits")
        for method in ("GET", "DELETE"):
            self.refused(API.call(method, "/limits", {"entity": "a#b"}, wrong=True), 400, "invalid", "entity")

    def test_entities(self):
        parent, child, stray = new_name("team"), new_name("user"), new_name("user")
        entity = {"namespace": API.namespace, "entity": child}
        self.refused(API.call("GET", "/entities", entity), 404, "no_limits")
        for cascade, said in ((True, {}), (True, {"cascade": True}), (False, {"cascade": False})):
            is_now = {"entity": child, "parent": parent, "cascade": cascade}
            self.assertEqual(API.call("PUT", "/entities", body={**entity, "parent": parent, **said}).value, is_now)
            self.assertEqual(API.call("GET", "/entities", entity).value, is_now)
        for _ in range(2):
            self.assertEqual(API.call("DELETE", "/entities", entity).value, {"entity": child, "cascade": False})
        self.refused(API.call("GET", "/entities", entity), 404, "no_limits")
        good = {"entity": stray, "parent": parent}
        for name, value in (("entity", ""), ("entity", "a#b"), ("parent", "a#b"), ("parent", 1), ("cascade", 1)):
            self.refused(API.call("PUT", "/entities", body={**good, name: value}, wrong=True), 400, "invalid", name)
        self.refused(API.call("PUT", "/entities", body={"entity": stray}, wrong=True), 400, "invalid", "parent")
        self.refused(API.call("PUT", "/entities", body={**good, "other": 1}, wrong=True), 400, "invalid", names="'other'")
        self.refused(API.call("PUT", "/entities", body={"entity": stray, "parent": stray}), 400, "invalid", "parent")
        for method in ("GET", "DELETE"):
            self.refused(API.call(method, "/entities", {"entity": "a#b"}, wrong=True), 400, "invalid", "entity")

    def test_a_parent_is_charged_too_or_nobody(self):
        parent, children = new_name("team"), [new_name("user"), new_name("user")]
        API.set_limits(limit("rpm", 5, YEAR), entity=parent, resource=self.resource)
        for child in children:
            API.set_limits(limit("rpm", 3, YEAR), entity=child, resource=self.resource)
            API.call("PUT", "/entities", body={"namespace": API.namespace, "entity": child, "parent": parent, "cascade": True})
            until("the parent is charged", lambda: API.bucket("/capacity", child, self.resource).value.get("parent"))
        answer = self.acquire(entity=children[0], consume={"rpm": 3})
        self.assertEqual({l["entity"] for l in answer.value["limits"]}, {children[0], parent})
        self.assert_left(parent, rpm=2)
        self.acquire(429, entity=children[1], consume={"rpm": 3})
        self.assert_left(children[1], rpm=3)
        lease = self.acquire(entity=children[1], consume={"rpm": 2}, lease_ms=60000).value["lease"]
        self.assert_left(parent, rpm=0)
        lease = self.use("/adjust", lease=lease, adjust={"rpm": -1}).value["lease"]
        self.assert_left(parent, rpm=1)
        self.assert_left(children[1], rpm=2)
        self.use("/rollback", lease=lease)
        self.assert_left(parent, rpm=2)
        self.assert_left(children[1], rpm=3)
        lease = self.acquire(entity=children[1], consume={"rpm": 1}, lease_ms=60000).value["lease"]
        self.use("/commit", lease=lease)
        self.refused(API.post("/rollback", lease=lease), 409, "lease_used")
        self.assert_left(parent, rpm=1)
        self.assert_left(children[1], rpm=2)
        value = API.bucket("/capacity", children[0], self.resource).value
        self.assertEqual(value["parent"], parent)

    def test_a_parent_that_is_not_charged(self):
        parent = new_name("team")
        self.limits(limit("rpm", 3, YEAR))
        API.set_limits(limit("rpm", 1, YEAR), entity=parent, resource=self.resource)
        API.call("PUT", "/entities", body={"namespace": API.namespace, "entity": self.entity, "parent": parent, "cascade": False})
        self.acquire(consume={"rpm": 3})
        self.assert_left(parent, rpm=1)

    def test_reset(self):
        self.limits(limit("rpm", 10, YEAR))
        bucket = {"namespace": API.namespace, "entity": self.entity, "resource": self.resource}
        self.acquire(consume={"rpm": 10})
        self.use("/reset", **bucket)
        self.assert_left(rpm=10)
        self.refused(API.post("/reset", **{**bucket, "resource": new_name("api")}), 404, "no_limits")
        self.refused(API.call("POST", "/reset", body={**bucket, "entity": "#"}, wrong=True), 400, "invalid", "entity")

    def test_namespaces_have_nothing_in_common(self):
        other = Limiter(os.environ["WEIR_URL"])
        self.limits(limit("rpm", 10, YEAR))
        self.refused(other.acquire(self.entity, self.resource, {"rpm": 1}), 404, "no_limits")
        other.set_limits(limit("rpm", 5, YEAR))
        other.acquire(self.entity, self.resource, {"rpm": 5})
        self.assert_left(rpm=10)
        other.close()


class CommandTest(Case):
    """weir limiter."""

    def run_command(self, *words, code=0):
        done = subprocess.run([os.environ["WEIR"], "limiter", *words, "--url", os.environ["WEIR_URL"]], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout if code == 0 else done.stderr

    def of(self):
        return "--namespace", API.namespace, "--entity", self.entity, "--resource", self.resource

    def test_set_status_reset_top(self):
        self.run_command("set", *self.of(), "--limit", "rpm=2.5/365d", "--limit", "tpm=1000/365d:500", "--on-unavailable", "allow")
        value = API.bucket("/limits", self.entity, self.resource).value
        self.assertEqual(value["limits"], [
            {"name": "rpm", "capacity": decimal.Decimal("2.5"), "refill_amount": decimal.Decimal("2.5"),
             "refill_period_ms": YEAR, "smallest_request": 1},
            {"name": "tpm", "capacity": 1000, "refill_amount": 500, "refill_period_ms": YEAR, "smallest_request": 1}])
        self.assertEqual(value["on_unavailable"], "allow")
        self.acquire(consume={"rpm": decimal.Decimal("1.5"), "tpm": 250})
        text = self.run_command("status", *self.of())
        self.assertRegex(text, r"^1 shard, epoch \d+; limits of the level entity\n")
        self.assertRegex(text, r"(?m)^  all  rpm +1(\.0\d*)? +2\.5$")
        self.assertRegex(text, r"(?m)^  all  tpm +750(\.0\d*)? +1000$")
        value = json.loads(self.run_command("status", *self.of(), "--json"))
        self.assertEqual(value["entity"], self.entity)
        self.assertIn(f"{self.entity}, {self.resource}\n", self.run_command("top", "--namespace", API.namespace, "--count", "100"))
        self.assertEqual(self.run_command("reset", *self.of()), "the bucket is full\n")
        self.assert_left(rpm=decimal.Decimal("2.5"), tpm=1000)

    def test_names_that_a_path_does_not_take_as_they_are(self):
        self.entity = "a b&c=d+e/\u00e4%?"
        self.run_command("set", *self.of(), "--limit", "rpm=1/1s")
        self.assertEqual(json.loads(self.run_command("status", *self.of(), "--json"))["entity"], self.entity)

    def test_what_the_router_refuses_is_told(self):
        self.assertIn("No limits apply", self.run_command("status", *self.of(), code=1))
        self.assertIn("wcu", self.run_command("set", "--limit", "wcu=1/1s", code=1))
        self.entity = "a#b"
        self.assertIn("entity: ", self.run_command("status", *self.of(), code=1))

    def test_wrong_usage(self):
        for words in ([], ["nothing"], ["status"], ["status", "--entity", "a"], ["reset"], ["set"], ["top", "--entity", "a"],
                      ["set", "--limit", "rpm"], ["set", "--limit", "rpm=1/1"], ["top", "--count", "0"], ["top", "status"],
                      ["set", *(["--limit", "a=1/1s"] * 9)], ["set", "--limit", "a=1/1s", "--on-unavailable", "wait"]):
            self.run_command(*words, code=2)


class HttpTest(unittest.TestCase):
    """What every path answers to requests that are no requests."""

    def refused(self, component, answer, status):
        self.assertEqual(answer.status, status, answer)
        API.judge(component, DOCUMENT.root["components"]["responses"][component], answer)

    def test_methods_that_a_path_does_not_have(self):
        known = {}
        for method, path, _ in DOCUMENT.operations():
            known.setdefault(path, set()).add(method)
        for path, methods in known.items():
            for method in ("GET", "PUT", "POST", "DELETE", "PATCH"):
                if method not in methods:
                    self.refused("WrongMethod", API.raw(method, PREFIX + path), 405)

    def test_targets_that_are_too_long(self):
        target = PREFIX + "/available?entity=" + "a" * 1024 + "&resource=" + "b" * 1024
        self.refused("TargetTooLong", API.raw("GET", target), 414)

    def bodies(self):
        for method, path, operation in DOCUMENT.operations():
            if "requestBody" in operation:
                examples = operation["requestBody"]["content"]["application/json"]["examples"]
                yield method, path, next(iter(examples.values()))["value"]

    def test_bodies_of_another_type(self):
        for method, path, body in self.bodies():
            for kind in ("text/plain", "application/x-amz-json-1.0", "application/x-www-form-urlencoded"):
                self.assertEqual(API.call(method, path, body=body, headers={"Content-Type": kind}, wrong=True).status, 415)

    def test_bodies_that_are_no_json(self):
        for method, path, _ in self.bodies():
            for body in (b"", b"{", b"[]", b"null", b'{"entity":}', b'{"a":1}{', b"\xff", b'{"entity":"a","entity":"a"}'):
                answer = API.raw(method, PREFIX + path, body, {"Content-Type": "application/json"})
                self.assertEqual(answer.status, 400, (path, body, answer))
                API.judge(path, DOCUMENT.answer(method, PREFIX + path, 400), answer)

    def test_bodies_that_are_too_large(self):
        for method, path, body in self.bodies():
            large = f'{openapi.text_of(body)[:-1]}, "other": "{"x" * (17 << 20)}"}}'.encode()
            answer = API.raw(method, PREFIX + path, large, {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 413)
            API.judge(path, DOCUMENT.answer(method, PREFIX + path, 413), answer)
            API.seen.add((DOCUMENT.operation(method, PREFIX + path)["operationId"], 413))

    def test_paths_that_are_not_there(self):
        for path in ("", "/", "/acquires", "/acquire/", "/limits/1"):
            self.assertEqual(API.raw("GET", PREFIX + path).status, 404, path)


def load_tests(loader, _tests, _pattern):
    """All tests, and after them the one that looks at what they saw."""
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (
        DocumentTest, UseTest, LeaseTest, CheckTest, LookTest, ConfigureTest, CommandTest, HttpTest))

    def each_answer_was_seen():
        described = {(operation["operationId"], int(status)) for _, _, operation in DOCUMENT.operations()
                     for status in operation["responses"] if int(status) not in NOT_HERE}
        missing = described - API.seen
        assert not missing, f"answers that no request of this test got: {sorted(missing)}"
    suite.addTest(unittest.FunctionTestCase(each_answer_was_seen))
    return suite


def tearDownModule():
    API.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
