/** Every target with its corpus and changes of it, for a moment; run.ts drives them for longer. */
import { readdirSync, readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { mutate } from "./mutate.ts";
import { loadTarget, targetNames } from "./targets.ts";

/** The same inputs each time: what falls in a test run falls again. */
const SEED = 20_260_101;
const RUNS = 120;

const mutations = fc.array(fc.record({ kind: fc.nat(6), at: fc.nat(65_535), length: fc.nat(16), byte: fc.nat(255) }), {
  maxLength: 5,
});

describe(`targets, seed ${SEED}`, () => {
  test.each(targetNames())("%s", async (name) => {
    const { fuzz, corpus } = await loadTarget(name);
    expect(corpus.length).toBeGreaterThan(1);
    for (const each of [...corpus, new Uint8Array()]) await fuzz(each);
    const inputs = fc.constantFrom(...corpus);
    const property = fc.asyncProperty(inputs, mutations, inputs, async (input, changes, other) => {
      await fuzz(mutate(input, changes, other));
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS });
  });
});

/** Where bytes of strangers are read first. */
const READERS = [
  "audit/chain/lines",
  "audit/chain/signed-note",
  "features/routing/from",
  "http/cookies",
  "http/grpc",
  "http/listener/accept-h2",
  "http/listener/forwarded-for",
  "http/listener/proxy-protocol",
  "identity/devices/webauthn",
  "issuers/compact-jws",
  "issuers/read-unverified",
  "directories/scim/attributes",
  "directories/scim/list-query",
  "directories/scim/patch",
  "directories/scim/path",
  "mcp/endpoint-events",
  "mcp/lists/event-blocks",
  "mcp/message",
  "mcp/message-headers",
  "oauth/server/clients/client-assertion",
  "oauth/server/clients/client-document",
  "oauth/server/clients/client-metadata",
  "oauth/server/clients/redirect-uri",
  "settings/domains",
  "shared/http/query",
  "shared/http/target",
  "shared/http/trailers",
  "shared/key-set",
  "shared/keys",
  "shared/user-id",
  "terraform/protocol/value-codec",
  "tools/audit/verify",
  "tracing/trace-context",
  "upstreams/http1/reader",
];

test("each reader of what strangers send has a target, and each target a corpus", () => {
  const folder = new URL("targets/", import.meta.url);
  const support = readFileSync(new URL("../support/audit-run.ts", import.meta.url), "utf8");
  const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));
  const isRead = (module: string): boolean =>
    [...sources, support].some((text) => text.includes(`/runtime/${module}.ts"`));
  expect(READERS.filter((each) => !isRead(each))).toEqual([]);
  expect(readdirSync(new URL("corpora/", import.meta.url)).toSorted()).toEqual(targetNames());
});
