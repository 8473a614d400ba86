/** What is told of configurations, replicas and certificates, and when. */
import { X509Certificate } from "node:crypto";

import { beforeEach, describe, expect, test } from "vitest";

import type { GatewayEvent } from "../../../runtime/audit/events.ts";
import type { ConsumerStatus } from "../../../runtime/audit/record-consumer.ts";
import { PRESENCE_TAG, presenceKey, type PresenceRow } from "../../../runtime/bundle/presence.ts";
import type { Publication } from "../../../runtime/bundle/publication.ts";
import { PUBLICATION_KEY } from "../../../runtime/bundle/published.ts";
import { alertOnLag } from "../../../runtime/alerts/lagging-replicas.ts";
import { alertOnExpiry } from "../../../runtime/alerts/expiring-certificates.ts";
import { startAlertingOnRejection } from "../../../runtime/alerts/rejected-configuration.ts";
import { alertOnSinks } from "../../../runtime/alerts/unavailable-sinks.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { makeTestCertificate } from "../../support/certificates.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import type { BundleStatus } from "../../../runtime/bundle/report.ts";

let told: GatewayEvent[];
const notify = (event: GatewayEvent): void => void told.push(event);
beforeEach(() => void (told = []));

describe("configuration.refused", () => {
  const good: BundleStatus = {
    digest: "d",
    generation: 1,
    loadedAt: 0,
    slices: [],
    degraded: [],
    owners: { current: 1, kept: 0, absent: 0 },
    restartNeeded: false,
    reloads: { ok: 1, failed: 0 },
    published: { generation: 4, inForce: 4 },
  };

  test("is sent once while nothing changes, and again for another problem or another publication", async () => {
    let status = good;
    const listeners: (() => void)[] = [];
    const onReport = (listener: () => void) => {
      listeners.push(listener);
      return () => void listeners.splice(0);
    };
    const telling = startAlertingOnRejection({ status: () => status, onReport }, notify);
    const become = (next: BundleStatus): void => {
      status = next;
      for (const listener of listeners) listener();
    };
    expect(told).toEqual([]);
    const bad = { ...good, lastError: { at: 9, problems: Array.from({ length: 7 }, () => "x".repeat(1000)) } };
    become(bad);
    become({ ...bad, lastError: { ...bad.lastError, at: 10 } });
    expect(told).toEqual([
      {
        type: "configuration.refused",
        subject: expect.any(String) as string,
        data: { partial: false, problems: Array(5).fill("x".repeat(400)), more: 2, owners: [] },
      },
    ]);
    become(good);
    become({ ...bad, published: { generation: 5, inForce: 4 } });
    expect(new Set(told.map(({ subject }) => subject)).size).toBe(2);
    await telling.close();
    expect(listeners).toEqual([]);
  });
});

describe("replica.behind", () => {
  let clock: TestClock;
  let store: Store;
  beforeEach(() => {
    clock = createTestClock();
    store = createMemoryStore({ clock });
  });

  const publish = (generation: number, at: number): Promise<unknown> => {
    const versions = [{ generation, digest: "d", at }];
    const publication: Publication = {
      schema: 1,
      id: "p",
      generation,
      owners: [{ owner: "team-a", versions, trimmed: false }],
    };
    return store.put(PUBLICATION_KEY, publication);
  };
  const live = (row: Pick<PresenceRow, "id" | "published" | "refused">): Promise<unknown> =>
    // Heartbeats go on while the test's clock moves.
    store.put(presenceKey(row.id), { digest: "", seen: clock.now() / 1000 + 3_600, ...row }, { tags: [PRESENCE_TAG] });

  test("names the processes that have not applied a publication after one minute, and no others", async () => {
    await alertOnLag({ store, notify, clock });
    await publish(3, 1_800_000_000);
    await live({ id: "good", published: 3 });
    await live({ id: "slow", published: 2 });
    await live({ id: "wrong", published: 2, refused: { generation: 3, problems: ["a.yaml: is bad"] } });
    clock.advance(59_000);
    await alertOnLag({ store, notify, clock });
    expect(told).toEqual([]);
    clock.advance(1_000);
    await alertOnLag({ store, notify, clock });
    expect(told.map(({ type, data }) => ({ type, ...data }))).toEqual([
      { type: "replica.behind", replica: "slow", generation: 3, reason: "is at generation 2" },
      {
        type: "replica.behind",
        replica: "wrong",
        generation: 3,
        reason: "is at generation 2 and refused 3: a.yaml: is bad",
      },
    ]);
  });
});

describe("certificate.ending", () => {
  const made = makeTestCertificate({ name: "app", dns: ["app.example.com"] });
  const leaf = new X509Certificate(made.cert);
  const endsMs = Date.parse(leaf.validTo);
  const shown = {
    public: { leaves: () => [leaf] },
    admin: undefined,
    hosts: () => [{ host: "own.example.com", owner: "team-a", certificate: made.cert, key: made.key }],
    automatic: () => [],
  };

  test("is sent when a certificate's renewal is overdue, again when it has expired, and not before", () => {
    const clock = createTestClock(endsMs - 2.3 * 86_400_000);
    alertOnExpiry(shown, notify, clock);
    expect(told).toEqual([]);
    clock.set(endsMs - 2 * 86_400_000);
    alertOnExpiry(shown, notify, clock);
    const ends = new Date(endsMs).toISOString();
    const data = { listener: "public", names: ["app.example.com"], ends, ended: false };
    expect(told.map(({ data: each }) => each)).toEqual([data, { ...data, host: "own.example.com", owner: "team-a" }]);
    alertOnExpiry(shown, notify, clock);
    clock.set(endsMs);
    alertOnExpiry(shown, notify, clock);
    // What is the same has the same subject, whoever tells it.
    expect(new Set(told.map(({ subject }) => subject)).size).toBe(4);
    expect(told.at(-2)?.data).toEqual({ ...data, ended: true });
  });
});

test("records.away is sent for a sink that was unavailable for a minute, records.lost for new losses; never for the record store", () => {
  const clock = createTestClock();
  const well = { kind: "http", isAway: false, waiting: 0, taken: 0, lost: 0 } as const;
  let statuses: readonly ConsumerStatus[] = [];
  const look = alertOnSinks({ status: () => statuses }, notify, clock);
  const see = (...next: readonly ConsumerStatus[]): readonly unknown[] => {
    statuses = next;
    told = [];
    look();
    return told.map(({ type, data }) => ({ type, ...data }));
  };
  expect(see({ ...well, name: "siem" })).toEqual([]);
  expect(see({ ...well, name: "siem", isAway: true, waiting: 3 })).toEqual([]);
  clock.advance(59_999);
  expect(see({ ...well, name: "siem", isAway: true, waiting: 4 })).toEqual([]);
  clock.advance(1);
  expect(see({ ...well, name: "siem", isAway: true, waiting: 5 })).toEqual([
    { type: "records.away", sink: "siem", waiting: 5 },
  ]);
  expect(see({ ...well, name: "siem" })).toEqual([]);
  // Away anew: the minute begins anew.
  expect(see({ ...well, name: "siem", isAway: true })).toEqual([]);
  const lossy = { ...well, name: "logs", kind: "syslog", lost: 2 } as const;
  expect(see(lossy)).toEqual([{ type: "records.lost", sink: "logs", lost: 2 }]);
  expect(see(lossy)).toEqual([]);
  expect(see({ ...well, name: "records", kind: "record_store", isAway: true, lost: 9 })).toEqual([]);
});
