// sdk_v2_test.mjs - the AWS SDK for JavaScript v2, and the mapper above it, against a weir endpoint (WEIR_URL).
import assert from "node:assert/strict";
import { test } from "node:test";

import { DataMapper, DynamoDbSchema, DynamoDbTable } from "@aws/dynamodb-data-mapper";
import * as expressions from "@aws/dynamodb-expressions";
import DynamoDB from "aws-sdk/clients/dynamodb.js";

const { AttributePath, FunctionExpression, MathematicalExpression, UpdateExpression, between, equals } = expressions;
const raw = new DynamoDB({
  endpoint: process.env.WEIR_URL,
  region: "us-east-1",
  credentials: { accessKeyId: "weir", secretAccessKey: "weir" },
  maxRetries: 0,
});
const count = (n) => Array.from({ length: n }, (_, i) => i);
const failed = { code: "ConditionalCheckFailedException" };

test("the document client of SDK v2 works with the parameters from before expressions", async () => {
  const db = new DynamoDB.DocumentClient({ service: raw });
  const TableName = "sdk2";
  await raw
    .createTable({
      TableName,
      AttributeDefinitions: [
        { AttributeName: "p", AttributeType: "S" },
        { AttributeName: "s", AttributeType: "N" },
      ],
      KeySchema: [
        { AttributeName: "p", KeyType: "HASH" },
        { AttributeName: "s", KeyType: "RANGE" },
      ],
      ProvisionedThroughput: { ReadCapacityUnits: 1000, WriteCapacityUnits: 1000 },
    })
    .promise();
  const { Table } = await raw.waitFor("tableExists", { TableName }).promise();
  assert.ok(Table.CreationDateTime instanceof Date);
  const Key = { p: "a", s: 1 };
  const Item = { ...Key, n: 1, none: "", l: [1, "x", null], m: { d: { e: 1.5 } }, set: db.createSet([1, 2]), big: 1e125 };
  const put = (Expected) => db.put({ TableName, Item, Expected, ReturnValues: "ALL_OLD" }).promise();
  assert.equal((await put({ p: { Exists: false } })).Attributes, undefined);
  await assert.rejects(put({ p: { Exists: false } }), failed);
  await assert.rejects(put({ n: { ComparisonOperator: "BETWEEN", AttributeValueList: [5, 9] } }), failed);
  assert.equal((await put({ n: { Value: 1 } })).Attributes.big, 1e125);
  const update = async (AttributeUpdates, ReturnValues, Expected) =>
    (await db.update({ TableName, Key, AttributeUpdates, ReturnValues, Expected }).promise()).Attributes;
  const changes = {
    n: { Action: "ADD", Value: 5 },
    l: { Action: "ADD", Value: ["z"] },
    set: { Action: "DELETE", Value: db.createSet([1]) },
    none: { Action: "DELETE" },
    fresh: { Value: "put" },
  };
  const now = await update(changes, "ALL_NEW");
  assert.deepEqual([now.n, now.l, now.set.values, now.none, now.fresh], [6, [1, "x", null, "z"], [2], undefined, "put"]);
  assert.deepEqual(await update({ n: { Action: "ADD", Value: -1 } }, "UPDATED_OLD"), { n: 6 });
  await assert.rejects(update(changes, "ALL_NEW", { n: { Value: 99 } }), failed);
  const puts = count(25).map((i) => ({ PutRequest: { Item: { p: "b", s: i, v: i % 5 } } }));
  assert.deepEqual((await db.batchWrite({ RequestItems: { [TableName]: puts } }).promise()).UnprocessedItems, {});
  const one = (ComparisonOperator, ...AttributeValueList) => ({ ComparisonOperator, AttributeValueList });
  const query = {
    TableName,
    KeyConditions: { p: one("EQ", "b"), s: one("GE", 5) },
    QueryFilter: { v: one("IN", 1, 2) },
    AttributesToGet: ["s"],
    ScanIndexForward: false,
    Limit: 7,
  };
  const found = [];
  do {
    const page = await db.query(query).promise();
    found.push(...page.Items.map((item) => item.s));
    query.ExclusiveStartKey = page.LastEvaluatedKey;
  } while (query.ExclusiveStartKey);
  assert.deepEqual(found, [22, 21, 17, 16, 12, 11, 7, 6]);
  const scan = { TableName, ScanFilter: { v: one("NOT_NULL"), p: one("BEGINS_WITH", "b") }, TotalSegments: 3 };
  const segments = await Promise.all(count(3).map((Segment) => db.scan({ ...scan, Segment }).promise()));
  assert.equal(segments.reduce((sum, segment) => sum + segment.Count, 0), 25);
  const gone = await db.delete({ TableName, Key, Expected: { n: { Value: 5 } }, ReturnValues: "ALL_OLD" }).promise();
  assert.equal(gone.Attributes.n, 5);
  await raw.deleteTable({ TableName }).promise();
  await raw.waitFor("tableNotExists", { TableName }).promise();
});

class Thing {
  constructor(members) {
    Object.assign(this, members);
  }
}
Object.defineProperties(Thing.prototype, {
  [DynamoDbTable]: { value: "things" },
  [DynamoDbSchema]: {
    value: {
      id: { type: "String", keyType: "HASH" },
      at: { type: "Number", keyType: "RANGE" },
      n: { type: "Number", attributeName: "number" },
      name: { type: "String" },
      tags: { type: "Set", memberType: "String" },
      list: { type: "List", memberType: { type: "Number" } },
      doc: { type: "Document", members: { a: { type: "Number" }, when: { type: "Date" } } },
      version: { type: "Number", versionAttribute: true },
    },
  },
});

test("dynamodb-data-mapper keeps versions, updates by its own expressions and iterates", async () => {
  const mapper = new DataMapper({ client: raw });
  const collect = async (iterator, member) => {
    const values = [];
    for await (const thing of iterator) values.push(thing[member]);
    return values;
  };
  await mapper.ensureTableExists(Thing, { readCapacityUnits: 1000, writeCapacityUnits: 1000 });
  const key = { id: "a", at: 1 };
  const first = { ...key, n: 1, tags: new Set(["x"]), list: [1], doc: { a: 1, when: new Date(86400000) } };
  assert.equal((await mapper.put(new Thing(first))).version, 0);
  await assert.rejects(mapper.put(new Thing(first)), failed);
  const got = await mapper.get(new Thing(key), { readConsistency: "strong", projection: ["doc.when", "list[0]", "tags"] });
  assert.deepEqual([got.doc.when, got.list, got.tags, got.n], [new Date(86400000), [1], new Set(["x"]), undefined]);
  await assert.rejects(mapper.get(new Thing({ id: "none", at: 1 })), { name: "ItemNotFoundException" });
  const next = await mapper.update(new Thing({ ...key, version: 0, name: "y" }), { onMissing: "skip" });
  assert.deepEqual([next.n, next.name, next.version], [1, "y", 1]);
  await assert.rejects(mapper.update(new Thing({ ...key, version: 0, name: "z" })), failed);
  const change = new UpdateExpression();
  change.add("n", 5);
  change.set("list", new FunctionExpression("list_append", new AttributePath("list"), [7]));
  change.set("doc.a", new MathematicalExpression(new AttributePath("doc.a"), "+", 2));
  change.remove("name");
  change.delete("tags", new Set(["none"]));
  const changed = await mapper.executeUpdateExpression(change, new Thing(key), Thing);
  assert.deepEqual([changed.n, changed.list, changed.doc.a, changed.name], [6, [1, 7], 3, undefined]);
  const condition = { ...equals(99), subject: "n" };
  await assert.rejects(mapper.executeUpdateExpression(change, new Thing(key), Thing, { condition }), failed);
  const many = count(60).map((i) => new Thing({ id: "b", at: i, n: i % 4 }));
  assert.equal((await collect(mapper.batchPut(many), "at")).length, 60);
  assert.equal((await collect(mapper.batchGet(count(110).map((at) => new Thing({ id: "b", at }))), "at")).length, 60);
  const options = { filter: { ...equals(3), subject: "n" }, pageSize: 7, scanIndexForward: false, projection: ["at"] };
  const query = mapper.query(Thing, { id: "b", at: between(10, 29) }, options);
  assert.deepEqual(await collect(query, "at"), [27, 23, 19, 15, 11]);
  assert.deepEqual([query.count, query.scannedCount], [5, 20]);
  assert.equal((await collect(mapper.parallelScan(Thing, 4, { pageSize: 10 }), "at")).length, 61);
  assert.equal((await collect(mapper.batchDelete(many), "at")).length, 60);
  await assert.rejects(mapper.delete(new Thing({ ...key, version: 0 })), failed);
  assert.equal((await mapper.delete(new Thing({ ...key, version: 1 }), { returnValues: "ALL_OLD" })).n, 6);
  await mapper.ensureTableNotExists(Thing);
});
