#!/usr/bin/env python3
"""Money moves between accounts of two tables by transactions, and none is made or lost, whatever breaks.

Accounts lie in 20 partitions of two tables. Clients move amounts between accounts of a group, and each
transaction leaves a receipt. Readers read a whole group in one transaction: its sum is always the same. Meanwhile
nodes, routers and servers of global admission control are killed, stopped and cut off. Then all is mended: every
account takes a plain write, so nothing is locked; every balance is what the receipts say; every acknowledged
transfer has its receipt, and no cancelled one.

  transfers_test.py --seconds 600 --accounts 1000
"""
import random
import time
import zlib

import chaos_test
import servers
from servers import Client, Cluster, Refused, Unreachable, more_done, until

TABLES = ("accounts", "more-accounts")  # 10 partitions each
UNITS = 10000
GROUP = 100  # accounts that are read at once: the most that a transaction may have
BALANCE = 100  # at first
READERS = 2
PAUSE_S = 0.02
READ_PAUSE_S = 0.1  # between two reads: more often, and the tables would have no units for it
MORE = 3  # transactions that each client has tried while a fault lasts


def place(account):
    """Table and key of an account."""
    return {"TableName": TABLES[account % len(TABLES)], "Key": {"p": {"S": f"account-{account}"}}}


def receipt_table(receipt):
    return TABLES[zlib.crc32(receipt.encode()) % len(TABLES)]


def make_tables(port, accounts):
    for table in TABLES:
        servers.make_table(port, table, (UNITS, UNITS), ("p",))
    client = Client(port)
    for account in range(accounts):
        at = place(account)
        servers.try_until(f"account {account} is there", client.call, "PutItem", TableName=at["TableName"],
                          Item={**at["Key"], "balance": {"N": str(BALANCE)}})
    client.close()


def move(account, amount, **condition):
    return {"Update": {**place(account), "UpdateExpression": "ADD balance :by",
                       "ExpressionAttributeValues": {":by": {"N": str(amount)}, **condition.get("values", {})},
                       **({"ConditionExpression": condition["text"]} if condition else {})}}


class Worker(servers.Worker):
    def __init__(self, ports, seed, accounts):
        super().__init__()
        self.clients = [Client(port, timeout_s=3) for port in ports]
        self.source = random.Random(seed)
        self.groups = accounts // GROUP
        self.done = self.again = self.unknown = self.conflicts = self.throttled = 0

    def count(self, refused):
        """Why it was cancelled, or not served."""
        if refused.name == "TransactionCanceledException":
            self.conflicts += "Conflict" in refused.text
            self.throttled += "Throttling" in refused.text or "Provisioned" in refused.text
        if refused.name in ("ValidationException", "SerializationException"):
            raise refused


class Mover(Worker):
    """Moves money within groups."""

    def __init__(self, ports, seed, accounts, number):
        super().__init__(ports, seed, accounts)
        self.number = number
        self.moved = 0
        self.acknowledged, self.cancelled = [], []

    def step(self):
        group = self.source.randrange(self.groups)
        giver, taker = (group * GROUP + i for i in self.source.sample(range(GROUP), 2))
        amount = self.source.randint(1, 20)
        self.moved += 1
        receipt = f"receipt-{self.number}-{self.moved}"
        items = [move(giver, -amount, text="balance >= :least", values={":least": {"N": str(amount)}}),
                 move(taker, amount),
                 {"Put": {"TableName": receipt_table(receipt), "ConditionExpression": "attribute_not_exists(p)",
                          "Item": {"p": {"S": receipt}, "giver": {"N": str(giver)}, "taker": {"N": str(taker)},
                                   "amount": {"N": str(amount)}}}}]
        self.source.shuffle(items)
        self.insist(receipt, items)
        self.stopping.wait(PAUSE_S)  # else a read of the whole group meets a transfer each time

    def insist(self, receipt, items):
        """With the same token, until the outcome is known or the time is up."""
        lost = poor = False
        while True:
            try:
                self.source.choice(self.clients).call("TransactWriteItems", TransactItems=items,
                                                      ClientRequestToken=receipt)
                self.done += 1
                self.acknowledged.append(receipt)
                return
            except Unreachable:
                lost = True
            except Refused as refused:
                self.count(refused)
                if refused.name == "TransactionCanceledException" and not lost:
                    self.cancelled.append(receipt)
                    return
                lost |= refused.status == 500
                poor = "ConditionalCheckFailed" in refused.text  # the giver may stay so for long
            if self.stopping.is_set() or poor:
                self.unknown += lost
                return
            self.again += 1
            self.stopping.wait(PAUSE_S)


class Reader(Worker):
    """Reads whole groups, each by one transaction."""

    def step(self):
        group = self.source.randrange(self.groups)
        try:
            answer = self.source.choice(self.clients).call(
                "TransactGetItems", TransactItems=[{"Get": place(a)} for a in range(group * GROUP, (group + 1) * GROUP)])
        except Unreachable:
            self.again += 1
            self.stopping.wait(PAUSE_S)
            return
        except Refused as refused:
            self.count(refused)
            self.again += 1
            self.stopping.wait(PAUSE_S)
            return
        total = sum(int(r["Item"]["balance"]["N"]) for r in answer["Responses"])
        if total != GROUP * BALANCE:
            raise AssertionError(f"group {group} has {total}, not {GROUP * BALANCE}")
        self.done += 1
        self.stopping.wait(READ_PAUSE_S)


def free(client, account):
    """A plain write, which meets no lock."""
    try:
        client.call("UpdateItem", **place(account), UpdateExpression="SET seen = :yes",
                    ExpressionAttributeValues={":yes": {"BOOL": True}})
        return True
    except (Refused, Unreachable):
        return False


def check_free(port, accounts):
    begun, client = time.monotonic(), Client(port, timeout_s=5)
    for account in range(accounts):
        until(f"account {account} is free", lambda a=account: free(client, a))
    client.close()
    return round(time.monotonic() - begun, 1)


def check_books(port, movers, accounts):
    items = {item["p"]["S"]: item for table in TABLES for item in servers.scan(port, table, ConsistentRead=True)}
    receipts = {name for name in items if name.startswith("receipt")}
    wanted = [BALANCE] * accounts
    for receipt in receipts:
        item = items[receipt]
        wanted[int(item["giver"]["N"])] -= int(item["amount"]["N"])
        wanted[int(item["taker"]["N"])] += int(item["amount"]["N"])
    wrong = [a for a in range(accounts) if int(items[f"account-{a}"]["balance"]["N"]) != wanted[a]]
    lost = [r for m in movers for r in m.acknowledged if r not in receipts]
    done = [r for m in movers for r in m.cancelled if r in receipts]
    if wrong or lost or done:
        raise AssertionError(f"accounts {wrong[:5]} are not what the receipts say, acknowledged transfers {lost[:5]} are "
                             f"lost, cancelled ones {done[:5]} were done")
    total = sum(int(items[f"account-{a}"]["balance"]["N"]) for a in range(accounts))
    if total != accounts * BALANCE:
        raise AssertionError(f"the total is {total}, not {accounts * BALANCE}")
    return {"total": total, "receipts": len(receipts)}


def sums(workers):
    return {name: sum(getattr(w, name) for w in workers)
            for name in ("done", "again", "unknown", "conflicts", "throttled")}


def run(options, directory):
    source = random.Random(options.seed)
    with Cluster(options.weir, directory, 3, 2, chaos_test.SETTINGS, gac=1) as cluster:
        chaos = chaos_test.Chaos(cluster, source)
        make_tables(cluster.ports[0], options.accounts)
        movers = [Mover(cluster.ports, source.random(), options.accounts, i) for i in range(options.movers)]
        readers = [Reader(cluster.ports, source.random(), options.accounts) for _ in range(READERS)]

        def go_on():
            more_done("clients work", movers + readers, MORE, lambda worker: worker.done + worker.again)
        with servers.working(*movers, *readers):
            go_on()
            if options.seconds:
                chaos.trouble(options.seconds, 2)
            else:
                chaos.each(lambda: chaos_test.leader_of(cluster, source.choice(TABLES)), go_on)
            more_done("all is well again", movers + readers, 1, lambda worker: worker.done)
        figures = {"faults": chaos.counts, "moves": sums(movers), "reads": sums(readers),
                   "free_s": check_free(cluster.ports[0], options.accounts),
                   **check_books(cluster.ports[1], movers, options.accounts)}
        servers.wait_caught_up(cluster.ports[0])
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, chaos_test.SETTINGS)
    return figures


if __name__ == "__main__":
    servers.case(__doc__, run, seed=None, accounts=(300, "a multiple of 100"), movers=4,
                 seconds=(0.0, "of faults at random times; 0: each kind of fault, as long as it takes"))
