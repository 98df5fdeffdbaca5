// sdk_v3_operations_test.mjs - every operation that is served, through the AWS SDK for JavaScript v3, with every
// parameter (tests/api/coverage looks after that). WEIR_URL names the endpoint.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import * as sdk from "@aws-sdk/client-dynamodb";
import * as sdkStreams from "@aws-sdk/client-dynamodb-streams";
import * as lib from "@aws-sdk/lib-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";

import { db, keySchema, newName, newTable, raw, streams } from "./sdk.mjs";

const POLL_MS = 100;

let TableName, TableArn;
const call = (name, members) => raw.send(new sdk[name + "Command"](members));
const doc = (name, members) => db.send(new lib[name + "Command"]({ TableName, ...members }));
const all = { ReturnConsumedCapacity: "INDEXES" };

before(async () => {
  TableName = await newTable();
  ({ TableArn } = (await call("DescribeTable", { TableName })).Table);
});
after(() => raw.destroy());

async function refused(promise, type, message) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof sdk.DynamoDBServiceException, String(error));
    if (sdk[type]) assert.ok(error instanceof sdk[type], String(error));
    assert.equal(error.name, type, error.message);
    if (message !== undefined) assert.equal(error.message, message);
    return true;
  });
}

const condition = {
  ConditionExpression: "attribute_not_exists(#v) OR #v < :n",
  ExpressionAttributeNames: { "#v": "v" },
  ExpressionAttributeValues: { ":n": 10 },
};

test("writes have conditions", async () => {
  const Key = { p: "conditions", s: 1 };
  const more = { ...condition, ...all, ReturnItemCollectionMetrics: "SIZE", ReturnValues: "ALL_OLD" };
  assert.equal((await doc("Put", { Item: { ...Key, v: 1 }, ...more })).Attributes, undefined);
  const put = await doc("Put", { Item: { ...Key, v: 20 }, ...more, ReturnValuesOnConditionCheckFailure: "ALL_OLD" });
  assert.deepEqual(put.Attributes, { ...Key, v: 1 });
  assert.deepEqual(put.ConsumedCapacity.Table, { CapacityUnits: 1 });
  const message = "The conditional request failed";
  for (const [name, members] of [["Put", { Item: Key }], ["Delete", { Key }], ["Update", { Key }]]) {
    await refused(doc(name, { ...members, ...condition }), "ConditionalCheckFailedException", message);
    await assert.rejects(
      doc(name, { ...members, ...condition, ReturnValuesOnConditionCheckFailure: "ALL_OLD" }),
      (error) => {
        assert.ok(error instanceof sdk.ConditionalCheckFailedException);
        assert.deepEqual(unmarshall(error.Item), { ...Key, v: 20 });
        return true;
      },
    );
  }
  const whole = { ...more, ConditionExpression: "#v = :n", ExpressionAttributeValues: { ":n": 20 } };
  const gone = await doc("Delete", { Key, ...whole, ReturnValuesOnConditionCheckFailure: "ALL_OLD" });
  assert.deepEqual(gone.Attributes, { ...Key, v: 20 });
});

test("an update returns what is asked for", async () => {
  const Key = { p: "updates", s: 1 };
  const update = async (ReturnValues) =>
    (
      await doc("Update", {
        Key,
        UpdateExpression: "SET l = list_append(if_not_exists(l, :e), :l), m.#x = m.#x + :one REMOVE gone ADD n :one DELETE t :t",
        ConditionExpression: "attribute_exists(m.#x) AND size(t) > :zero",
        ExpressionAttributeNames: { "#x": "x" },
        ExpressionAttributeValues: { ":e": [], ":l": ["a"], ":one": 1, ":t": new Set(["gone"]), ":zero": 0 },
        ReturnValues,
        ReturnItemCollectionMetrics: "SIZE",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        ...all,
      })
    ).Attributes;
  const first = { ...Key, m: { x: 1, y: 1 }, t: new Set(["a", "b"]), other: true };
  await doc("Put", { Item: first });
  assert.equal(await update("NONE"), undefined);
  assert.deepEqual(await update("ALL_OLD"), { ...first, l: ["a"], m: { x: 2, y: 1 }, n: 1 });
  assert.deepEqual(await update("UPDATED_OLD"), { l: ["a", "a"], m: { x: 3 }, n: 2, t: first.t });
  assert.deepEqual(await update("UPDATED_NEW"), { l: ["a", "a", "a", "a"], m: { x: 5 }, n: 4, t: first.t });
  assert.deepEqual(await update("ALL_NEW"), { ...first, l: Array(5).fill("a"), m: { x: 6, y: 1 }, n: 5 });
});

test("parameters of before expressions work", async () => {
  const Key = { p: "old", s: 1 };
  const expected = (operator, v) => ({
    Expected: {
      v: { ComparisonOperator: "EQ", AttributeValueList: [v] },
      x: { Exists: false },
      p: { Value: "other" },
    },
    ConditionalOperator: operator,
  });
  await doc("Put", { Item: { ...Key, v: 1 }, ...expected("OR", 1) });
  const answer = await doc("Update", {
    Key,
    AttributeUpdates: { v: { Action: "ADD", Value: 1 }, w: { Action: "PUT", Value: 9 } },
    ...expected("OR", 1),
    ReturnValues: "UPDATED_NEW",
  });
  assert.deepEqual(answer.Attributes, { v: 2, w: 9 });
  assert.deepEqual((await doc("Get", { Key, AttributesToGet: ["w"], ConsistentRead: true })).Item, { w: 9 });
  const is = (v) => ({ ComparisonOperator: "EQ", AttributeValueList: [v] });
  const filter = { v: is(2), w: is(8) };
  const read = { AttributesToGet: ["w"], ConditionalOperator: "OR", ConsistentRead: true };
  const query = await doc("Query", { KeyConditions: { p: is("old") }, QueryFilter: filter, ...read });
  assert.deepEqual(query.Items, [{ w: 9 }]);
  assert.deepEqual((await doc("Scan", { ScanFilter: filter, ...read })).Items, [{ w: 9 }]);
  const RequestItems = { [TableName]: { Keys: [Key], AttributesToGet: ["v"], ConsistentRead: true } };
  const got = await db.send(new lib.BatchGetCommand({ RequestItems }));
  assert.deepEqual(got.Responses[TableName], [{ v: 2 }]);
  await refused(doc("Delete", { Key, ...expected("AND", 2) }), "ConditionalCheckFailedException");
  await doc("Delete", { Key, ...expected("OR", 2) });
});

test("queries and scans go by pages, filters, projections and segments", async () => {
  const items = Array.from({ length: 50 }, (_, s) => ({ p: "pages", s, odd: s % 2, text: "t" + s }));
  for (let at = 0; at < 50; at += 25) {
    const RequestItems = { [TableName]: items.slice(at, at + 25).map((Item) => ({ PutRequest: { Item } })) };
    await db.send(new lib.BatchWriteCommand({ RequestItems, ReturnItemCollectionMetrics: "SIZE", ...all }));
  }
  const query = {
    TableName,
    KeyConditionExpression: "p = :p AND s BETWEEN :low AND :high",
    FilterExpression: "odd = :odd",
    ProjectionExpression: "#s",
    ExpressionAttributeNames: { "#s": "s" },
    ExpressionAttributeValues: { ":p": "pages", ":low": 5, ":high": 34, ":odd": 1 },
    Select: "SPECIFIC_ATTRIBUTES",
    ScanIndexForward: false,
    ConsistentRead: true,
    ...all,
  };
  const found = [], scanned = [];
  for await (const page of lib.paginateQuery({ client: db, pageSize: 8 }, { ...query })) {
    found.push(...page.Items.map((item) => item.s));
    scanned.push(page.ScannedCount);
  }
  assert.deepEqual(found, Array.from({ length: 15 }, (_, i) => 33 - 2 * i));
  assert.deepEqual(scanned, [8, 8, 8, 6]);
  const { ProjectionExpression, ExpressionAttributeNames, ...rest } = query;
  const count = await db.send(new lib.QueryCommand({ ...rest, Select: "COUNT" }));
  assert.deepEqual([count.Items, count.Count, count.ScannedCount], [undefined, 15, 30]);
  const segments = await Promise.all(
    [0, 1, 2].map(async (Segment) => {
      const of = [];
      const scan = {
        TableName,
        Segment,
        TotalSegments: 3,
        FilterExpression: "#p = :p AND begins_with(#t, :t)",
        ExpressionAttributeNames: { "#p": "p", "#t": "text" },
        ExpressionAttributeValues: { ":p": "pages", ":t": "t1" },
        ProjectionExpression: "s",
        Select: "SPECIFIC_ATTRIBUTES",
        ConsistentRead: true,
        ...all,
      };
      for await (const page of lib.paginateScan({ client: db, pageSize: 6 }, scan)) of.push(...page.Items);
      return of;
    }),
  );
  const wanted = [1, ...Array.from({ length: 10 }, (_, i) => 10 + i)];
  assert.deepEqual(segments.flat().map((item) => item.s).sort((a, b) => a - b), wanted);
  const index = { IndexName: "none", KeyConditionExpression: "p = :p", ExpressionAttributeValues: { ":p": "a" } };
  const none = "The table does not have the specified index: none";
  await refused(doc("Query", index), "ValidationException", none);
  await refused(doc("Scan", { IndexName: "none" }), "ValidationException", none);
});

test("local indexes sort and show what their definition says", async () => {
  const local = (IndexName, attribute, Projection) => ({
    IndexName,
    Projection,
    KeySchema: [
      { AttributeName: "p", KeyType: "HASH" },
      { AttributeName: attribute, KeyType: "RANGE" },
    ],
  });
  const name = await newTable({
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [...keySchema.AttributeDefinitions, { AttributeName: "rank", AttributeType: "N" }],
    LocalSecondaryIndexes: [
      local("by-rank", "rank", { ProjectionType: "INCLUDE", NonKeyAttributes: ["title"] }),
      local("keys-by-rank", "rank", { ProjectionType: "KEYS_ONLY" }),
    ],
  });
  for (let s = 0; s < 6; s++)
    await db.send(new lib.PutCommand({ TableName: name, Item: { p: "a", s, rank: 10 - s, title: "t" + s, body: "b" + s } }));
  const query = { TableName: name, KeyConditionExpression: "p = :p AND #r > :r", ConsistentRead: true, ...all };
  const by = { ExpressionAttributeNames: { "#r": "rank" }, ExpressionAttributeValues: { ":p": "a", ":r": 6 } };
  const found = await db.send(new lib.QueryCommand({ ...query, ...by, IndexName: "by-rank" }));
  assert.deepEqual(found.Items, [3, 2, 1, 0].map((s) => ({ p: "a", s, rank: 10 - s, title: "t" + s })));
  const whole = { IndexName: "keys-by-rank", Select: "ALL_ATTRIBUTES", Limit: 2 };
  const fetched = await db.send(new lib.QueryCommand({ ...query, ...by, ...whole }));
  assert.deepEqual(fetched.Items.map((item) => item.body), ["b3", "b2"]);
  assert.deepEqual(fetched.LastEvaluatedKey, { p: "a", s: 2, rank: 8 });
  const rest = await db.send(
    new lib.QueryCommand({ ...query, ...by, ...whole, ExclusiveStartKey: fetched.LastEvaluatedKey }),
  );
  assert.deepEqual(rest.Items.map((item) => item.body), ["b1", "b0"]);
  const scanned = await db.send(new lib.ScanCommand({ TableName: name, IndexName: "by-rank", ConsistentRead: true }));
  assert.equal(scanned.Count, 6);
  const { Table } = await call("DescribeTable", { TableName: name });
  assert.deepEqual(Table.LocalSecondaryIndexes.map((index) => index.IndexName), ["by-rank", "keys-by-rank"]);
  await call("DeleteTable", { TableName: name });
});

test("batches tell what was not done under throttling, and can be sent again", async () => {
  const units = { ReadCapacityUnits: 1, WriteCapacityUnits: 1 };
  const small = await newTable({ BillingMode: "PROVISIONED", ProvisionedThroughput: units });
  const keys = Array.from({ length: 20 }, (_, s) => ({ p: "a", s }));
  const put = (s) => ({ PutRequest: { Item: { p: "a", s, v: "x".repeat(30000) } } });
  let left, rounds = 0;
  do {
    const RequestItems = { [small]: keys.map(({ s }) => put(s)) };
    const answer = await db.send(new lib.BatchWriteCommand({ RequestItems })).catch((error) => {
      assert.ok(error instanceof sdk.ProvisionedThroughputExceededException, String(error));
      return { UnprocessedItems: RequestItems };
    });
    left = answer.UnprocessedItems[small] ?? [];
  } while ((left.length === 0 || left.length === keys.length) && ++rounds < 100);
  assert.ok(left.length > 0 && left.length < keys.length, `${left.length} left`);
  for (const request of left) assert.ok(request.PutRequest.Item.v.length === 30000);
  const many = Array.from({ length: 100 }, (_, s) => ({ p: "none", s })); // a unit each
  let unread, reads = 0;
  do {
    const RequestItems = { [small]: {
      Keys: many,
      ConsistentRead: true,
      ProjectionExpression: "#s",
      ExpressionAttributeNames: { "#s": "s" },
    } };
    const answer = await db.send(new lib.BatchGetCommand({ RequestItems, ...all })).catch((error) => {
      assert.ok(error instanceof sdk.ProvisionedThroughputExceededException, String(error));
      return { UnprocessedKeys: RequestItems };
    });
    unread = answer.UnprocessedKeys[small];
  } while ((!unread || unread.Keys.length === many.length) && ++reads < 1000);
  assert.ok(unread && unread.Keys.length < many.length);
  assert.equal(unread.ProjectionExpression, "#s");
  assert.deepEqual(unread.ExpressionAttributeNames, { "#s": "s" });
  assert.equal(unread.ConsistentRead, true);
  const Key = { p: "a", s: 1 };
  await db.send(new lib.BatchWriteCommand({ RequestItems: { [TableName]: [{ DeleteRequest: { Key } }] } }));
  await call("DeleteTable", { TableName: small });
});

test("a read has a projection", async () => {
  const Key = { p: "projection", s: 1 };
  await doc("Put", { Item: { ...Key, m: { a: [1, { b: 2 }], c: 3 } } });
  const { Item, ConsumedCapacity } = await doc("Get", {
    Key,
    ProjectionExpression: "#m.a[1].b, s",
    ExpressionAttributeNames: { "#m": "m" },
    ConsistentRead: true,
    ...all,
  });
  assert.deepEqual(Item, { s: 1, m: { a: [{ b: 2 }] } });
  assert.equal(ConsumedCapacity.CapacityUnits, 1);
});

const until = async (name, test) => {
  for (let tries = 0; tries < 2000; tries++) {
    const { Table } = await call("DescribeTable", { TableName: name });
    if (Table.TableStatus === "ACTIVE" && test(Table)) return Table;
  }
  return assert.fail("the table does not become so");
};

test("statements of PartiQL read and write, alone, in batches and in transactions", async () => {
  const table = `"${TableName}"`, at = (s) => `WHERE p = 'partiql' AND s = ${s}`;
  const failing = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" };
  const insert = `INSERT INTO ${table} VALUE {'p': ?, 's': ?, 'v': 1}`;
  const key = (s) => [{ S: "partiql" }, { N: String(s) }];
  for (const s of [1, 2, 3])
    assert.deepEqual((await call("ExecuteStatement", { Statement: insert, Parameters: key(s), ...all })).Items, []);
  await refused(call("ExecuteStatement", { Statement: insert, Parameters: key(1) }), "DuplicateItemException",
    "Duplicate primary key exists in table");
  const found = [];
  let NextToken;
  do {
    const page = await call("ExecuteStatement", {
      Statement: `SELECT s FROM ${table} WHERE p = 'partiql' AND v = ?`, Parameters: [{ N: "1" }], ConsistentRead: true,
      Limit: 2, NextToken, ...failing, ...all });
    found.push(...page.Items.map((item) => unmarshall(item).s));
    assert.ok(page.ConsumedCapacity.Table.CapacityUnits >= 1);
    NextToken = page.NextToken;
  } while (NextToken);
  assert.deepEqual(found, [1, 2, 3]);
  await assert.rejects(
    call("ExecuteStatement", { Statement: `UPDATE ${table} SET v = 2 ${at(1)} AND v = 9`, ...failing }),
    (error) => {
      assert.ok(error instanceof sdk.ConditionalCheckFailedException);
      assert.equal(unmarshall(error.Item).v, 1);
      return true;
    },
  );
  const read = { Statement: `SELECT v FROM ${table} WHERE p = ? AND s = ?`, Parameters: key(1) };
  const reads = await call("BatchExecuteStatement", { Statements: [{ ...read, ConsistentRead: true }], ...all });
  assert.deepEqual(reads.Responses[0].Item, { v: { N: "1" } });
  assert.equal(reads.ConsumedCapacity[0].CapacityUnits, 1);
  const writes = await call("BatchExecuteStatement", {
    Statements: [{ Statement: `UPDATE ${table} SET v = 2 ${at(1)} AND v = 9`, ...failing },
      { Statement: `UPDATE ${table} SET v = v + 1 ${at(2)} RETURNING ALL NEW *` }] });
  assert.equal(writes.Responses[0].Error.Code, "ConditionalCheckFailed");
  assert.equal(unmarshall(writes.Responses[0].Error.Item).v, 1);
  assert.equal(unmarshall(writes.Responses[1].Item).v, 2);
  const once = { ClientRequestToken: newName().slice(0, 36), ...all };
  for (let i = 0; i < 2; i++)
    await call("ExecuteTransaction", { ...once, TransactStatements: [
      { Statement: `UPDATE ${table} SET v = v + 1 WHERE p = ? AND s = ?`, Parameters: key(3), ...failing },
      { Statement: `DELETE FROM ${table} ${at(2)}` }] });
  const both = await call("ExecuteTransaction", { TransactStatements: [2, 3].map((s) => ({ ...read, Parameters: key(s) })) });
  assert.deepEqual(both.Responses.map((r) => r.Item), [undefined, { v: { N: "2" } }]);
  await assert.rejects(
    call("ExecuteTransaction", { TransactStatements: [
      { Statement: `UPDATE ${table} SET v = 2 ${at(1)} AND v = 9`, ...failing },
      { Statement: insert, Parameters: key(3) }] }),
    (error) => {
      assert.ok(error instanceof sdk.TransactionCanceledException);
      assert.deepEqual(error.CancellationReasons.map((r) => r.Code), ["ConditionalCheckFailed", "DuplicateItem"]);
      assert.equal(unmarshall(error.CancellationReasons[0].Item).v, 1);
      return true;
    },
  );
});

test("tables have classes, encryption, protection, tags and limits", async () => {
  const name = await newTable({
    Tags: [{ Key: "a", Value: "1" }],
    DeletionProtectionEnabled: true,
    StreamSpecification: { StreamEnabled: false },
    SSESpecification: { Enabled: true, SSEType: "KMS", KMSMasterKeyId: "alias/mine" },
    TableClass: "STANDARD_INFREQUENT_ACCESS",
    OnDemandThroughput: { MaxReadRequestUnits: 50, MaxWriteRequestUnits: 60 },
    WarmThroughput: { ReadUnitsPerSecond: 12000, WriteUnitsPerSecond: 4000 },
  });
  const { Table } = await call("DescribeTable", { TableName: name });
  assert.equal(Table.DeletionProtectionEnabled, true);
  assert.equal(Table.SSEDescription.SSEType, "KMS");
  await refused(call("DeleteTable", { TableName: name }), "ValidationException");
  const change = async (members, test = () => true) => {
    await call("UpdateTable", { TableName: name, ...members });
    return until(name, test);
  };
  await change({ DeletionProtectionEnabled: false }, (t) => !t.DeletionProtectionEnabled);
  await change({ TableClass: "STANDARD" });
  await change({ SSESpecification: { Enabled: true, SSEType: "KMS", KMSMasterKeyId: "alias/other" } });
  const limit = { MaxReadRequestUnits: 51, MaxWriteRequestUnits: 61 };
  await change({ OnDemandThroughput: limit }, (t) => t.OnDemandThroughput.MaxReadRequestUnits === 51);
  const warm = { ReadUnitsPerSecond: 13000, WriteUnitsPerSecond: 5000 };
  await change({ WarmThroughput: warm }, (t) => t.WarmThroughput.ReadUnitsPerSecond === 13000);
  const units = (r) => ({ ReadCapacityUnits: r, WriteCapacityUnits: 5 });
  await change({ BillingMode: "PROVISIONED", ProvisionedThroughput: units(9) });
  for (const r of [8, 7, 6, 5])
    await change({ ProvisionedThroughput: units(r) }, (t) => t.ProvisionedThroughput.ReadCapacityUnits === r);
  await refused(call("UpdateTable", { TableName: name, ProvisionedThroughput: units(4) }), "LimitExceededException");
  await refused(
    call("UpdateTable", { TableName: name, ReplicaUpdates: [{ Delete: { RegionName: "abc" } }] }),
    "ValidationException",
    "ReplicaUpdates is not supported by weir yet",
  );
  const base = { TableName: newName(), BillingMode: "PAY_PER_REQUEST", ...keySchema };
  await refused(call("CreateTable", { ...base, ResourcePolicy: "{}" }), "ValidationException");
  await call("DeleteTable", { TableName: name });
});

test("global indexes have keys, a projection and throughput of their own", async () => {
  const global = (IndexName, hashes, ranges, Projection, more) => ({
    IndexName,
    Projection,
    KeySchema: [
      ...hashes.map((AttributeName) => ({ AttributeName, KeyType: "HASH" })),
      ...ranges.map((AttributeName) => ({ AttributeName, KeyType: "RANGE" })),
    ],
    ...more,
  });
  const AttributeDefinitions = [
    ...keySchema.AttributeDefinitions,
    { AttributeName: "city", AttributeType: "S" },
    { AttributeName: "rank", AttributeType: "N" },
  ];
  const limit = { MaxReadRequestUnits: 50, MaxWriteRequestUnits: 60 };
  const warm = { ReadUnitsPerSecond: 13000, WriteUnitsPerSecond: 5000 };
  const name = await newTable({
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions,
    GlobalSecondaryIndexes: [
      global("by-city", ["city"], ["rank"], { ProjectionType: "INCLUDE", NonKeyAttributes: ["title"] }, {
        OnDemandThroughput: limit,
        WarmThroughput: warm,
      }),
      global("by-both", ["city", "rank"], [], { ProjectionType: "KEYS_ONLY" }),
    ],
  });
  for (let s = 0; s < 6; s++)
    await db.send(new lib.PutCommand({ TableName: name, Item: { p: "a", s, city: "rome", rank: 10 - s, title: "t" + s } }));
  const query = {
    TableName: name,
    IndexName: "by-city",
    KeyConditionExpression: "city = :c AND #r > :r",
    ExpressionAttributeNames: { "#r": "rank" },
    ExpressionAttributeValues: { ":c": "rome", ":r": 6 },
    ...all,
  };
  let found;
  do found = await db.send(new lib.QueryCommand(query));
  while (found.Count < 4);
  assert.deepEqual(found.Items, [3, 2, 1, 0].map((s) => ({ p: "a", s, city: "rome", rank: 10 - s, title: "t" + s })));
  assert.deepEqual(found.ConsumedCapacity.GlobalSecondaryIndexes, { "by-city": { CapacityUnits: 0.5 } });
  let page; // another replica may lag behind
  do page = await db.send(new lib.QueryCommand({ ...query, Limit: 1 }));
  while (page.LastEvaluatedKey?.s !== 3);
  assert.deepEqual(page.LastEvaluatedKey, { p: "a", s: 3, city: "rome", rank: 7 });
  await refused(
    db.send(new lib.ScanCommand({ TableName: name, IndexName: "by-both", ProjectionExpression: "title" })),
    "ValidationException",
    "One or more parameter values were invalid: Global secondary index by-both does not project [title]",
  );
  const index = async () => (await call("DescribeTable", { TableName: name })).Table.GlobalSecondaryIndexes[0];
  assert.deepEqual((await index()).OnDemandThroughput, limit);
  const update = (IndexName, more) => ({ Update: { IndexName, ...more } });
  const change = (GlobalSecondaryIndexUpdates, more) =>
    call("UpdateTable", { TableName: name, GlobalSecondaryIndexUpdates, ...more });
  const more = { ReadUnitsPerSecond: 14000, WriteUnitsPerSecond: 6000 };
  await change([update("by-city", { OnDemandThroughput: { ...limit, MaxReadRequestUnits: 51 } })]);
  assert.equal((await index()).OnDemandThroughput.MaxReadRequestUnits, 51);
  await change([update("by-city", { WarmThroughput: more })]);
  const addAndDrop = async (members) => {
    const create = { IndexName: "abc", KeySchema: [{ AttributeName: "rank", KeyType: "HASH" }], ...members };
    await change([{ Create: create }], { AttributeDefinitions });
    await until(name, (Table) => Table.GlobalSecondaryIndexes.every((x) => x.IndexStatus === "ACTIVE"));
    await change([{ Delete: { IndexName: "abc" } }]);
    await until(name, (Table) => Table.GlobalSecondaryIndexes.length === 2);
  };
  const some = { ProjectionType: "INCLUDE", NonKeyAttributes: ["title"] };
  await addAndDrop({ Projection: some, OnDemandThroughput: limit, WarmThroughput: more });
  const ProvisionedThroughput = { ReadCapacityUnits: 7, WriteCapacityUnits: 8 };
  await change([update("by-city", { ProvisionedThroughput }), update("by-both", { ProvisionedThroughput })], {
    BillingMode: "PROVISIONED",
    ProvisionedThroughput,
    AttributeDefinitions,
  });
  assert.equal((await index()).ProvisionedThroughput.WriteCapacityUnits, 8);
  await addAndDrop({ Projection: { ProjectionType: "ALL" }, ProvisionedThroughput });
  const insights = await call("DescribeContributorInsights", { TableName: name, IndexName: "by-city" });
  assert.equal(insights.IndexName, "by-city");
  const priced = {
    ProvisionedThroughput,
    BillingMode: "PROVISIONED",
    AttributeDefinitions: AttributeDefinitions.slice(0, 3),
    GlobalSecondaryIndexes: [global("by-city", ["city"], [], { ProjectionType: "ALL" }, { ProvisionedThroughput })],
  };
  for (const one of [name, await newTable(priced)]) await call("DeleteTable", { TableName: one });
});

test("tags are set, listed and removed", async () => {
  const ResourceArn = TableArn;
  await call("TagResource", { ResourceArn, Tags: [{ Key: "k", Value: "v" }, { Key: "l", Value: "" }] });
  await call("UntagResource", { ResourceArn, TagKeys: ["l"] });
  assert.deepEqual((await call("ListTagsOfResource", { ResourceArn })).Tags, [{ Key: "k", Value: "v" }]);
  await refused(call("ListTagsOfResource", { ResourceArn, NextToken: "?" }), "ValidationException");
  await refused(
    call("TagResource", { ResourceArn: TableArn + "x", Tags: [{ Key: "k", Value: "v" }] }),
    "ResourceNotFoundException",
  );
});

test("items expire once their time to live is over", async () => {
  const name = await newTable({ BillingMode: "PAY_PER_REQUEST" });
  const specification = { Enabled: true, AttributeName: "t" };
  const past = { N: String(Math.floor(Date.now() / 1000) - 10) };
  await call("PutItem", { TableName: name, Item: { p: { S: "1" }, s: { N: "1" }, t: past } });
  const update = (Enabled) =>
    call("UpdateTimeToLive", { TableName: name, TimeToLiveSpecification: { ...specification, Enabled } });
  await refused(update(false), "ValidationException", "TimeToLive is already disabled");
  assert.deepEqual((await update(true)).TimeToLiveSpecification, specification);
  const { TimeToLiveDescription } = await call("DescribeTimeToLive", { TableName: name });
  assert.deepEqual(TimeToLiveDescription, { AttributeName: "t", TimeToLiveStatus: "ENABLED" });
  let left = 1;
  for (let tries = 0; tries < 2000 && left > 0; tries++) left = (await call("Scan", { TableName: name })).Count;
  assert.equal(left, 0);
  await update(false);
  await call("DeleteTable", { TableName: name });
});

test("what weir does not have is told as off", async () => {
  const { ContinuousBackupsDescription } = await call("DescribeContinuousBackups", { TableName });
  assert.equal(ContinuousBackupsDescription.ContinuousBackupsStatus, "DISABLED");
  const off = { PointInTimeRecoveryEnabled: false };
  await call("UpdateContinuousBackups", { TableName, PointInTimeRecoverySpecification: off });
  const insights = await call("DescribeContributorInsights", { TableName });
  assert.equal(insights.ContributorInsightsStatus, "DISABLED");
  await call("ListContributorInsights", { TableName, MaxResults: 5, NextToken: "x" });
  await call("DescribeKinesisStreamingDestination", { TableName });
  await call("DescribeTableReplicaAutoScaling", { TableName });
  const time = new Date(0);
  const { BackupSummaries } = await call("ListBackups", {
    TableName,
    Limit: 5,
    TimeRangeLowerBound: time,
    TimeRangeUpperBound: time,
    BackupType: "ALL",
    ExclusiveStartBackupArn: TableArn + "/backup/01489602797149-73d8d5bc",
  });
  assert.deepEqual(BackupSummaries, []);
  await call("ListExports", { TableArn, MaxResults: 5, NextToken: "x" });
  await call("ListImports", { TableArn, PageSize: 5, NextToken: "x".repeat(112) });
  const global = { ExclusiveStartGlobalTableName: "abc", Limit: 5, RegionName: "us-east-1" };
  assert.deepEqual((await call("ListGlobalTables", global)).GlobalTables, []);
  assert.ok((await call("DescribeLimits", {})).AccountMaxReadCapacityUnits > 0);
  assert.ok((await call("DescribeEndpoints", {})).Endpoints.length === 1);
});

test("every error is of its class", async () => {
  const gone = { TableName: newName() };
  await refused(call("DescribeTable", gone), "ResourceNotFoundException");
  await refused(call("DescribeContinuousBackups", gone), "TableNotFoundException");
  await refused(call("CreateTable", { TableName, ...keySchema, BillingMode: "PAY_PER_REQUEST" }), "ResourceInUseException");
  await refused(call("DescribeGlobalTable", { GlobalTableName: "abc" }), "GlobalTableNotFoundException");
  await refused(call("DescribeGlobalTableSettings", { GlobalTableName: "abc" }), "GlobalTableNotFoundException");
  await refused(call("GetResourcePolicy", { ResourceArn: TableArn }), "PolicyNotFoundException");
  await refused(call("DescribeContributorInsights", { TableName, IndexName: "none" }), "ResourceNotFoundException");
  await refused(call("GetItem", { TableName, Key: {} }), "ValidationException");
  await refused(call("GetItem", { TableName, Key: { p: { S: 1 } } }), "SerializationException");
  await refused(call("CreateBackup", { TableName, BackupName: "backup" }), "UnknownOperationException");
});

test("names of tables are listed page by page", async () => {
  const names = [];
  for await (const page of sdk.paginateListTables({ client: raw, pageSize: 1 }, {})) names.push(...page.TableNames);
  assert.ok(names.includes(TableName));
  const { TableNames } = await call("ListTables", { ExclusiveStartTableName: TableName, Limit: 1 });
  assert.ok(!TableNames.includes(TableName));
});

test("transactions do all or nothing, and say why not", async () => {
  const item = (s, v) => ({ p: "transactions", s, v });
  const Key = (s) => ({ p: "transactions", s });
  const values = { ExpressionAttributeValues: { ":n": 1 } };
  const names = { ExpressionAttributeNames: { "#v": "v" } };
  const told = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" };
  const write = (TransactItems, more = {}) => db.send(new lib.TransactWriteCommand({ TransactItems, ...more }));
  const first = await write(
    [{ Put: { TableName, Item: item(1, 1) } }, { Put: { TableName, Item: item(2, 1) } }],
    { ...all, ReturnItemCollectionMetrics: "SIZE", ClientRequestToken: newName().slice(0, 36) },
  );
  const written = { CapacityUnits: 4, WriteCapacityUnits: 4 };
  assert.deepEqual(first.ConsumedCapacity, [{ TableName, ...written, Table: written }]);
  const parts = (n) => {
    const more = { TableName, ConditionExpression: "#v = :n", ...names, ExpressionAttributeValues: { ":n": n }, ...told };
    return [
      { ConditionCheck: { Key: Key(1), ...more } },
      { Update: { Key: Key(2), UpdateExpression: "SET #v = #v + :n", ...more } },
      { Put: { Item: item(3, n), TableName, ...names, ...values, ...told,
        ConditionExpression: "attribute_not_exists(#v) OR #v < :n" } },
      { Delete: { Key: Key(4), TableName, ...names, ...values, ...told, ConditionExpression: "NOT #v = :n" } },
    ];
  };
  await assert.rejects(write(parts(7)), (error) => {
    assert.ok(error instanceof sdk.TransactionCanceledException, String(error));
    const codes = error.CancellationReasons.map((reason) => reason.Code);
    assert.deepEqual(codes, ["ConditionalCheckFailed", "ConditionalCheckFailed", "None", "None"]);
    assert.deepEqual(unmarshall(error.CancellationReasons[0].Item), item(1, 1));
    return true;
  });
  await write(parts(1));
  const get = (s) => ({ Get: { TableName, Key: Key(s), ProjectionExpression: "#v", ...names } });
  const { Responses, ConsumedCapacity } = await db.send(
    new lib.TransactGetCommand({ TransactItems: [1, 2, 3, 4].map(get), ...all }),
  );
  assert.deepEqual(Responses.map(({ Item }) => Item), [{ v: 1 }, { v: 2 }, { v: 1 }, undefined]);
  const read = { CapacityUnits: 8, ReadCapacityUnits: 8 };
  assert.deepEqual(ConsumedCapacity, [{ TableName, ...read, Table: read }]);
  const token = { ClientRequestToken: newName().slice(0, 36) };
  const add = (n) => [{ Update: { TableName, Key: Key(5), UpdateExpression: "ADD #v :n", ...names,
    ExpressionAttributeValues: { ":n": n } } }];
  for (let i = 0; i < 3; i++) await write(add(2), token);
  assert.equal((await doc("Get", { Key: Key(5), ConsistentRead: true })).Item.v, 2);
  await refused(write(add(3), token), "IdempotentParameterMismatchException");
});

test("a stream is followed", async () => {
  const ask = (name, members) => streams.send(new sdkStreams[name + "Command"](members));
  const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" };
  const Table = await newTable({ StreamSpecification });
  const StreamArn = (await call("DescribeTable", { TableName: Table })).Table.LatestStreamArn;
  const listed = await ask("ListStreams", { TableName: Table, Limit: 3 });
  assert.deepEqual(listed.Streams.map((stream) => stream.StreamArn), [StreamArn]);
  await ask("ListStreams", { ExclusiveStartStreamArn: StreamArn });
  const first = (await ask("DescribeStream", { StreamArn, Limit: 1 })).StreamDescription;
  assert.equal(first.StreamStatus, "ENABLED");
  assert.ok(first.CreationRequestDateTime instanceof Date);
  const ids = [first.Shards[0].ShardId];
  if (first.LastEvaluatedShardId !== undefined) {
    const more = await ask("DescribeStream", { StreamArn, ExclusiveStartShardId: first.LastEvaluatedShardId });
    ids.push(...more.StreamDescription.Shards.map((shard) => shard.ShardId));
  }
  const children = await ask("DescribeStream", { StreamArn, ShardFilter: { Type: "CHILD_SHARDS", ShardId: ids[0] } });
  assert.deepEqual(children.StreamDescription.Shards, []);
  await db.send(new lib.PutCommand({ TableName: Table, Item: { p: "a", s: 1, v: 1 } }));
  await db.send(new lib.PutCommand({ TableName: Table, Item: { p: "a", s: 1, v: 2 } }));
  const records = [];
  for (const ShardId of ids) {
    const { ShardIterator } = await ask("GetShardIterator", { StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" });
    const answer = await ask("GetRecords", { ShardIterator, Limit: 10 });
    assert.ok(answer.NextShardIterator);
    for (const { dynamodb } of answer.Records) {
      const SequenceNumber = dynamodb.SequenceNumber;
      await ask("GetShardIterator", { StreamArn, ShardId, ShardIteratorType: "AT_SEQUENCE_NUMBER", SequenceNumber });
      assert.ok(dynamodb.ApproximateCreationDateTime instanceof Date);
    }
    records.push(...answer.Records);
  }
  assert.deepEqual(records.map((r) => r.eventName), ["INSERT", "MODIFY"]);
  assert.deepEqual(unmarshall(records[1].dynamodb.OldImage), { p: "a", s: 1, v: 1 });
  assert.deepEqual(unmarshall(records[1].dynamodb.NewImage), { p: "a", s: 1, v: 2 });
  await assert.rejects(ask("GetRecords", { ShardIterator: "none" }), { name: "ValidationException" });
  await assert.rejects(ask("DescribeStream", { StreamArn: StreamArn.replace("/stream/", "/stream/x") }), (error) => {
    assert.ok(error instanceof sdkStreams.ResourceNotFoundException, String(error));
    return true;
  });
  await call("UpdateTable", { TableName: Table, StreamSpecification: { StreamEnabled: false } });
  await call("UpdateTable", { TableName: Table, StreamSpecification: { StreamEnabled: true, StreamViewType: "KEYS_ONLY" } });
  await call("DeleteTable", { TableName: Table });
});

// A key's first 800 units a second make it hot: a failed condition of a large item costs them, and changes nothing.
test("a key that has shards is for clients what it was", async () => {
  const Table = await newTable({ Tags: [{ Key: "weir:key-sharding", Value: "3" }] });
  const ResourceArn = (await call("DescribeTable", { TableName: Table })).Table.TableArn;
  assert.deepEqual((await call("ListTagsOfResource", { ResourceArn })).Tags, [{ Key: "weir:key-sharding", Value: "3" }]);
  await refused(call("TagResource", { ResourceArn, Tags: [{ Key: "weir:key-sharding", Value: "1" }] }), "ValidationException",
    "The tag weir:key-sharding is '1' and may only be 'auto', 'counter', 'off', or a whole number from 2 to 128");
  const keys = Array.from({ length: 60 }, (_, s) => ({ p: "hot", s }));
  const patient = async (command) => {
    for (;;) {
      try {
        return await db.send(command);
      } catch (error) {
        if (error.name !== "ThrottlingException") throw error;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }
  };
  const put = (key) => patient(new lib.PutCommand({ TableName: Table, Item: { ...key, text: "t" + key.s } }));
  const heat = () =>
    db.send(new lib.PutCommand({ TableName: Table, Item: { p: "hot", s: -1, text: "x".repeat(390000) },
      ConditionExpression: "attribute_exists(nothing)" })).catch((error) => assert.notEqual(error.name, "ValidationException"));
  const shards = async () => {
    const page = await (await fetch(process.env.WEIR_URL + "/weir/partitions?table=" + Table)).json();
    return page.tables[0].key_sharding?.keys[0].shards ?? 1;
  };
  for (const key of keys.slice(0, 30)) await put(key);
  const end = Date.now() + 30000;
  while ((await shards()) !== 3) {
    assert.ok(Date.now() < end, "the key gets no shards");
    await Promise.all(Array.from({ length: 4 }, heat));
  }
  for (const key of keys.slice(30)) await put(key);
  for (const ScanIndexForward of [true, false]) {
    const pages = lib.paginateQuery({ client: db, pageSize: 7 }, { TableName: Table, KeyConditionExpression: "p = :p",
      ExpressionAttributeValues: { ":p": "hot" }, ScanIndexForward, ConsistentRead: true });
    const found = [];
    for await (const page of pages) found.push(...page.Items.map(({ s }) => s));
    assert.deepEqual(found, (ScanIndexForward ? keys : [...keys].reverse()).map(({ s }) => s));
  }
  const query = new lib.QueryCommand({ TableName: Table, KeyConditionExpression: "p = :p", ConsistentRead: true,
    ExpressionAttributeValues: { ":p": "hot" }, ReturnConsumedCapacity: "TOTAL" });
  assert.equal((await patient(query)).ConsumedCapacity.CapacityUnits, 3);
  await call("DeleteTable", { TableName: Table });
});
