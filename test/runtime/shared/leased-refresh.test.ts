import { expect, onTestFinished, test, vi } from "vitest";

import { createLeasedRefreshes, type LeasedWork } from "../../../runtime/shared/leased-refresh.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";

const DONE = { from: "work" };
const SEEN = { from: "look" };

/** A lease for one holder at a time, which counts its releases. */
function oneLease() {
  const state = { held: false, released: 0 };
  const lease = async () => {
    if (state.held) return undefined;
    state.held = true;
    return {
      renew: async () => true,
      release: async () => {
        state.held = false;
        state.released += 1;
      },
    };
  };
  return { state, lease };
}

function refreshOf(over: Partial<LeasedWork<object>>): LeasedWork<object> {
  return {
    lease: oneLease().lease,
    waits: [0, 0],
    look: async () => undefined,
    work: async () => DONE,
    ...over,
  };
}

test("once() gives all concurrent callers one result, and starts again afterwards", async () => {
  const { once } = createLeasedRefreshes<object>();
  let begun = 0;
  const begin = async (): Promise<object> => ({ begun: (begun += 1) });
  const [first, second, other] = await Promise.all([once("a", begin), once("a", begin), once("b", begin)]);
  expect(second).toBe(first);
  expect(other).not.toBe(first);
  expect(await once("a", begin)).toEqual({ begun: 3 });
});

test("once() starts again after a failure", async () => {
  const { once } = createLeasedRefreshes<object>();
  await expect(once("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await once("a", async () => DONE)).toBe(DONE);
});

test("underLease() works under the lease and gives it back", async () => {
  const { state, lease } = oneLease();
  const work = async (): Promise<object> => ({ held: state.held });
  expect(await createLeasedRefreshes().underLease(refreshOf({ lease, work }))).toEqual({ held: true });
  expect(state).toEqual({ held: false, released: 1 });
});

test("underLease() gives the lease back when the work fails, and hands on the failure", async () => {
  const { state, lease } = oneLease();
  const work = (): Promise<object> => Promise.reject(new Error("away"));
  await expect(createLeasedRefreshes().underLease(refreshOf({ lease, work }))).rejects.toThrow("away");
  expect(state).toEqual({ held: false, released: 1 });
});

test("underLease() returns the result when the lease cannot be released", async () => {
  const lease = async () => ({ renew: async () => true, release: () => Promise.reject(new Error("away")) });
  expect(await createLeasedRefreshes().underLease(refreshOf({ lease }))).toBe(DONE);
});

test("underLease() uses another holder's result, and does not work itself", async () => {
  let worked = false;
  const result = await createLeasedRefreshes().underLease(
    refreshOf({
      lease: async () => undefined,
      look: async () => SEEN,
      work: async () => {
        worked = true;
        return DONE;
      },
    }),
  );
  expect([result, worked]).toEqual([SEEN, false]);
});

test("underLease() tries again after each wait, and stops after the last one", async () => {
  let tries = 0;
  const lease = async (): Promise<undefined> => void (tries += 1);
  expect(await createLeasedRefreshes().underLease(refreshOf({ lease, waits: [0, 0] }))).toBeUndefined();
  expect(tries).toBe(3);
});

test("underLease() checks again when the work found a changed state, with the lease released", async () => {
  const { state, lease } = oneLease();
  const seen: boolean[] = [];
  const results = [undefined, DONE];
  const result = await createLeasedRefreshes().underLease(
    refreshOf({
      lease,
      look: async () => void seen.push(state.held),
      work: async () => results.shift(),
    }),
  );
  expect([result, seen, state.released]).toEqual([DONE, [false], 2]);
});

test("underLease() holds the lease as long as the work takes, also while the store is unavailable, and 10 s after its process died", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const store = createMemoryStore({ clock: systemClock });
  let isAway = false;
  const lease: LeasedWork<object>["lease"] = async (ttlMs) => {
    const held = await store.lease("one", ttlMs);
    const renew = (nextMs: number): Promise<boolean> =>
      isAway ? Promise.reject(new Error("away")) : (held?.renew(nextMs) ?? Promise.resolve(false));
    return held && { renew, release: () => held.release() };
  };
  const isFree = async (): Promise<boolean> => {
    const held = await store.lease("one", 1000);
    await held?.release();
    return held !== undefined;
  };
  const { promise, resolve } = Promise.withResolvers<object>();
  const done = createLeasedRefreshes().underLease(refreshOf({ lease, work: () => promise }));
  for (let second = 0; second < 60; second += 1) {
    await vi.advanceTimersByTimeAsync(1000);
    isAway = second % 10 < 4;
    expect(await isFree()).toBe(false);
  }
  resolve(DONE);
  expect(await done).toBe(DONE);
  expect(await isFree()).toBe(true);

  void createLeasedRefreshes().underLease(refreshOf({ lease, work: () => new Promise(() => {}) }));
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await isFree()).toBe(false);
  // Its process dies: nothing of it reaches the store.
  isAway = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await isFree()).toBe(true);
});

test("close() ends waits for other holders, and waits for work in progress", async () => {
  const refreshes = createLeasedRefreshes<object>();
  const { promise, resolve } = Promise.withResolvers<object>();
  const working = refreshes.once(
    "working",
    async () => (await refreshes.underLease(refreshOf({ work: () => promise }))) ?? {},
  );
  const waiting = refreshes.once("waiting", async () => {
    // Nobody waits as long as this.
    return (await refreshes.underLease(refreshOf({ lease: async () => undefined, waits: [1e9] }))) ?? {};
  });
  const closed = refreshes.close();
  expect(await waiting).toEqual({});
  resolve(DONE);
  await closed;
  expect(await working).toBe(DONE);
  expect(await refreshes.underLease(refreshOf({}))).toBeUndefined();
});
