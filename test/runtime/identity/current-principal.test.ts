/** Current state of a principal, for open streams: against the real provider. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { recordFormats } from "../../../runtime/record-kinds.ts";
import { createServiceAccount, serviceAccountUser } from "../../../runtime/identity/tokens/service-accounts.ts";
import type { Principal } from "../../../runtime/identity/principal.ts";
import { withFormats } from "../../../runtime/store/formats.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { APP, startSessionBench, type SessionBench } from "../../support/session-bench.ts";

let bench: SessionBench;
let alice: Principal;
let store: Store;

beforeEach(async () => {
  bench = await startSessionBench();
  await bench.browser().signIn(`${APP}/`, "alice@example.com");
  store = withFormats(bench.store.store, recordFormats);
  const [session] = await store.list("sessions");
  const user = await bench.session.identities.find("u-alice");
  const sid = session?.key.replace("session:", "") ?? "";
  if (!user) throw new Error("nobody is signed in");
  alice = { kind: "session", user, sid, sessionId: sid, expiresAt: session?.expiresAt ?? 0, revocationKeys: [] };
});
afterEach(() => bench.close());

describe("current()", () => {
  test("returns the same object while nothing changed", async () => {
    expect(await bench.session.current(alice)).toBe(alice);
  });

  test("has the claims that a refresh brought", async () => {
    bench.idp.update("u-alice", { groups: ["visitors"] });
    expect(await bench.session.current(alice)).toBe(alice);
    await bench.session.identities.refresh("u-alice");

    const now = await bench.session.current(alice);
    expect(now?.user.groups).toEqual(["visitors"]);
    expect(now && (await bench.session.current(now))).toBe(now);
    const bound = await bench.session.current({ ...alice, keyThumbprint: "k" });
    expect(bound).toMatchObject({ user: { groups: ["visitors"] }, keyThumbprint: "k" });
  });

  test("checks with the provider when that is due, also for a caller with only an open stream", async () => {
    bench.idp.update("u-alice", { groups: [] });
    bench.clock.advance(3_700_000);

    expect((await bench.session.current(alice))?.user.groups).toEqual([]);
  });

  test("is undefined after the provider disabled the user, or the session ended", async () => {
    await store.delete(`session:${alice.sid}`);
    expect(await bench.session.current(alice)).toBeUndefined();

    const { sessionId: _, ...granted } = alice;
    await store.put("grant:g1", {}, { expiresAt: alice.expiresAt });
    const grant: Principal = { ...granted, kind: "grant", sid: "g1", grantId: "g1" };
    expect(await bench.session.current(grant)).toBe(grant);
    bench.idp.disable("u-alice");
    await bench.session.identities.refresh("u-alice");
    expect(await bench.session.current(grant)).toBeUndefined();
  });

  test("checks only the user of an expired credential, whose record is deleted", async () => {
    await store.delete(`session:${alice.sid}`);
    bench.clock.advance(alice.expiresAt * 1000 - bench.clock.now());
    expect(await bench.session.current(alice)).toBe(alice);
    bench.idp.disable("u-alice");
    await bench.session.identities.refresh("u-alice");
    expect(await bench.session.current(alice)).toBeUndefined();
  });

  test("is undefined for a deleted service account", async () => {
    const deps = { store, clock: bench.clock };
    const made = await createServiceAccount(deps, { name: "ci", email: "", groups: [], expiresAt: alice.expiresAt });
    if (!made.ok) throw new Error(made.reason);
    const user = serviceAccountUser(made.record);
    const machine: Principal = { ...alice, kind: "service-account", user, sid: made.id };

    expect(await bench.session.current(machine)).toBe(machine);
    await store.delete(`service-account:${made.id}`);
    expect(await bench.session.current(machine)).toBeUndefined();
  });

  test("throws while the store is unavailable, so that no stream ends", async () => {
    bench.store.broken = true;
    await expect(bench.session.current(alice)).rejects.toThrow();
  });
});
