/** The traffic of `npm start -- --demo-traffic`: decided by the real policies, found by the real readers. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { addTraffic } from "../../examples/demo/traffic/add-traffic.ts";
import { publishedSlices, trafficSlices } from "../../examples/demo/traffic/slices.ts";
import { readTraffic } from "../../runtime/health/read-traffic.ts";
import { ALL, numberOf } from "../../runtime/health/rollup.ts";
import { TIERS } from "../../runtime/health/tiers.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { recordPlace } from "../../runtime/record-store/options.ts";
import { openRecordReader } from "../../runtime/record-store/record-store.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { silentLog } from "../../runtime/shared/log.ts";

const ORIGIN = "http://localhost:8080";
const BOOT = `insecure_server: true
development: true
shared_secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
storage_url: "memory:"
authenticate_service_url: http://127.0.0.1:8080
idp_provider_url: http://127.0.0.1:9
idp_client_id: demo
idp_client_secret: secret
runtime_flags: { mcp: true }
`;
/** Routes of the demo's own program, as far as its calls need them. */
const DEMO = `version: 1
owner: demo
routes:
  app: { from: "${ORIGIN}", prefix: /app, to: "http://127.0.0.1:9", policy: { allow: { and: [{ authenticated_user: true }] } } }
  github:
    from: ${ORIGIN}
    prefix: /github
    to: http://127.0.0.1:9
    mcp: { server: { path: /mcp } }
    policy: { allow: { and: [{ domain: { is: example.com } }] }, deny: { and: [{ mcp_tool: { starts_with: delete_ } }] } }
  notes:
    from: ${ORIGIN}
    prefix: /notes
    to: http://127.0.0.1:9
    mcp: { server: { path: /mcp } }
    policy: { allow: { and: [{ groups: { has: engineering } }] } }
`;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "demo-traffic-"));
  const files = { "gateway.yaml": BOOT, "demo.yaml": DEMO, ...trafficSlices(ORIGIN, "http://127.0.0.1:9") };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test("has several users, tools and outcomes, in records and in charts alike", async () => {
  const storageUrl = `sqlite:${join(directory, "gateway.db")}`;
  const count = await addTraffic({
    storageUrl,
    configDirectory: directory,
    published: publishedSlices(ORIGIN, "http://127.0.0.1:9").at(-1) ?? {},
    issuer: "http://127.0.0.1:9",
    hours: 1,
  });
  expect(count).toBeGreaterThan(800);
  const day = 86_400_000;
  const reader = openRecordReader({ place: recordPlace(undefined, storageUrl), maxAgeMs: day }, { maxMs: 60_000 });
  const time = { sinceMs: Date.now() - day / 2, untilMs: Date.now() + 60_000, slots: 1 };
  const [slot] = (await reader.count({ ...time, kind: "decision" })).slots;
  for (const outcome of ["allowed", "denied", "limited", "error", "sign-in"] as const)
    expect(slot?.[outcome], outcome).toBeGreaterThan(0);
  const denied = await reader.rank({ ...time, outcomes: ["denied"], by: "tool", most: 5 });
  expect(denied.rows.map(({ record }) => record.tool)).toContain("delete_repo");
  expect(denied.distinct).toBeGreaterThan(3);
  await reader.close();
  const store = await openRecords(storageUrl, { clock: systemClock, log: silentLog() });
  const [, sixHours = TIERS[0]] = TIERS;
  const steps = await readTraffic({ store, clock: systemClock }).read(sixHours);
  const counted = steps.reduce((sum, { rollup }) => {
    const all = rollup?.scopes[ALL];
    return sum + (all ? numberOf(all, "denied") : 0);
  }, 0);
  expect(counted).toBeGreaterThan(0.9 * (slot?.denied ?? 0));
  await store.close();
});
