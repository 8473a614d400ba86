/** Publishing to a store, with validates and processes played by the test. */
import { spawnSync } from "node:child_process";
import { hostname } from "node:os";

import { beforeEach, describe, expect, test } from "vitest";

import type { PublicationSlice, CandidateValidation } from "../../../runtime/bundle/validation/validate-candidates.ts";
import {
  PRESENCE_TAG,
  presenceKey,
  type PresenceRow,
  readPresence,
  startPresence,
} from "../../../runtime/bundle/presence.ts";
import { createPublishedSlices, sliceKey } from "../../../runtime/bundle/published.ts";
import { Publisher, type PublishOutcome } from "../../../runtime/bundle/publisher.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { processSpace } from "../../../runtime/shared/net/process-space.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore, type BreakableStore } from "../../support/store.ts";
import type { BundleStatus } from "../../../runtime/bundle/report.ts";

let clock: ReturnType<typeof createTestClock>;
let breakable: BreakableStore;
let store: Store;
let validated: (readonly PublicationSlice[])[];
/** What the validate says, and what happens while it thinks. */
let validate: (slices: readonly PublicationSlice[]) => Promise<CandidateValidation>;
let publisher: Publisher;
/** What its waits came to. */
let awaited: string[];

beforeEach(() => {
  clock = createTestClock();
  breakable = createBreakableStore(clock);
  ({ store } = breakable);
  validated = [];
  awaited = [];
  validate = async () => ({ problems: [] });
  publisher = publisherOn(store);
});

function publisherOn(on: Store, waitMs = 200, silentMs = 3_600_000): Publisher {
  return new Publisher({
    store: on,
    clock,
    waitMs,
    silentMs,
    onAwaited: (result) => void awaited.push(result),
    validate: (slices) => {
      validated.push(slices);
      return validate(slices);
    },
  });
}

const slice = (digest: string): { text: string; digest: string } => ({ text: `text ${digest}`, digest });
const publish = (owner: string, digest: string): Promise<PublishOutcome> =>
  publisher.publish(owner, slice(digest), { kind: "none" });
const replace = (owner: string, digest: string): Promise<PublishOutcome> =>
  publisher.publish(owner, slice(digest), { kind: "some" });
/** The store with a process that shows a new sign of life before each look at them. */
function beating(id: string, published = () => 1): Store {
  let seen = 0;
  return {
    ...store,
    async list(tag) {
      seen += 1;
      if (tag === PRESENCE_TAG) await process({ id, published: published(), seen });
      return store.list(tag);
    },
  };
}
/** A process that shows this sign of life. */
async function process(row: Partial<PresenceRow> & { id: string }): Promise<void> {
  const full: PresenceRow = { digest: "", published: 0, seen: 0, ...row };
  await store.put(presenceKey(row.id), full, { tags: [PRESENCE_TAG], expiresAt: clock.now() / 1000 + 320 });
}

describe("publish()", () => {
  test("validates everything that would be active, and marks the new part", async () => {
    await publish("a", "1");
    await publish("b", "1");
    await replace("a", "2");
    expect(validated.at(-1)).toEqual([
      { owner: "a", digest: "2", text: "text 2", candidate: true },
      { owner: "b", digest: "1", text: "text 1", candidate: false },
    ]);
  });

  test("stores nothing that is invalid", async () => {
    await publish("a", "1");
    const problem = { severity: "error", file: "published:a", path: ["routes"], message: "is wrong" } as const;
    validate = async () => ({ problems: [problem] });
    expect(await replace("a", "2")).toEqual({ ok: false, reason: "invalid", problems: [problem] });
    expect((await publisher.get("a"))?.digest).toBe("1");
    expect(await store.get(sliceKey("a", "2"))).toBeUndefined();
  });

  test("reports only warnings about the new slice", async () => {
    const warning = (file: string) => ({ severity: "warning", file, path: [], message: "is doubtful" }) as const;
    validate = async () => ({ problems: [warning("published:a"), warning("gateway.yaml")] });
    expect(await publish("a", "1")).toMatchObject({ ok: true, warnings: [{ file: "published:a" }] });
  });

  test("validates again if another publisher was faster", async () => {
    let isFirst = true;
    validate = async () => {
      if (isFirst) {
        isFirst = false;
        await publisherOn(store).publish("b", slice("9"), { kind: "none" });
      }
      return { problems: [] };
    };
    expect(await publish("a", "1")).toMatchObject({ ok: true, generation: 2 });
    expect(validated.at(-1)?.map(({ owner, digest }) => [owner, digest])).toEqual([
      ["a", "1"],
      ["b", "9"],
    ]);
  });

  test("rejects if the slice itself changed during validation", async () => {
    await publish("a", "1");
    let isFirst = true;
    validate = async () => {
      if (isFirst) {
        isFirst = false;
        await publisherOn(store).publish("a", slice("9"), { kind: "some" });
      }
      return { problems: [] };
    };
    const outcome = await publisher.publish("a", slice("2"), { kind: "digest", digest: "1" });
    expect(outcome).toMatchObject({ ok: false, reason: "stale", current: { digest: "9" } });
  });

  test("fails as a whole without the store", async () => {
    await publish("a", "1");
    validate = async () => {
      breakable.broken = true;
      return { problems: [] };
    };
    await expect(replace("a", "2")).rejects.toMatchObject({ code: "store.unavailable" });
    breakable.broken = false;
    expect((await createPublishedSlices({ store }).read()).slices).toMatchObject([{ digest: "1", text: "text 1" }]);
  });

  test("a rollback of a slice that is published concurrently does nothing", async () => {
    await publish("team-a", "one");
    await replace("team-a", "two");
    let isFirst = true;
    // Of another process: in one of them changes wait for each other.
    const other = publisherOn(store);
    validate = async () => {
      // While the rollback is validated.
      if (isFirst) {
        isFirst = false;
        await other.publish("team-a", slice("three"), { kind: "some" });
      }
      return { problems: [] };
    };
    const outcome = await publisher.rollback({ owner: "team-a", to: 1, from: 2 });
    expect(outcome).toMatchObject({ ok: false, reason: "stale", owner: "team-a", current: { digest: "three" } });
    validate = async () => ({ problems: [] });
    expect(await publisher.rollback({ owner: "team-a", to: 1, from: 3 })).toMatchObject({ ok: true, changed: true });
  });

  test("keeps texts while a rollback may need them", async () => {
    await publish("a", "0");
    for (let version = 1; version <= 12; version += 1) await replace("a", String(version));
    const kept = await store.list("slice:a");
    expect(
      kept
        .map(({ value }) => value)
        .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b), "en", { numeric: true })),
    ).toEqual(Array.from({ length: 10 }, (_, index) => `text ${index + 3}`));
  });
});

describe("processes in which it is active", () => {
  test("are awaited: publish() returns when the last one reports it", async () => {
    publisher = publisherOn(store, 3_600_000);
    await process({ id: "w1" });
    await process({ id: "w2" });
    const outcome = publish("a", "1");
    await expect.poll(async () => (await store.get("slices"))?.version).toBe(1);
    await process({ id: "w1", published: 1 });
    await process({ id: "w2", published: 1 });
    expect(await outcome).toMatchObject({ ok: true, replicas: 2, laggards: [] });
  });

  test("are named if they take too long", async () => {
    await process({ id: "w1", published: 1 });
    await process({ id: "w2" });
    expect(await publish("a", "1")).toMatchObject({
      ok: true,
      changed: true,
      replicas: 2,
      laggards: [{ id: "w2", reason: "is at generation 0" }],
    });
  });

  test("are named immediately with their reasons if the others rejected it", async () => {
    publisher = publisherOn(store, 3_600_000);
    await process({ id: "w1", refused: { generation: 1, problems: ["a secret is missing there"] } });
    expect(await publish("a", "1")).toMatchObject({
      laggards: [{ id: "w1", reason: "is at generation 0 and refused 1: a secret is missing there" }],
    });
  });

  test("do not include ended ones: a record expires once its process can no longer serve", async () => {
    publisher = publisherOn(store, 3_600_000);
    await process({ id: "dead" });
    const outcome = publish("a", "1");
    await expect.poll(async () => (await store.get("slices"))?.version).toBe(1);
    clock.advance(321_000);
    expect(await outcome).toMatchObject({ replicas: 0, laggards: [] });
  });

  test("include one without a heartbeat, which is awaited for some seconds, then named: it may serve the old slice", async () => {
    publisher = publisherOn(beating("w1"), 3_600_000, 100);
    await process({ id: "cut-off" });
    const laggard = { id: "cut-off", reason: expect.stringMatching(/^is at generation 0, without a heartbeat: /) };
    expect(await publish("a", "1")).toMatchObject({ replicas: 2, laggards: [laggard] });
    expect(awaited).toEqual(["silent"]);
  });

  test("include one whose heartbeat returns after an outage of the store", async () => {
    let published = 0;
    const rounds: number[] = [];
    const back: Store = {
      ...store,
      async list(tag) {
        // Its record is as old as the outage; some looks later it reads the publication and says so.
        if (tag === PRESENCE_TAG && rounds.push(0) === 4)
          await process({ id: "w2", published: (published = 1), seen: 9 });
        return store.list(tag);
      },
    };
    await process({ id: "w2", seen: -60 });
    publisher = publisherOn(back, 3_600_000, 60_000);
    expect(await publish("a", "1")).toMatchObject({ replicas: 1, laggards: [] });
    expect(published).toBe(1);
  });

  test("do not include an ended process of this host", async () => {
    const ended = spawnSync("true").pid;
    const space = processSpace();
    await process({ id: `${hostname()}-${ended}-abcd`, seen: 0, space });
    await process({ id: `${hostname()}-${ended}-abcd/2`, seen: 0, space });
    await process({ id: `another-host-${ended}-abcd`, seen: 0, published: 1 });
    expect(await publish("a", "1")).toMatchObject({ replicas: 1, laggards: [] });
  });

  test.each([
    ["another machine's or container's", "another 4026531836"],
    ["an older program's", undefined],
  ])("names one that is silent where its number may be %s", async (_whose, space) => {
    const id = `${hostname()}-${spawnSync("true").pid}-abcd`;
    await process({ id, seen: 0, ...(space !== undefined && { space }) });
    expect(await publish("a", "1")).toMatchObject({ replicas: 1, laggards: [{ id }] });
  });

  test("are awaited while they are slow but have heartbeats", async () => {
    const startedMs = performance.now();
    publisher = publisherOn(
      beating("w1", () => (performance.now() - startedMs > 300 ? 1 : 0)),
      3_600_000,
      50,
    );
    expect(await publish("a", "1")).toMatchObject({ replicas: 1, laggards: [] });
    expect(awaited).toEqual(["live"]);
  });

  test("are also checked if nothing had to change", async () => {
    await publish("a", "1");
    await process({ id: "w1" });
    const again = await publisher.publish("a", slice("1"), { kind: "digest", digest: "seen long ago" });
    expect(again).toMatchObject({ ok: true, changed: false, laggards: [{ id: "w1" }] });
  });
});

describe("startPresence()", () => {
  const status: BundleStatus = {
    digest: "d1",
    generation: 1,
    loadedAt: 0,
    slices: [],
    degraded: [],
    owners: { current: 0, kept: 0, absent: 0 },
    restartNeeded: false,
    reloads: { ok: 1, failed: 0 },
    published: { generation: 3, inForce: 3 },
  };
  const rows = (): Promise<readonly unknown[]> => readPresence(store);

  test("records the active configuration, follows it, and deletes the record at the end", async () => {
    let current = status;
    let report = (): void => {};
    const bundle = {
      status: () => current,
      onReport: (listener: () => void) => {
        report = listener;
        return () => {};
      },
    };
    const presence = await startPresence({ store, id: "w1", bundle, clock, log: silentLog() });
    expect(await rows()).toEqual([
      { id: "w1", digest: "d1", published: 3, space: processSpace(), seen: expect.any(Number) },
    ]);
    current = {
      ...status,
      published: { generation: 5, inForce: 3 },
      lastError: { at: 0, problems: ["one", "two", "three", "four", "five", "six"] },
    };
    report();
    await expect
      .poll(rows)
      .toMatchObject([{ published: 3, refused: { generation: 5, problems: ["one", "two", "three", "four", "five"] } }]);
    await presence.close();
    expect(await rows()).toEqual([]);
  });

  test("removes the record of a predecessor that was killed, and no other", async () => {
    const own = `${hostname()}-${globalThis.process.pid}-own1`;
    const predecessor = `${hostname()}-${globalThis.process.pid}-old1`;
    const seen = Math.floor(clock.now() / 1000);
    await process({ id: predecessor, seen: seen - 60 });
    await process({ id: `${hostname()}-${globalThis.process.pid}-new1`, seen });
    await process({ id: `other-host-${globalThis.process.pid}-old1`, seen: seen - 60 });
    const bundle = { status: () => status, onReport: () => () => {} };
    const presence = await startPresence({ store, id: own, bundle, clock, log: silentLog() });
    const left = (await store.list<PresenceRow>(PRESENCE_TAG)).map(({ value }) => value.id);
    expect(left).not.toContain(predecessor);
    expect(left).toHaveLength(3);
    await presence.close();
  });

  test("tolerates an unavailable store", async () => {
    breakable.broken = true;
    const bundle = { status: () => status, onReport: () => () => {} };
    const presence = await startPresence({ store, id: "w1", bundle, clock, log: silentLog() });
    await presence.close();
    breakable.broken = false;
    expect(await rows()).toEqual([]);
  });
});
