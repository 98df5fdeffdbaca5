// dynamodb-admin, the popular console from npm, driven in Debian's Chromium against a weir endpoint
// (WEIR_URL): it lists, opens and deletes tables, and makes, shows, filters, queries, edits and deletes
// items. Each step checks what the page shows. SHOTS=DIR keeps a picture of each step.
//
// Its form for a new table sends numbers as strings, which the service and weir refuse: the test makes
// the table with the SDK, and checks that the page shows the refusal.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import path from "node:path";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import puppeteer from "puppeteer-core";

const PAGE_MS = 20000;
const START_TRIES = 200;
const POLL_MS = 100;
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startAdmin() {
  const port = await freePort();
  const script = createRequire(import.meta.url).resolve("dynamodb-admin").replace("backend.js", "dynamodb-admin.js");
  const child = spawn(process.execPath, [script, "--host", "127.0.0.1", "--port", `${port}`, "--dynamo-endpoint", process.env.WEIR_URL],
    { stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; i < START_TRIES; i++) {
    if ((await fetch(url).catch(() => null))?.ok) return { child, url };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error("dynamodb-admin does not start");
}

const { child, url } = await startAdmin();
const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
await page.setViewport({ width: 1200, height: 800 });
page.setDefaultTimeout(PAGE_MS);
let shots = 0;

async function shot(name) {
  if (process.env.SHOTS)
    await page.screenshot({ path: path.join(process.env.SHOTS, `${String(++shots).padStart(2, "0")}-${name}.png`) });
}

async function createTable() {
  const db = new DynamoDBClient({ endpoint: process.env.WEIR_URL });
  await db.send(new CreateTableCommand({
    TableName: "fruits",
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "kind", AttributeType: "S" }, { AttributeName: "number", AttributeType: "N" }],
    KeySchema: [{ AttributeName: "kind", KeyType: "HASH" }, { AttributeName: "number", KeyType: "RANGE" }],
  }));
}

const text = () => page.evaluate(() => document.body.innerText);

async function open(where) {
  const answer = await page.goto(url + where, { waitUntil: "networkidle0" });
  assert.ok([200, 304].includes(answer.status()), `${where}: ${answer.status()} ${await text()}`);
}

/** Clicks, and waits for the page that follows. */
async function follow(selector) {
  await Promise.all([page.waitForNavigation({ waitUntil: "networkidle0" }), page.click(selector)]);
}

async function fill(selector, value) {
  await page.$eval(selector, (element, v) => { element.value = v; }, value);
}

/** Puts the JSON into the editor and saves it. */
async function save(item, navigates) {
  await page.evaluate((json) => window.ace.edit("documentTextarea").setValue(json), JSON.stringify(item));
  if (navigates) await follow("#saveButton");
  else {
    await page.click("#saveButton");
    await page.waitForSelector("#saveButton.btn-success");
  }
}

/** The cells of the first column of the page's items. */
const keys = () => page.$$eval(".items-table tbody tr", (rows) => rows.map((row) => row.innerText.replace(/\s+/g, " ").trim()));

async function search(operation, filters) {
  await open("/tables/fruits");
  await page.select('select[name="operationType"]', operation);
  for (const [i, [name, type, operator, value]] of filters.entries()) {
    if (i > 0 && operation === "scan") await page.click("#add-filter");
    const row = `#filters-table tr:nth-child(${i + 1})`;
    await fill(`${row} .filter-row-key`, name);
    await page.select(`${row} .filter-row-type`, type);
    await page.select(`${row} .filter-row-operator`, operator);
    await fill(`${row} .filter-row-value`, value);
  }
  await follow('button[type="submit"]');
  return keys();
}

try {
  await createTable();
  await open("/");
  assert.match(await text(), /fruits/);
  await shot("tables");

  for (const [kind, number, sweet] of [["apple", 1, true], ["apple", 2, false], ["pear", 1, true]]) {
    await open("/tables/fruits/add-item");
    await save({ kind, number, sweet, tags: ["a", { deep: null }] }, true);
    assert.match(page.url(), /items/);
  }
  await shot("item");

  await open("/tables/fruits");
  assert.equal((await keys()).length, 3, await text());
  await shot("scan");
  assert.deepEqual((await search("query", [["kind", "S", "=", "apple"], ["number", "N", ">", "1"]])).length, 1);
  await shot("query");
  assert.equal((await search("scan", [["number", "N", "=", "1"]])).length, 2);
  await shot("filter");

  await open("/tables/fruits/items/" + encodeURIComponent("pear,1"));
  await save({ kind: "pear", number: 1, sweet: "very" }, false);
  await shot("edited");
  await open("/tables/fruits");
  assert.ok((await keys()).some((row) => row.includes("very")), await text());

  await open("/tables/fruits/items/" + encodeURIComponent("apple,2"));
  await follow("button.btn-danger");
  assert.equal((await keys()).length, 2, await text());

  await open("/tables/fruits/meta");
  assert.match(await text(), /AttributeDefinitions[^]*TableId/);
  await shot("meta");
  await open("/tables/fruits/ttl");
  assert.match(await text(), /DISABLED|Disabled|TTL/i);
  await shot("ttl");

  await open("/create-table");
  await fill("#TableName", "more-fruits");
  await fill("#HashAttributeName", "kind");
  await page.click("#saveButton");
  await page.waitForFunction(() => document.body.innerText.includes("STRING_VALUE cannot be converted to Long"));
  await shot("refused");

  await open("/");
  page.on("dialog", (dialog) => dialog.accept());
  await page.evaluate(() => fetch("/tables/fruits", { method: "delete" }).then((r) => { if (!r.ok) throw new Error(r.status); }));
  await open("/");
  assert.doesNotMatch(await text(), /fruits/);
  console.log("dynamodb-admin: all steps are done");
} catch (error) {
  await shot("failed").catch(() => null);
  throw error;
} finally {
  await browser.close();
  child.kill();
}
