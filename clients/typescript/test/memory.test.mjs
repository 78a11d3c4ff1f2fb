// Runs against the server at MEMOLITH_URL with the key MEMOLITH_KEY of an admin.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FAMILIES, MemolithError, Memory } from "memolith";

const url = process.env.MEMOLITH_URL;
const key = process.env.MEMOLITH_KEY;
const memory = new Memory({ url, key });

async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof MemolithError, String(error));
    return error;
  }
  return assert.fail("it was not refused");
}

test("what is remembered is recalled", async () => {
  const kept = await memory.remember("Maria prefers tea. 茶", { tags: ["people"], title: "Maria" });
  const hits = await memory.recall("what does Maria prefer?", { tags: ["people"] });
  assert.equal(hits[0].id, kept.id);
  assert.equal(hits[0].text, "Maria prefers tea. 茶");
  assert.equal(hits[0].created_at, hits[0].at);
  assert.ok(hits[0].score > 0 && hits[0].score <= 1);
  assert.equal(hits.total, 1);
  // The server of the tests has no model.
  assert.match(hits.warnings[0], /by words only/);
  const context = await memory.context("What does Maria prefer?", 200);
  assert.match(context.text, /tea/);
  assert.equal(context.citations[0].id, kept.id);
  assert.ok((await memory.overview()).counts.memory >= 1);
});

test("an item is changed, forgotten, restored and erased", async () => {
  const { id } = await memory.remember("One.", { metadata: { a: 1 } });
  const change = await memory.revise(id, { content: "Two.", metadata: { b: 2 }, expected_version: 1 });
  const item = await memory.get(id);
  assert.equal(item.content, "Two.");
  assert.deepEqual(item.metadata, { a: 1, b: 2 });
  assert.deepEqual(
    (await memory.history(id)).map((event) => event.type),
    ["remembered", "revised"],
  );
  await memory.undo(change.event);
  assert.equal((await memory.get(id)).content, "One.");
  await memory.forget(id);
  assert.equal((await memory.list({ forgotten: true }))[0].id, id);
  await memory.restore(id);
  const page = await memory.list({ limit: 1 });
  assert.equal(page.length, 1);
  assert.ok(page.total > 1);
  await memory.erase(id);
  assert.equal((await refusal(memory.get(id))).type, "not_found");
});

test("items are linked", async () => {
  const [one, two] = [await memory.remember("Engine"), await memory.remember("Wheel")];
  const link = await memory.link(one.id, two.id, "drives", { strength: 0.5 });
  assert.equal(link.strength, 0.5);
  const around = await memory.explore(one.id);
  assert.deepEqual(
    around.items.map((item) => item.id).filter((id) => id !== one.id),
    [two.id],
  );
});

test("documented tools are methods of their families", async () => {
  for (const [family, tools] of Object.entries(FAMILIES)) {
    for (const tool of tools) {
      assert.equal(typeof memory[family][tool], "function");
    }
  }
  const made = await memory.lanonasis.create_memory({ title: "VPN", content: "Staging needs it." });
  assert.equal((await memory.lanonasis.get_memory({ memory_id: made.id })).title, "VPN");
  assert.equal((await memory.call("get_memory", { memory_id: made.id })).title, "VPN");
});

test("errors have a type, a field and a status", async () => {
  const missing = await refusal(memory.get("no-such-id"));
  assert.deepEqual([missing.type, missing.status, missing.field], ["not_found", 404, "ids"]);
  const blank = await refusal(memory.remember(""));
  assert.deepEqual([blank.type, blank.status, blank.field], ["validation_error", 400, "content"]);
  assert.match(blank.message, /text/);
  const stranger = new Memory({ url, key: "mlk_wrong" });
  assert.equal((await refusal(stranger.overview())).status, 401);
  assert.throws(() => new Memory({ url, key: "" }), { type: "validation_error", field: "key" });
});

test("a write whose answer was lost is sent again and done once", async () => {
  let requests = 0;
  const losing = async (...request) => {
    const answer = await fetch(...request);
    requests += 1;
    if (requests === 1) {
      throw new TypeError("the connection was lost");
    }
    return answer;
  };
  const unlucky = new Memory({ url, key, fetch: losing });
  const kept = await unlucky.remember("Only once, whatever happens.", { tags: ["once"] });
  assert.equal(requests, 2);
  const items = await memory.list({ tags: ["once"] });
  assert.deepEqual(
    items.map((item) => item.id),
    [kept.id],
  );
});

test("a call with the same key is done once", async () => {
  const options = { tags: ["keyed"], idempotencyKey: "the same key" };
  const first = await memory.remember("Once.", options);
  const second = await memory.remember("Once.", options);
  assert.equal(first.id, second.id);
  assert.equal((await memory.list({ tags: ["keyed"] })).total, 1);
});

test("a server that is not there is told", async () => {
  const nobody = new Memory({ url: process.env.NOBODY_URL, key, timeoutMs: 500 });
  const error = await refusal(nobody.overview());
  assert.deepEqual([error.type, error.status], ["server_unreachable", undefined]);
});

test("a project is told to the server", async () => {
  const inside = new Memory({ url, key, project: "ships" });
  const { id } = await inside.remember("The mast is oak.");
  assert.equal((await memory.get(id)).project, "ships");
});

test("a file is taken in", async () => {
  const file = new Blob(["The lighthouse keeper is called Ole.\n"]);
  const first = await memory.ingest(file, "größe.txt");
  assert.deepEqual([first.name, first.known], ["größe.txt", false]);
  assert.equal((await memory.ingest(file, "größe.txt")).known, true);
  assert.match((await memory.recall("lighthouse keeper"))[0].text, /Ole/);
});

test("everything goes out, and comes in on another server", async () => {
  const lines = [];
  for await (const line of memory.exportLines()) {
    lines.push(line);
  }
  assert.ok(lines.length > 5);
  const other = new Memory({ url: process.env.OTHER_URL, key: process.env.OTHER_KEY });
  const report = await other.importLines(lines);
  assert.equal(report.events, lines.length - 1);
  assert.equal((await other.list()).total, (await memory.list()).total);
  assert.equal((await refusal(other.importLines(["no JSON"]))).status, 400);
});
