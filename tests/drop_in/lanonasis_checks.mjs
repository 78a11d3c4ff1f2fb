// Checks of LanOnasis' own npm packages. They run in Node with `@lanonasis/memory-client` and
// `@lanonasis/mem-intel-sdk`, without memolith, and print the name of each check that passed.
//
// Where a package does not do what its own documentation says, a comment tells how.

import assert from "node:assert/strict";

import * as root from "@lanonasis/memory-client";
import { CoreMemoryClient, hasData, hasError } from "@lanonasis/memory-client/core";
import { MemoryIntelligenceClient } from "@lanonasis/mem-intel-sdk";
import { NodeMemoryIntelligenceClient } from "@lanonasis/mem-intel-sdk/node";
import { createMCPServer } from "@lanonasis/mem-intel-sdk/server";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";

const SERVER = process.env.CHECK_URL;
const KEY = process.env.CHECK_KEY;
const USER = process.env.CHECK_USER;
const ADDRESS = `${SERVER}/lanonasis`;
const INTELLIGENCE_ADDRESS = `${ADDRESS}/api/v1`;
const NOBODY = "123e4567-e89b-42d3-a456-426614174000";
const WRONG_KEY = `lano_${"0".repeat(64)}`;
const PRIVATE = new Set(["constructor", "request", "validateInput", "enrichWithOrgContext"]);

/** The methods that were called, by class. */
const called = new Map();

/** A client that writes down which of its methods are called. */
function watched(client) {
  const name = client.constructor.name;
  if (!called.has(name)) called.set(name, new Set());
  return new Proxy(client, {
    get(target, property) {
      const value = target[property];
      if (typeof value !== "function") return value;
      called.get(name).add(property);
      return value.bind(target);
    },
  });
}

/** What a tool of memolith answers: the one store behind all of this. */
async function core(tool, args) {
  const answer = await fetch(`${SERVER}/mcp/tools/${tool}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(args),
  });
  const body = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(body));
  return body;
}

async function stored(id) {
  return (await core("fetch", { ids: [id] })).items[0];
}

function data(response) {
  assert.ok(hasData(response), JSON.stringify(response));
  return response.data;
}

function failure(response, code) {
  assert.ok(hasError(response), JSON.stringify(response));
  assert.equal(response.error.code, code, JSON.stringify(response));
  assert.equal(response.meta.retries, 0);
  return response.error;
}

const client = watched(new CoreMemoryClient({ apiUrl: ADDRESS, apiKey: KEY, userId: USER }));
const intelligence = watched(
  new MemoryIntelligenceClient({ apiUrl: INTELLIGENCE_ADDRESS, apiKey: KEY }),
);
const made = {};

async function check_health() {
  assert.equal(data(await client.healthCheck()).services.database, "healthy");
}

// The example of its README.
async function check_readme_of_the_memory_client() {
  const quick = root.createMemoryClient({ apiUrl: ADDRESS, apiKey: KEY });
  const memory = data(
    await quick.createMemory({
      title: "Important Code Pattern",
      content: "Use React.memo() for expensive components to prevent unnecessary re-renders",
      memory_type: "knowledge",
      tags: ["react", "performance", "optimization"],
    }),
  );
  const results = data(
    await quick.searchMemories({ query: "React performance optimization", limit: 10 }),
  );
  assert.equal(results.results[0].id, memory.id);
  made.react = memory.id;
}

async function check_topics() {
  const more = { description: "Memories related to Project Alpha", color: "#3B82F6", icon: "project" };
  const topic = data(await client.createTopic({ name: "Project Alpha", ...more }));
  assert.equal(topic.user_id, USER);
  assert.equal((await stored(topic.id)).kind, "topic");
  const below = data(await client.createTopic({ name: "Beta", parent_topic_id: topic.id }));
  const changed = data(await client.updateTopic(below.id, { name: "Gamma" }));
  assert.equal(changed.name, "Gamma");
  assert.equal((await stored(below.id)).title, "Gamma");
  assert.deepEqual(data(await client.getTopic(topic.id)), topic);
  const names = data(await client.getTopics()).map((one) => one.name);
  assert.deepEqual(names, ["Project Alpha", "Gamma"]);
  const tree = data(await client.getTopicsHierarchy());
  assert.equal(tree[0].children[0].id, below.id);
  failure(await client.deleteTopic(topic.id), "CONFLICT");
  data(await client.deleteTopic(below.id));
  failure(await client.getTopic(below.id), "NOT_FOUND");
  made.topic = topic.id;
}

async function check_a_memory_through_its_life() {
  const fields = {
    title: "Parser",
    content: "The parser is written in Rust.",
    summary: "About the parser",
    memory_type: "project",
    topic_id: made.topic,
    project_ref: "alpha",
    tags: ["important", "work"],
    metadata: { source: "api", version: "1.0" },
  };
  const memory = data(await client.createMemory(fields));
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(memory[name], value, name);
  const item = await stored(memory.id);
  assert.deepEqual([item.kind, item.title, item.tags], ["memory", "Parser", fields.tags]);
  // The check above read it, too.
  assert.equal(data(await client.getMemory(memory.id)).access_count, 2);
  const updated = data(
    await client.updateMemory(memory.id, { title: "Updated Title", tags: ["new"], topic_id: null }),
  );
  assert.deepEqual([updated.title, updated.topic_id], ["Updated Title", null]);
  assert.equal((await stored(memory.id)).title, "Updated Title");
  data(await client.updateMemory(memory.id, { topic_id: made.topic }));
  const page = data(
    await client.listMemories({
      page: 1,
      limit: 50,
      memory_type: "project",
      tags: ["new"],
      sort: "updated_at",
      order: "desc",
    }),
  );
  assert.deepEqual(page.data.map((one) => one.id), [memory.id]);
  assert.deepEqual(page.pagination, { page: 1, limit: 50, total: 1, pages: 1 });
  const topic = data(await client.getTopicWithMemories(made.topic, { limit: 5, offset: 0 }));
  assert.deepEqual([topic.total_memories, topic.memories[0].id], [1, memory.id]);
  made.parser = memory.id;
}

async function check_preprocessing() {
  const memory = data(
    await client.createMemoryWithPreprocessing({
      title: "Auth System Docs",
      content: "Maria Keller wrote the authentication flow.   \n\n\n\nIt uses OAuth tokens.",
      memory_type: "knowledge",
      tags: ["auth"],
      preprocessing: {
        chunking: { strategy: "semantic", maxChunkSize: 1000 },
        cleanContent: true,
        extractMetadata: true,
      },
    }),
  );
  assert.match(memory.warnings[0], /chunking/);
  assert.equal(memory.metadata.intelligence.method, "built-in");
  assert.match((await stored(memory.id)).content, /flow\.\n\nIt uses/);
  const changed = data(
    await client.updateMemoryWithPreprocessing(memory.id, {
      content: "The authentication flow uses OAuth and refresh tokens.",
      rechunk: true,
      regenerate_embedding: true,
    }),
  );
  assert.match(changed.content, /refresh/);
  made.auth = memory.id;
}

async function check_searches() {
  const plain = data(
    await client.searchMemories({
      query: "what is the parser written in",
      memory_types: ["project"],
      limit: 5,
      threshold: 0.7,
    }),
  );
  assert.equal(plain.results[0].id, made.parser);
  for (const search_mode of ["hybrid", "vector", "text"]) {
    const enhanced = data(
      await client.enhancedSearch({
        query: "authentication flow",
        type: "knowledge",
        search_mode,
        threshold: 0.1,
        filters: { tags: ["auth"], date_range: { from: "2020-01-01" } },
        include_chunks: true,
      }),
    );
    assert.equal(enhanced.search_mode, search_mode);
    assert.equal(enhanced.results[0].id, made.auth);
    assert.match(enhanced.results[0].matching_chunks[0].content, /OAuth/);
  }
}

async function check_figures() {
  const stats = data(await client.getMemoryStats());
  assert.deepEqual([stats.total_memories, stats.memories_by_type.project], [3, 1]);
  const extended = data(await client.getExtendedStats());
  assert.deepEqual([extended.total_memories, extended.activity.created_today], [3, 3]);
  const access = data(await client.getAccessPatterns({ from: "2020-01-01", to: "2999-12-31" }));
  assert.ok(access.total_accesses > 0 && access.most_accessed.length > 0);
  const refused = failure(
    await client.getSearchAnalytics({ from: "2025-01-01", group_by: "day" }),
    "NOT_FOUND",
  );
  assert.match(refused.message, /writes down no searches/);
}

async function check_deletions() {
  const ids = [];
  for (const content of ["One.", "Two."]) {
    ids.push(data(await client.createMemory({ title: content, content })).id);
  }
  data(await client.deleteMemory(ids[0]));
  const deleted = data(await client.bulkDeleteMemories([ids[1], NOBODY]));
  assert.deepEqual(deleted, { deleted_count: 1, failed_ids: [NOBODY] });
  for (const id of ids) failure(await client.getMemory(id), "NOT_FOUND");
  assert.equal(data(await client.listMemories({ status: "deleted" })).pagination.total, 2);
}

async function check_errors_and_keys() {
  const failed = failure(await client.listMemories({ sort: "size" }), "VALIDATION_ERROR");
  assert.equal(failed.details[0].field, "sort");
  const foreign = new CoreMemoryClient({ apiUrl: ADDRESS, apiKey: KEY, organizationId: NOBODY });
  failure(await foreign.createMemory({ title: "A", content: "B" }), "NOT_FOUND");
  const other = watched(new CoreMemoryClient({ apiUrl: ADDRESS, apiKey: WRONG_KEY }));
  failure(await other.healthCheck(), "AUTH_ERROR");
  other.setApiKey(KEY);
  data(await other.healthCheck());
  other.setAuthToken(KEY);
  data(await other.healthCheck());
  other.clearAuth();
  failure(await other.healthCheck(), "AUTH_ERROR");
  other.updateConfig({ timeout: 1234 });
  assert.deepEqual([other.getConfig().timeout, other.getConfig().apiKey], [1234, undefined]);
}

// `@lanonasis/memory-client/node` cannot be imported: it wants a file that is not in the package.
// `createClient` makes the same client.
async function check_the_client_of_node() {
  const enhanced = watched(
    await root.createClient({ apiUrl: ADDRESS, apiKey: KEY, preferCLI: false }),
  );
  assert.equal(typeof enhanced.refreshCLIDetection, "function");
  assert.equal((await enhanced.healthCheck()).source, "api");
  const memory = (await enhanced.createMemory({ title: "Node", content: "From Node." })).data;
  assert.equal((await stored(memory.id)).title, "Node");
  assert.equal((await enhanced.getMemory(memory.id)).data.id, memory.id);
  assert.equal((await enhanced.updateMemory(memory.id, { title: "N" })).data.title, "N");
  assert.ok((await enhanced.listMemories({})).data.data.length);
  assert.ok((await enhanced.searchMemories({ query: "from node" })).data.results.length);
  const topic = (await enhanced.createTopic({ name: "T" })).data;
  assert.ok((await enhanced.getTopics()).data.length);
  assert.equal((await enhanced.getTopic(topic.id)).data.id, topic.id);
  assert.equal((await enhanced.updateTopic(topic.id, { name: "U" })).data.name, "U");
  await enhanced.deleteTopic(topic.id);
  assert.ok((await enhanced.getMemoryStats()).data.total_memories);
  await enhanced.deleteMemory(memory.id);
  assert.equal((await enhanced.getMemory(memory.id)).error.code, "NOT_FOUND");
}

// Intelligence

async function check_queries_and_counts() {
  const memories = await intelligence.queryMemories(USER, { limit: 2, memoryTypes: ["project"] });
  assert.deepEqual(memories.map((memory) => memory.id), [made.parser]);
  const analysis = (await intelligence.analyzePatterns({ userId: USER, timeRangeDays: 30 })).data;
  assert.equal(analysis.total_memories, 3);
  const health = (await intelligence.healthCheck({ userId: USER })).data;
  assert.equal(health.statistics.total_memories, 3);
}

async function check_tags_relatives_and_duplicates() {
  const tags = (await intelligence.suggestTags({ memoryId: made.auth, userId: USER })).data;
  assert.equal(tags.memory_id, made.auth);
  const copy = data(
    await client.createMemory({ title: "Parser again", content: "The parser is written in Rust." }),
  );
  const related = (
    await intelligence.findRelated({ memoryId: made.parser, userId: USER, similarityThreshold: 0.5 })
  ).data;
  assert.equal(related.related_memories[0].id, copy.id);
  const duplicates = (
    await intelligence.detectDuplicates({ userId: USER, similarityThreshold: 0.8 })
  ).data;
  const [group] = duplicates.duplicate_groups;
  assert.deepEqual([group.primary_id, group.duplicates[0].id], [made.parser, copy.id]);
  data(await client.deleteMemory(copy.id));
  const insights = (await intelligence.extractInsights({ userId: USER, topic: "OAuth" })).data;
  assert.ok(insights.memories_analyzed > 0 && insights.method === "built-in");
}

async function check_predictions_and_feedback() {
  const ask = async () =>
    (
      await intelligence.predictiveRecall({
        userId: USER,
        context: {
          currentProject: "Building dashboard components",
          recentTopics: ["React", "performance"],
          contextText: "Optimizing render performance of expensive React components",
        },
        limit: 5,
        minConfidence: 30,
      })
    ).data;
  const before = (await ask()).predictions[0];
  assert.equal(before.id, made.react);
  await intelligence.recordPredictionFeedback({
    memoryId: before.id,
    userId: USER,
    useful: true,
    action: "clicked",
  });
  const item = await stored(before.id);
  assert.equal(item.metadata.prediction_feedback.clicked, 1);
  assert.ok((await ask()).predictions[0].confidence > before.confidence);
}

// The examples of its README, with the key's user.
async function check_behaviour() {
  const pattern = {
    user_id: USER,
    trigger: "Need to migrate endpoint auth middleware to bearer-first flow",
    context: { project: "lanonasis-cli", current_task: "auth transport migration" },
    actions: [
      { tool: "read_file", params: { path: "src/utils/api.ts" } },
      { tool: "edit_file", params: { path: "src/utils/api.ts" } },
      { tool: "run_tests", params: { target: "api-client-auth-header.test.ts" } },
    ],
    final_outcome: "Bearer flow migration completed and tests passed",
    confidence: 0.82,
  };
  const first = (await intelligence.recordBehavior(pattern)).data;
  assert.equal(first.was_duplicate, false);
  const item = await stored(first.pattern.id);
  assert.equal(item.content, pattern.trigger);
  assert.equal(item.metadata.behavior.actions.length, 3);
  const again = (await intelligence.recordBehavior(pattern)).data;
  assert.deepEqual([again.was_duplicate, again.pattern.id], [true, first.pattern.id]);
  const recall = (
    await intelligence.recallBehavior({
      user_id: USER,
      context: { current_task: "Migrate the auth middleware of the endpoints to bearer tokens" },
      similarity_threshold: 0.5,
    })
  ).data;
  assert.equal(recall.patterns[0].pattern.id, first.pattern.id);
  const suggestion = (
    await intelligence.suggestAction({
      user_id: USER,
      current_state: {
        task_description: "Need to migrate endpoint auth middleware to bearer flow",
        completed_steps: [{ tool: "read_file" }],
      },
      max_suggestions: 3,
    })
  ).data;
  assert.equal(suggestion.suggestions[0].tool, "edit_file");
  const patterns = await intelligence.listBehaviorPatterns(USER, { limit: 20, offset: 0 });
  assert.deepEqual(patterns.map((one) => one.id), [first.pattern.id]);
}

async function check_the_rest_of_the_sdk() {
  assert.equal(intelligence.getProcessingMode(), "api");
  assert.equal(intelligence.isCacheEnabled(), false);
  intelligence.clearCache();
  assert.equal((await intelligence.getHttpClient().get("/health")).status, 200);
  const wrong = new MemoryIntelligenceClient({ apiUrl: INTELLIGENCE_ADDRESS, apiKey: WRONG_KEY });
  await assert.rejects(wrong.queryMemories(USER), /Failed to query memories/);
  await assert.rejects(intelligence.queryMemories(NOBODY), /This key speaks for the user/);
  process.env.LANONASIS_API_KEY = KEY;
  process.env.LANONASIS_API_URL = INTELLIGENCE_ADDRESS;
  const node = NodeMemoryIntelligenceClient.fromEnv();
  assert.ok((await node.queryMemories(USER)).length);
}

async function check_its_mcp_server() {
  const server = createMCPServer({ apiUrl: INTELLIGENCE_ADDRESS, apiKey: KEY });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const mcp = new Client({ name: "checks", version: "1" });
  await Promise.all([server.connect(theirs), mcp.connect(ours)]);
  const own = { user_id: USER };
  const calls = {
    memory_analyze_patterns: own,
    memory_suggest_tags: { ...own, memory_id: made.auth },
    memory_find_related: { ...own, memory_id: made.parser },
    memory_detect_duplicates: own,
    memory_extract_insights: own,
    memory_health_check: own,
    memory_predictive_recall: { ...own, context: { context_text: "React components" } },
    memory_prediction_feedback: { ...own, memory_id: made.react, useful: true, action: "saved" },
    behavior_record: {
      ...own,
      trigger: "Write the notes of a release",
      actions: [{ tool: "update_changelog", outcome: "success" }],
      final_outcome: "success",
    },
    behavior_recall: { ...own, context: { current_task: "Write the notes of a release" } },
    behavior_suggest: {
      ...own,
      current_state: { task_description: "Write the notes of a release" },
    },
  };
  const listed = (await mcp.listTools()).tools.map((tool) => tool.name);
  assert.deepEqual(listed.sort(), Object.keys(calls).sort());
  for (const [name, args] of Object.entries(calls)) {
    const answer = await mcp.callTool({ name, arguments: args });
    assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer.content)}`);
  }
  await mcp.close();
}

async function check_that_every_public_method_was_called() {
  for (const kind of [CoreMemoryClient, MemoryIntelligenceClient]) {
    const names = Object.getOwnPropertyNames(kind.prototype).filter((name) => !PRIVATE.has(name));
    const missing = names.filter((name) => !called.get(kind.name).has(name));
    assert.deepEqual(missing, [], kind.name);
  }
}

const checks = [
  check_health,
  check_readme_of_the_memory_client,
  check_topics,
  check_a_memory_through_its_life,
  check_preprocessing,
  check_searches,
  check_figures,
  check_deletions,
  check_errors_and_keys,
  check_the_client_of_node,
  check_queries_and_counts,
  check_tags_relatives_and_duplicates,
  check_predictions_and_feedback,
  check_behaviour,
  check_the_rest_of_the_sdk,
  check_its_mcp_server,
  check_that_every_public_method_was_called,
];
for (const check of checks) {
  await check();
  console.log(check.name);
}
