// sdk_v3_test.mjs - the AWS SDK for JavaScript v3 against a weir endpoint (WEIR_URL).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  CreateBackupCommand,
  GetItemCommand,
  ListTablesCommand,
  ProvisionedThroughputExceededException,
  ResourceNotFoundException,
  UpdateTableCommand,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  paginateQuery,
  paginateScan,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";

import { db, newName, newTable, raw } from "./sdk.mjs";

/** A provisioned table; those of sdk.mjs are on demand. */
const provisioned = (units) =>
  newTable({
    BillingMode: "PROVISIONED",
    ProvisionedThroughput: { ReadCapacityUnits: units, WriteCapacityUnits: units },
  });

let TableName;
before(async () => {
  TableName = await provisioned(900);
});
after(() => raw.destroy());

test("documents come back as they were put", async () => {
  const item = {
    p: "docs",
    s: 1.5,
    text: "\u00fc\u{1f30a}",
    bytes: new Uint8Array([0, 1, 255]),
    set: new Set(["a", "b"]),
    nested: { list: [1, null, true, { deep: ["x"] }], empty: "" },
  };
  await db.send(new PutCommand({ TableName, Item: item }));
  const { Item } = await db.send(
    new GetCommand({ TableName, Key: { p: "docs", s: 1.5 }, ConsistentRead: true }),
  );
  assert.deepEqual(Item, item);
  const gone = await db.send(
    new DeleteCommand({ TableName, Key: { p: "docs", s: 1.5 }, ReturnValues: "ALL_OLD" }),
  );
  assert.deepEqual(gone.Attributes, item);
  const none = await db.send(new GetCommand({ TableName, Key: { p: "docs", s: 1.5 }, ConsistentRead: true }));
  assert.equal(none.Item, undefined);
});

test("an update tells what it changed", async () => {
  const Key = { p: "updates", s: 1 };
  const update = (UpdateExpression, ReturnValues) =>
    db.send(
      new UpdateCommand({
        TableName,
        Key,
        UpdateExpression,
        ExpressionAttributeValues: { ":one": 1 },
        ReturnValues,
      }),
    );
  assert.equal((await update("ADD n :one", "NONE")).Attributes, undefined);
  assert.deepEqual((await update("SET n = n + :one", "ALL_NEW")).Attributes, { ...Key, n: 2 });
  assert.deepEqual((await update("ADD n :one SET m = n", "UPDATED_NEW")).Attributes, { n: 3, m: 2 });
  await db.send(new DeleteCommand({ TableName, Key }));
});

test("batches, queries and scans see the same items", async () => {
  const puts = Array.from({ length: 25 }, (_, s) => ({ PutRequest: { Item: { p: "many", s } } }));
  const { UnprocessedItems } = await db.send(
    new BatchWriteCommand({ RequestItems: { [TableName]: puts } }),
  );
  assert.deepEqual(UnprocessedItems, {});
  const Keys = puts.map((put) => put.PutRequest.Item);
  const got = await db.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys, ConsistentRead: true } } }));
  assert.equal(got.Responses[TableName].length, 25);
  const query = {
    TableName,
    KeyConditionExpression: "#p = :p AND #s >= :s",
    ExpressionAttributeNames: { "#p": "p", "#s": "s" },
    ExpressionAttributeValues: { ":p": "many", ":s": 10 },
    ScanIndexForward: false,
    ConsistentRead: true,
  };
  const found = [];
  for await (const page of paginateQuery({ client: db, pageSize: 4 }, query))
    found.push(...page.Items.map((item) => item.s));
  assert.deepEqual(found, Array.from({ length: 15 }, (_, i) => 24 - i));
  let scanned = 0;
  for await (const page of paginateScan({ client: db, pageSize: 7 }, { TableName, ConsistentRead: true }))
    scanned += page.Count;
  assert.equal(scanned, 25);
});

test("capacity is told", async () => {
  const { ConsumedCapacity } = await db.send(
    new PutCommand({
      TableName,
      Item: { p: "units", s: 1, v: "x".repeat(2000) },
      ReturnConsumedCapacity: "TOTAL",
    }),
  );
  assert.equal(ConsumedCapacity.CapacityUnits, 2);
});

test("errors have their classes, messages and request ids", async () => {
  await assert.rejects(
    db.send(new GetCommand({ TableName: newName(), Key: { p: "a", s: 1 } })),
    (error) => {
      assert.ok(error instanceof ResourceNotFoundException);
      assert.equal(error.message, "Requested resource not found");
      assert.match(error.$metadata.requestId, /^[0-9A-Z]{52}$/);
      return true;
    },
  );
  await assert.rejects(raw.send(new GetItemCommand({ TableName, Key: { p: { S: "a" } } })), {
    name: "ValidationException",
    message: "The provided key element does not match the schema",
  });
  await assert.rejects(
    db.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: "p = :p",
        ExpressionAttributeValues: { ":p": 1 },
      }),
    ),
    { name: "ValidationException" },
  );
  await assert.rejects(
    raw.send(new CreateBackupCommand({ TableName, BackupName: "backup" })),
    { name: "UnknownOperationException" },
  );
});

test("a throttled write is the exception the SDK retries", async () => {
  const small = await provisioned(1);
  const write = () =>
    db.send(new PutCommand({ TableName: small, Item: { p: "a", s: 1, v: "x".repeat(100000) } }));
  await assert.rejects(
    async () => {
      for (let i = 0; i < 400; i++) await write();
    },
    (error) => {
      assert.ok(error instanceof ProvisionedThroughputExceededException);
      assert.equal(error.$metadata.httpStatusCode, 400);
      return true;
    },
  );
});

test("tables are listed, described and deleted", async () => {
  const name = await provisioned(5);
  const names = [];
  let ExclusiveStartTableName;
  do {
    const page = await raw.send(new ListTablesCommand({ ExclusiveStartTableName, Limit: 2 }));
    names.push(...page.TableNames);
    ExclusiveStartTableName = page.LastEvaluatedTableName;
  } while (ExclusiveStartTableName);
  assert.ok(names.includes(name));
  const { Table } = await raw.send(new DescribeTableCommand({ TableName: name }));
  assert.equal(Table.TableStatus, "ACTIVE");
  assert.ok(Table.CreationDateTime instanceof Date);
  await raw.send(new DeleteTableCommand({ TableName: name }));
  await waitUntilTableNotExists({ client: raw, maxWaitTime: 60, minDelay: 1 }, { TableName: name });
});

test("a table on demand is made ready ahead", async () => {
  const name = newName();
  await raw.send(
    new CreateTableCommand({
      TableName: name,
      AttributeDefinitions: [{ AttributeName: "p", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "p", KeyType: "HASH" }],
      BillingMode: "PAY_PER_REQUEST",
      OnDemandThroughput: { MaxReadRequestUnits: 70 },
    }),
  );
  await waitUntilTableExists({ client: raw, maxWaitTime: 60, minDelay: 1 }, { TableName: name });
  const WarmThroughput = { ReadUnitsPerSecond: 12000, WriteUnitsPerSecond: 5000 };
  await raw.send(new UpdateTableCommand({ TableName: name, WarmThroughput }));
  let Table;
  for (let tries = 0; Table?.WarmThroughput.WriteUnitsPerSecond !== 5000 && tries < 1000; tries++)
    ({ Table } = await raw.send(new DescribeTableCommand({ TableName: name })));
  assert.deepEqual(Table.WarmThroughput, { ...WarmThroughput, Status: "ACTIVE" });
  assert.deepEqual(Table.OnDemandThroughput, { MaxReadRequestUnits: 70, MaxWriteRequestUnits: -1 });
  await assert.rejects(
    raw.send(new UpdateTableCommand({ TableName: name, WarmThroughput: { ReadUnitsPerSecond: 1 } })),
    /decreasing WarmThroughput is not supported/,
  );
});
