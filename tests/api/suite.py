"""What the suites of operations share: requests as a client would send them, right or wrong, and what
must come back. Texts of errors are compared whole."""

import atexit
import http.client
import json
import os
import pathlib
import sys
import unittest
import urllib.parse
import uuid

import boto3
import botocore.config

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import patience  # noqa: E402

URL = os.environ["WEIR_URL"]
HOST = urllib.parse.urlsplit(URL)
INVALID = "One or more parameter values were invalid: "
REDEFINED = (INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
             "defined. Existing schema: Schema:[SchemaElement: key{p:%s:HASH}] New schema: "
             "Schema:[SchemaElement: key{p:%s:HASH}]")
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=weir/20260101/us-east-1/dynamodb/aws4_request, "
                     "SignedHeaders=host;x-amz-date;x-amz-target, Signature=00",
    "X-Amz-Date": "20260101T000000Z",
}
WAIT_S = 30
POLL_S = 0.02
IN_A_ROW = 12
THROTTLES = ("ThrottlingException", "ProvisionedThroughputExceededException")
STREAMS = {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}  # operations of that service
SENT = []  # [client, operation, body, status]: what tests/api/coverage looks at
connection = None


def keep_sent():
    """Writes what was sent to the directory WEIR_SENT, if there is one."""
    directory = os.environ.get("WEIR_SENT")
    if directory:
        os.makedirs(directory, exist_ok=True)
        name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        with open(os.path.join(directory, name + ".json"), "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in SENT)


atexit.register(keep_sent)


def recorded(client):
    """The same client; SENT gets what it sends."""
    def before(params, context, **_):
        context["weir_body"] = params["body"]
    def after(http_response, model, context, **_):
        SENT.append(["boto3", model.name, json.loads(context["weir_body"]), http_response.status_code])
    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register("before-call." + service, before)
    client.meta.events.register("after-call." + service, after)
    return client


def boto(service="dynamodb", region="us-east-1", **config):
    """boto3 without its own checks: it sends what it is given."""
    settings = {"retries": {"max_attempts": 0}, "parameter_validation": False, **config}
    return recorded(boto3.client(service, endpoint_url=URL, region_name=region,
                                 aws_access_key_id="weir", aws_secret_access_key="weir",
                                 config=botocore.config.Config(**settings)))


def send(operation, body, **lines):
    """(status, answer) of one request, whose body may be anything. lines: header lines, with _ for -."""
    global connection
    target = "DynamoDBStreams_20120810." if operation in STREAMS else "DynamoDB_20120810."
    headers = {**HEADERS, "X-Amz-Target": target + operation}
    headers.update({name.replace("_", "-"): value for name, value in lines.items()})
    value = body
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    for again in (True, False):
        if connection is None:
            connection = http.client.HTTPConnection(HOST.hostname, HOST.port, timeout=WAIT_S)
        try:
            connection.request("POST", "/", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            if isinstance(body, str) and isinstance(value, dict) and len(body) < 100000:
                SENT.append(["raw", operation, json.loads(body), answer.status])
            return answer.status, json.loads(text) if text else {}
        except (OSError, http.client.HTTPException):
            connection = None
            if not again:
                raise
    return None


def new_name():
    return "t-" + uuid.uuid4().hex


def until(test, condition, what):
    """Polls until the condition is true; its value."""
    value = patience.until(condition, WAIT_S, POLL_S)
    return test.fail("not within %d s: %s" % (WAIT_S, what)) if value is None else value


def await_active(name):
    def is_active():
        return send("DescribeTable", {"TableName": name})[1]["Table"]["TableStatus"] == "ACTIVE"
    assert patience.until(is_active, WAIT_S, POLL_S), "the table does not become ACTIVE"


def steady(condition):
    """Whether the condition holds many times in a row. An eventual read goes to any of three replicas."""
    return all(condition() for _ in range(IN_A_ROW))


def keys_of(*keys):
    """AttributeDefinitions and KeySchema of ("a", "S"), ("b", "N")."""
    return {
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in keys],
        "KeySchema": [{"AttributeName": n, "KeyType": k} for (n, _), k in zip(keys, ("HASH", "RANGE"))],
    }


def make_table(body):
    """Makes a table, and waits until it is ACTIVE."""
    status, answer = send("CreateTable", body)
    assert status == 200, answer
    await_active(body["TableName"])


class Suite(unittest.TestCase):
    """One table for all tests of a class, by its partition key p and, with SORT, its sort key s."""

    SORT = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        keys = (("p", "S"),) if cls.SORT is None else (("p", "S"), ("s", cls.SORT))
        cls.table = new_name()
        make_table({"TableName": cls.table, "BillingMode": "PAY_PER_REQUEST", **keys_of(*keys)})

    @classmethod
    def tearDownClass(cls):
        send("DeleteTable", {"TableName": cls.table})

    def created(self, body):
        """Makes a table, which goes with the test. {"TableName": its name}."""
        status, answer = send("CreateTable", body)
        self.assertEqual(status, 200, answer)
        name = {"TableName": body["TableName"]}
        until(self, lambda: send("DescribeTable", name)[1]["Table"]["TableStatus"] == "ACTIVE", "the table is there")
        self.addCleanup(send, "DeleteTable", name)
        return name

    def ok(self, operation, **members):
        """What is throttled is sent again, as any client does: a quick machine may reach a partition's maximum."""
        answers = []

        def is_admitted():
            answers.append(send(operation, {"TableName": self.table, **members}))
            return answers[-1][0] != 400 or answers[-1][1]["__type"].split("#")[1] not in THROTTLES
        patience.until(is_admitted, WAIT_S, POLL_S)
        status, answer = answers[-1]
        self.assertEqual(status, 200, answer)
        return answer

    def bad(self, operation, message, kind="ValidationException", **members):
        """message None: any text."""
        status, answer = send(operation, {"TableName": self.table, **members})
        self.assertEqual(status, 400, answer)
        self.assertEqual(answer["__type"].split("#")[1], kind, answer)
        if message is not None:
            self.assertEqual(answer.get("message", answer.get("Message")), message)
        return answer

    def put(self, key, **attributes):
        self.ok("PutItem", Item={"p": {"S": key}, **attributes})

    def get(self, key, **more):
        return self.ok("GetItem", Key={"p": {"S": key}}, ConsistentRead=True, **more).get("Item")

    def update(self, key, expression, values=None, names=None, **more):
        if values is not None:
            more["ExpressionAttributeValues"] = values
        if names is not None:
            more["ExpressionAttributeNames"] = names
        return self.ok("UpdateItem", Key={"p": {"S": key}}, UpdateExpression=expression, **more)


def n(value):
    return {"N": str(value)}


def s(value):
    return {"S": value}
