#!/usr/bin/python3
"""A consumer of a stream rebuilds its table through splits and failovers: nothing is lost, nothing comes twice.

Three nodes, two routers, one table with a stream. Clients put, change and delete items. A consumer follows the
stream with boto3: it reads a shard once the shard's parent is read to its end. Each record must fit what was before:
OldImage is the item as the consumer has it, and sequence numbers rise along a shard and its children. Meanwhile
partitions are split, then split once more each with its leader killed (kill -9) in the middle. At last the consumer's
table equals a Scan, and `weir verify` compares the replicas.

The long form is run by hand: streams_test.py --splits 50 --kills 20.
"""
import contextlib
import random
import time

import boto3
import botocore.config
import botocore.exceptions
import servers
import split_test
from servers import Client, Cluster, Refused, Unreachable, check, make_table, more_done, say, until

EMPTY = 10  # rounds without a record, at the end: a record that comes twice would come late
TABLE = split_test.TABLE = "streamed"
WRITERS = 4
KEYS = 300
PAUSE_S = 0.002
SETTINGS = ["--profile", "off"]


class Writer(servers.Worker):
    def __init__(self, port, seed):
        super().__init__()
        self.client = Client(port, timeout_s=8)
        self.source = random.Random(seed)
        self.count = self.failed = 0

    def write(self):
        key, value = {"S": str(self.source.randrange(KEYS))}, {"N": str(self.source.randrange(10**9))}
        what = self.source.random()
        if what < 0.5:
            self.client.call("PutItem", TableName=TABLE, Item={
                "id": key, "v": value, "x": {"S": "x" * self.source.randrange(400)}})
        elif what < 0.7:
            self.client.call("DeleteItem", TableName=TABLE, Key={"id": key})
        elif what < 0.9:
            self.client.call("UpdateItem", TableName=TABLE, Key={"id": key}, UpdateExpression="SET v = :v",
                             ExpressionAttributeValues={":v": value})
        else:
            others = self.source.sample(range(KEYS), 3)
            self.client.call("TransactWriteItems", TransactItems=[
                {"Put": {"TableName": TABLE, "Item": {"id": {"S": str(k)}, "v": value}}} for k in others])

    def step(self):
        try:
            self.write()
            self.count += 1
        except (Refused, Unreachable):
            self.failed += 1
        self.stopping.wait(PAUSE_S)


class Consumer(servers.Worker):
    """Follows the stream, and keeps the table that follows from its records."""

    def __init__(self, ports, arn):
        super().__init__()
        self.clients = [boto3.client(
            "dynamodbstreams", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
            aws_access_key_id="weir", aws_secret_access_key="weir", config=botocore.config.Config(
                retries={"max_attempts": 0}, read_timeout=8, connect_timeout=3)) for port in ports]
        self.arn = arn
        self.turn = self.failed = self.records = 0
        self.empty = 0  # rounds over all shards that brought nothing
        self.items, self.last = {}, {}  # by key
        self.shards, self.iterators, self.ended = {}, {}, set()  # by shard id

    def ask(self, operation, **members):
        """Until there is an answer."""
        while not self.stopping.is_set():
            client = self.clients[self.turn % len(self.clients)]
            try:
                return getattr(client, operation)(**members)
            except botocore.exceptions.ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
                    raise
            except (botocore.exceptions.HTTPClientError, botocore.exceptions.ConnectionError):
                pass
            self.failed += 1
            self.turn += 1
            self.stopping.wait(0.05)
        raise InterruptedError

    def discover(self):
        after = {}
        while True:
            page = self.ask("describe_stream", StreamArn=self.arn, **after)["StreamDescription"]
            for shard in page["Shards"]:
                self.shards[shard["ShardId"]] = shard.get("ParentShardId")
            if "LastEvaluatedShardId" not in page:
                return
            after = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}

    def begin(self):
        for shard, parent in self.shards.items():
            if shard in self.iterators or shard in self.ended:
                continue
            if parent is None or parent in self.ended:
                self.iterators[shard] = self.ask("get_shard_iterator", StreamArn=self.arn, ShardId=shard,
                                                 ShardIteratorType="TRIM_HORIZON")["ShardIterator"]

    def take(self, record):
        data = record["dynamodb"]
        key, number = data["Keys"]["id"]["S"], int(data["SequenceNumber"])
        old, new = data.get("OldImage"), data.get("NewImage")
        event = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        if self.items.get(key) != old:
            raise AssertionError(f"{key} was {self.items.get(key)}, the record says {old}: {record}")
        if record["eventName"] != event or old == new or number <= self.last.get(key, 0):
            raise AssertionError(f"a record makes no sense after {self.last.get(key)}: {record}")
        self.last[key] = number
        self.records += 1
        if new is None:
            del self.items[key]
        else:
            self.items[key] = new

    def read(self):
        """Whether there was anything."""
        found = False
        for shard, iterator in list(self.iterators.items()):
            answer = self.ask("get_records", ShardIterator=iterator)
            for record in answer["Records"]:
                self.take(record)
                found = True
            if "NextShardIterator" in answer:
                self.iterators[shard] = answer["NextShardIterator"]
            else:
                del self.iterators[shard]
                self.ended.add(shard)
                found = True
        return found

    def step(self):
        with contextlib.suppress(InterruptedError):
            self.discover()
            self.begin()
            if not self.read():
                self.empty += 1
                self.stopping.wait(0.02)


def equals_scan(consumer, port):
    found = {item["id"]["S"]: item for item in servers.scan(port, TABLE, ConsistentRead=True)}
    return found == consumer.items


def records(consumer):
    return consumer.records


def run(options, directory):
    with Cluster(options.weir, directory, 3, 2, SETTINGS) as cluster:
        writers = [Writer(cluster.ports[i % 2], i) for i in range(WRITERS)]
        table = make_table(cluster.ports[0], TABLE, (100, 100),
                           StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        consumer = Consumer(cluster.ports, table["LatestStreamArn"])
        with servers.working(consumer):
            with servers.working(*writers):
                more_done("records come", [consumer], 50, records)
                split_test.grow(cluster, options.splits + 1)
                say(f"{options.splits} splits, {consumer.records} records of {sum(w.count for w in writers)} writes")
                split_test.grow(cluster, options.splits + options.kills + 1, kill=True)
                more_done("records come again", [consumer], 50, records)
            begun = time.monotonic()
            until("the consumer has the table", lambda: equals_scan(consumer, cluster.ports[1]), poll_s=0.1)
            say(f"the table is rebuilt {time.monotonic() - begun:.1f} s after the last write")
            more_done("every shard is read to its end", [consumer], EMPTY, lambda consumer: consumer.empty)
            check(equals_scan(consumer, cluster.ports[1]), "records come that nobody wrote")
        servers.wait_caught_up(cluster.ports[1])
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, SETTINGS, copies=3)
    return {"splits": options.splits, "kills": options.kills, "writes": sum(w.count for w in writers),
            "failed_writes": sum(w.failed for w in writers), "records": consumer.records,
            "shards": len(consumer.shards), "shards_ended": len(consumer.ended), "items": len(consumer.items),
            "answers_missed": consumer.failed}


if __name__ == "__main__":
    servers.case(__doc__, run, splits=6, kills=2)
