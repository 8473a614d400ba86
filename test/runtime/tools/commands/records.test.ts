/** `gateway records` on a running gateway: what it answers, who denied, what became of requests; and one that follows. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../../runtime/shared/clock.ts";
import type { KeptRecord } from "../../../../runtime/record-store/record-reader.ts";
import { printRecords, type RecordsOptions } from "../../../../runtime/tools/commands/records.ts";
import { startGateway, type TestGateway } from "../../../support/gateway.ts";
import { copyOf } from "../../../support/record-copies.ts";
import { openTestStore } from "../../../support/record-store.ts";

const upstream = createServer((request, response) => {
  response.statusCode = request.url === "/broken" ? 503 : 200;
  response.end();
});
const directory = mkdtempSync(join(tmpdir(), "gateway-records-"));
let gateway: TestGateway;

beforeAll(async () => {
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  gateway = await startGateway({
    yaml: `authorize_log_fields: [request-id, route, method, path]
routes:
  - { name: open, from: "{origin}", prefix: /open, prefix_rewrite: /, to: "${to}", allow_public_unauthenticated_access: true }
  - { name: closed, from: "{origin}", prefix: /closed, to: "${to}", policy: [{ allow: { and: [{ domain: nobody.example }] } }] }
`,
    boot: { record_store: { max_records: 1000, storage_url: `sqlite:${join(directory, "records.db")}` } },
  });
});
afterAll(async () => {
  await gateway?.close();
  upstream.close();
  rmSync(directory, { recursive: true });
});

/** @param enough ends one that follows */
async function run(
  options: Partial<RecordsOptions>,
  enough: (said: string) => boolean = () => false,
  now = (_stop: () => void): number => Date.now(),
): Promise<{ code: number; out: string; err: string }> {
  const stop = new AbortController();
  const said = { out: "", err: "" };
  const stream = (name: "out" | "err") => ({
    isTTY: name === "out",
    write(text: string | Uint8Array) {
      said[name] += String(text);
      if (enough(said.out)) stop.abort();
      return true;
    },
  });
  const io = { out: stream("out"), err: stream("err"), now: () => now(() => stop.abort()), signal: stop.signal };
  const code = await printRecords({ config: gateway.configFile, ...options }, io);
  return { code, ...said };
}

const kept = async (options: Partial<RecordsOptions>): Promise<readonly KeptRecord[]> =>
  (await run({ ...options, json: true })).out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as KeptRecord);

test("decisions are stored with their outcome, found by their fields, and followed", async () => {
  const denied = async (path: string): Promise<void> => {
    const other = openOther();
    const value = { allow: false, "allow-why-false": ["domain-unauthorized"], user: "bob", route: "default/closed" };
    other.take([copyOf(Date.now(), path, { ...value, method: "GET", path })]);
    await other.flush();
    await other.close();
  };
  for (const path of ["/open/a", "/open/broken", "/closed/a"])
    await fetch(`${gateway.origin}${path}`, { redirect: "manual", headers: { accept: "application/json" } });
  await expect.poll(async () => (await kept({})).filter(({ result }) => result).length).toBe(3);
  await denied("/closed/b");
  const all = await kept({});
  expect(all.map(({ route, outcome, result }) => [route, outcome, result?.status])).toEqual([
    ["default/open", "allowed", 200],
    ["default/open", "error", 503],
    ["default/closed", "sign-in", expect.any(Number)],
    ["default/closed", "denied", undefined],
  ]);
  expect(await kept({ denied: true })).toEqual(all.slice(3));
  expect(await kept({ route: "default/open", since: "1h", limit: "1" })).toEqual(all.slice(1, 2));
  expect(await kept({ until: "2026-01-01T00:00:00Z" })).toEqual([]);

  const { code, out } = await run({});
  expect(code).toBe(0);
  expect(out).toMatch(/^TIME +OUTCOME .*\n.* allowed .*default\/open +GET \/open\/a +200 /);

  let isAsked = false;
  const followed = await run({ follow: true, denied: true }, (said) => {
    const lines = said.split("\n").filter((line) => line.includes(" denied "));
    if (lines.length === 1 && !isAsked) {
      isAsked = true;
      void denied("/closed/c");
    }
    return lines.length === 2;
  });
  expect(followed.out).toMatch(/ \/closed\/b [^]* \/closed\/c /);
});

const place = { kind: "sqlite", path: join(directory, "records.db"), isTemporary: false } as const;
const openOther = () =>
  openTestStore({ place, maxAgeMs: 3_600_000, maxRecords: 1000 }, { clock: systemClock, log: () => {}, flushMs: 5 });

test("names that users and clients chose do not steer the terminal, also as JSON", async () => {
  const other = openOther();
  try {
    const user = "eve\u009b2J\u202e";
    other.take([copyOf(Date.now(), "named", { user })]);
    await other.flush();
    expect((await kept({ user })).map(({ userId }) => userId)).toEqual([user]);
    for (const json of [true, false]) {
      const { out } = await run({ user, json });
      expect(out).toContain("eve\\u009b2J\\u202e");
      expect(out).not.toMatch(/[\u009b\u202e]/);
    }
  } finally {
    await other.close();
  }
});

test("--follow prints a record that arrives a minute late, once", async () => {
  const other = openOther();
  try {
    const add = (name: string): Promise<void> => {
      other.take([copyOf(Date.now() - 60_000, name, { user: name })]);
      return other.flush();
    };
    await add("early");
    let [isAdded, isKept] = [false, false];
    let looks = 0;
    const followed = await run(
      { follow: true, limit: "1" },
      (said) => {
        if (said !== "" && !isAdded) {
          isAdded = true;
          void add("late").then(() => (isKept = true));
        }
        return false;
      },
      (stop) => {
        // By its clock it is time to look further back with each look from then on.
        if (isKept) looks += 1;
        if (looks > 3) stop();
        return Date.now() + looks * 31_000;
      },
    );
    expect(followed.out.match(/ late /g)).toHaveLength(1);
    expect(followed.out).not.toContain(" early ");
  } finally {
    await other.close();
  }
});

test("what cannot be read is refused", async () => {
  await expect(run({ since: "yesterday" })).rejects.toMatchObject({ code: "commands.time" });
  await expect(run({ limit: "0" })).rejects.toMatchObject({ code: "commands.limit" });
});
