// sdk.mjs - what the suites of the AWS SDK for JavaScript v3 share: clients that keep what they send, and tables.
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBStreamsClient } from "@aws-sdk/client-dynamodb-streams";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

const sent = []; // [client, operation, body, status]: what tests/api/coverage looks at

process.on("exit", () => {
  const directory = process.env.WEIR_SENT;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  const name = basename(process.argv[1]).replace(".mjs", ".json");
  writeFileSync(join(directory, name), sent.map((line) => JSON.stringify(line) + "\n").join(""));
});

export function newClient(options, Client = DynamoDBClient) {
  const client = new Client({
    endpoint: process.env.WEIR_URL,
    region: "us-east-1",
    credentials: { accessKeyId: "weir", secretAccessKey: "weir" },
    maxAttempts: 1,
    ...options,
  });
  const keep = (next) => async (args) => {
    const target = args.request.headers["x-amz-target"].split(".")[1];
    const line = ["sdk", target, JSON.parse(args.request.body || "{}"), 200];
    sent.push(line);
    try {
      return await next(args);
    } catch (error) {
      line[3] = error.$metadata?.httpStatusCode ?? 0;
      throw error;
    }
  };
  client.middlewareStack.add(keep, { step: "build", name: "keep" });
  return client;
}

export const raw = newClient();
export const streams = newClient({}, DynamoDBStreamsClient);
export const db = DynamoDBDocumentClient.from(raw);

export const keySchema = {
  AttributeDefinitions: [
    { AttributeName: "p", AttributeType: "S" },
    { AttributeName: "s", AttributeType: "N" },
  ],
  KeySchema: [
    { AttributeName: "p", KeyType: "HASH" },
    { AttributeName: "s", KeyType: "RANGE" },
  ],
};

export const newName = () => "js-" + randomUUID();

export async function newTable(members) {
  const TableName = newName();
  await raw.send(
    new CreateTableCommand({ TableName, BillingMode: "PAY_PER_REQUEST", ...keySchema, ...members }),
  );
  await waitUntilTableExists({ client: raw, maxWaitTime: 60, minDelay: 1 }, { TableName });
  return TableName;
}
