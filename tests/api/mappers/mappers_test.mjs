// mappers_test.mjs - dynamoose, electrodb, dynamodb-toolbox and dynamodb-onetable against a weir endpoint (WEIR_URL).
import assert from "node:assert/strict";
import { after, test } from "node:test";

import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Table } from "dynamodb-onetable";
import * as toolbox from "dynamodb-toolbox";
import dynamoose from "dynamoose";
import { Entity } from "electrodb";

const options = {
  endpoint: process.env.WEIR_URL,
  region: "us-east-1",
  credentials: { accessKeyId: "weir", secretAccessKey: "weir" },
};
const raw = new DynamoDBClient(options);
const db = DynamoDBDocumentClient.from(raw, { marshallOptions: { removeUndefinedValues: true } });
dynamoose.aws.ddb.set(new dynamoose.aws.ddb.DynamoDB(options));
after(() => raw.destroy());

async function newTable(TableName, partition, sort) {
  await raw.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [partition, sort].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      KeySchema: [
        { AttributeName: partition, KeyType: "HASH" },
        { AttributeName: sort, KeyType: "RANGE" },
      ],
    }),
  );
  await waitUntilTableExists({ client: raw, maxWaitTime: 60, minDelay: 1 }, { TableName });
}

const count = (n) => Array.from({ length: n }, (_, i) => i);

test("dynamoose makes its tables, writes, changes and reads", async () => {
  const schema = new dynamoose.Schema(
    {
      id: { type: String, hashKey: true },
      sort: { type: Number, rangeKey: true },
      name: String,
      age: Number,
      tags: { type: Set, schema: [String] },
      list: { type: Array, schema: [String] },
      nested: { type: Object, schema: { a: Number } },
      when: Date,
    },
    { timestamps: true },
  );
  const Cat = dynamoose.model("Cat", schema);
  new dynamoose.Table("Cats", [Cat], { throughput: "ON_DEMAND", tags: { a: "b" } });
  const Key = { id: "a", sort: 1 };
  const first = { ...Key, name: "Tom", age: 3, tags: new Set(["x"]), list: ["l"], nested: { a: 1 }, when: new Date(0) };
  await Cat.create(first);
  await assert.rejects(Cat.create(first), { name: "ConditionalCheckFailedException" });
  const got = await Cat.get(Key, { consistent: true });
  assert.deepEqual([got.age, got.when, got.nested], [3, new Date(0), { a: 1 }]);
  const changed = await Cat.update(Key, { $ADD: { age: 2 }, $SET: { name: "Jim" }, $REMOVE: ["list"] });
  assert.deepEqual([changed.age, changed.name, changed.list], [5, "Jim", undefined]);
  const condition = new dynamoose.Condition().where("age").gt(10);
  await assert.rejects(Cat.update(Key, { name: "x" }, { condition }), { name: "ConditionalCheckFailedException" });
  const many = count(25).map((i) => ({ id: "b", sort: i, name: "n" + i, age: i }));
  assert.deepEqual((await Cat.batchPut(many)).unprocessedItems, []);
  const page = await Cat.query("id").eq("b").where("sort").between(5, 10).sort("descending").exec();
  assert.deepEqual(page.map((cat) => cat.sort), [10, 9, 8, 7, 6, 5]);
  assert.equal((await Cat.query("id").eq("b").filter("age").lt(5).count().exec()).count, 5);
  assert.equal((await Cat.scan().filter("name").beginsWith("n1").attributes(["sort"]).all().exec()).length, 11);
  assert.equal((await Cat.scan("age").eq(1).or().where("age").eq(2).exec()).length, 2);
  assert.equal((await Cat.scan().parallel(3).all().exec()).length, 26);
  assert.equal((await Cat.batchGet([{ id: "b", sort: 1 }, { id: "b", sort: 99 }])).length, 1);
  assert.deepEqual((await Cat.batchDelete([{ id: "b", sort: 1 }])).unprocessedItems, []);
  await Cat.delete(Key);
  assert.equal(await Cat.get(Key, { consistent: true }), undefined);
});

test("electrodb writes, patches, pages and deletes", async () => {
  await newTable("electro", "pk", "sk");
  const comment = { type: "map", properties: { user: { type: "string" }, body: { type: "string" } } };
  const Task = new Entity(
    {
      model: { entity: "task", version: "1", service: "app" },
      attributes: {
        team: { type: "string", required: true },
        task: { type: "string", required: true },
        status: { type: ["open", "closed"], default: "open" },
        points: { type: "number" },
        tags: { type: "set", items: "string" },
        comments: { type: "list", items: comment },
        meta: { type: "map", properties: { a: { type: "number" } } },
      },
      indexes: { main: { pk: { field: "pk", composite: ["team"] }, sk: { field: "sk", composite: ["task"] } } },
    },
    { client: db, table: "electro" },
  );
  const key = { team: "g", task: "1" };
  const first = { ...key, points: 1, tags: ["a"], comments: [{ user: "u", body: "b" }], meta: { a: 1 } };
  assert.equal((await Task.create(first).go()).data.status, "open");
  await assert.rejects(Task.create(first).go(), /conditional/);
  const { data } = await Task.patch(key)
    .add({ points: 4, tags: ["b"] })
    .set({ status: "closed" })
    .append({ comments: [{ user: "v", body: "c" }] })
    .data((attributes, { set }) => set(attributes.meta.a, 7))
    .where((attributes, { eq }) => eq(attributes.status, "open"))
    .go({ response: "all_new" });
  assert.deepEqual([data.points, data.tags.sort(), data.comments.length, data.meta.a], [5, ["a", "b"], 2, 7]);
  await Task.upsert({ team: "g", task: "2", points: 9 }).go();
  await Task.upsert({ team: "g", task: "2" }).add({ points: 1 }).go();
  assert.equal((await Task.get({ team: "g", task: "2" }).go({ consistent: true })).data.points, 10);
  await assert.rejects(Task.patch({ team: "g", task: "none" }).set({ points: 1 }).go());
  const many = count(60).map((i) => ({ team: "b", task: String(100 + i), points: i }));
  assert.deepEqual((await Task.put(many).go({ concurrency: 2 })).unprocessed, []);
  const query = await Task.query
    .main({ team: "b" })
    .between({ task: "110" }, { task: "115" })
    .where(({ points, status }, { gt, exists }) => `${gt(points, 11)} AND ${exists(status)}`)
    .go({ order: "desc" });
  assert.deepEqual(query.data.map((task) => task.points), [15, 14, 13, 12]);
  let cursor = null, found = 0;
  do {
    const page = await Task.query.main({ team: "b" }).go({ limit: 7, cursor });
    found += page.data.length;
    cursor = page.cursor;
  } while (cursor);
  assert.equal(found, 60);
  assert.equal((await Task.query.main({ team: "b" }).begins({ task: "11" }).go()).data.length, 10);
  const tagged = await Task.scan.where(({ tags }, { contains }) => contains(tags, "a")).go({ pages: "all" });
  assert.equal(tagged.data.length, 1);
  const got = await Task.get([many[0], { team: "b", task: "x" }]).go({ preserveBatchOrder: true });
  assert.deepEqual([got.data[0].points, got.data[1]], [0, null]);
  assert.equal((await Task.remove(key).go({ response: "all_old" })).data.points, 5);
  assert.deepEqual((await Task.delete([many[0]]).go()).unprocessed, []);
});

test("dynamodb-toolbox writes, updates, queries and deletes", async () => {
  await newTable("toolbox", "PK", "SK");
  const { item, list, map, number, set, string, $add, $append, $delete, $get, $prepend, $remove, $sum } = toolbox;
  const table = new toolbox.Table({
    name: "toolbox",
    partitionKey: { name: "PK", type: "string" },
    sortKey: { name: "SK", type: "string" },
    documentClient: db,
  });
  const entity = new toolbox.Entity({
    name: "P",
    table,
    schema: item({
      id: string().key().savedAs("PK"),
      sk: string().key().savedAs("SK"),
      level: number().default(1),
      tags: set(string()).optional(),
      l: list(string()).optional(),
      m: map({ a: number(), b: string().optional() }).optional(),
    }),
  });
  const key = { id: "a", sk: "1" };
  const put = (more) =>
    entity
      .build(toolbox.PutItemCommand)
      .item({ ...key, tags: new Set(["x"]), l: ["q"], m: { a: 1 } })
      .options({ condition: { attr: "id", exists: false }, ...more })
      .send();
  await put();
  await assert.rejects(put({ returnValuesOnConditionFalse: "ALL_OLD" }), (error) => {
    assert.equal(error.name, "ConditionalCheckFailedException");
    assert.equal(error.Item.PK.S ?? error.Item.PK, "a");
    return true;
  });
  const update = async (members, returnValues) =>
    (await entity.build(toolbox.UpdateItemCommand).item({ ...key, ...members }).options({ returnValues }).send()).Attributes;
  const all = await update(
    { level: $add(3), tags: $add(new Set(["y"])), l: $append(["r"]), m: { a: $sum($get("level"), 5) } },
    "ALL_NEW",
  );
  assert.deepEqual([all.level, all.m.a, all.l, [...all.tags].sort()], [4, 6, ["q", "r"], ["x", "y"]]);
  const some = await update({ tags: $delete(new Set(["x"])), l: $prepend(["0"]), m: $remove() }, "UPDATED_NEW");
  assert.deepEqual([some.l, [...some.tags]], [["0", "q", "r"], ["y"]]);
  const puts = count(20).map((i) => entity.build(toolbox.BatchPutRequest).item({ id: "b", sk: String(10 + i), level: i }));
  await toolbox.executeBatchWrite(table.build(toolbox.BatchWriteCommand).requests(...puts));
  const { Items } = await table
    .build(toolbox.QueryCommand)
    .entities(entity)
    .query({ partition: "b", range: { between: ["12", "19"] } })
    .options({
      filters: { P: { or: [{ attr: "level", gt: 7 }, { attr: "level", eq: 2 }] } },
      reverse: true,
      limit: 3,
      maxPages: Infinity,
    })
    .send();
  assert.deepEqual(Items.map((found) => found.level), [9, 8, 2]);
  const scan = (more) => table.build(toolbox.ScanCommand).options(more).send();
  assert.equal((await scan({ segment: 0, totalSegments: 1, maxPages: Infinity })).Items.length, 21);
  assert.equal((await scan({ select: "COUNT" })).Count, 21);
  const gone = await entity
    .build(toolbox.DeleteItemCommand)
    .key(key)
    .options({ returnValues: "ALL_OLD", condition: { attr: "level", gte: 4 } })
    .send();
  assert.equal(gone.Attributes.level, 4);
});

test("dynamodb-onetable makes its table, updates by templates, pages both ways and removes many", async () => {
  const table = new Table({
    client: raw,
    name: "onetable",
    partial: true,
    schema: {
      format: "onetable:1.1.0",
      version: "0.0.1",
      indexes: { primary: { hash: "pk", sort: "sk" } },
      params: { timestamps: true },
      models: {
        User: {
          pk: { type: String, value: "u#${team}" },
          sk: { type: String, value: "user#${id}" },
          team: { type: String, required: true },
          id: { type: String, required: true },
          n: { type: Number },
          name: { type: String },
          tags: { type: Set },
          list: { type: Array, items: { type: String } },
          address: { type: Object, schema: { street: { type: String }, zip: { type: Number } } },
        },
      },
    },
  });
  await table.createTable();
  assert.ok(await table.exists());
  const User = table.getModel("User");
  const key = { team: "a", id: "1" };
  const first = { ...key, n: 1, tags: new Set(["x", "y"]), list: ["l"], address: { street: "s", zip: 1 } };
  await User.create(first);
  await assert.rejects(User.create(first), { code: "ConditionalCheckFailedException" });
  const added = await User.update(key, { add: { n: 5 }, push: { list: ["z"] }, delete: { tags: new Set(["x"]) } });
  assert.deepEqual([added.n, added.list, [...added.tags]], [6, ["l", "z"], ["y"]]);
  const set = await User.update(key, { set: { "list[0]": "first", "address.zip": 9, n: "${n} - {2}" } });
  assert.deepEqual([set.list, set.address, set.n], [["first", "z"], { street: "s", zip: 9 }, 4]);
  await assert.rejects(User.update({ ...key, n: 0 }, { where: "${n} = {99}" }), { code: "ConditionalCheckFailedException" });
  for (const page of count(3)) {
    const batch = {};
    for (const i of count(20)) {
      await User.create({ team: "b", id: String(100 + page * 20 + i), n: i, name: "n" + i }, { batch, exists: null });
    }
    assert.ok(await table.batchWrite(batch));
  }
  const where = "(${n} > {5}) and (${n} <= {7}) and contains(${name}, {n})";
  const found = await User.find({ team: "b" }, { where, limit: 100, reverse: true });
  assert.deepEqual(found.map((user) => user.n), [7, 6, 7, 6, 7, 6]);
  const one = await User.find({ team: "b" }, { limit: 10 });
  const two = await User.find({ team: "b" }, { limit: 10, next: one.next });
  const back = await User.find({ team: "b" }, { limit: 10, prev: two.prev });
  assert.deepEqual(back.map((user) => user.id), one.map((user) => user.id));
  assert.equal((await User.find({ team: "b" }, { count: true })).count, 60);
  assert.equal((await User.scan({ n: 3 }, { limit: 1000 })).length, 3);
  assert.equal((await User.remove({ team: "b" }, { many: true })).length, 60);
  assert.deepEqual((await User.remove(key)).list, ["first", "z"]);
  await table.deleteTable("DeleteTableForever");
});
