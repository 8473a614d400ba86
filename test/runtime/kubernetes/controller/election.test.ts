/** Who leads, with time from the test's clock. */
import { afterEach, describe, expect, test } from "vitest";

import { createKubeClient } from "../../../../runtime/kubernetes/controller/client.ts";
import { createElection } from "../../../../runtime/kubernetes/controller/election.ts";
import { createLog } from "../../../../runtime/shared/log.ts";
import { createTestClock } from "../../../support/clock.ts";
import { startKubeApi } from "../../../support/kube-api.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function setup() {
  const api = await startKubeApi();
  closers.push(() => api.close());
  const client = await createKubeClient({ kubeconfig: api.kubeconfig });
  closers.push(() => client.close());
  const clock = createTestClock();
  const lines: string[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(line) } });
  const candidate = (identity: string) =>
    createElection({ client, namespace: "gateway", name: "controller", identity, clock, log });
  const spec = () => api.objects("leases")[0]?.["spec"] as Record<string, unknown> | undefined;
  return { api, clock, candidate, spec, lines };
}

const isLease = ({ path }: { readonly path: string }): boolean => path.includes("/leases");

describe("createElection()", () => {
  test("the first one leads, the other one does not", async () => {
    const { candidate, spec } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];

    expect(await a.tick()).toBe(true);
    expect(await b.tick()).toBe(false);
    expect(spec()).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(spec()?.["renewTime"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test("a leader that renews stays leader indefinitely", async () => {
    const { clock, candidate } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];
    await a.tick();

    for (let round = 0; round < 10; round++) {
      clock.advance(5_000);
      expect(await a.tick()).toBe(true);
      expect(await b.tick()).toBe(false);
    }
  });

  test("a leader that cannot renew stops before another one begins", async () => {
    const { api, clock, candidate } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];
    await a.tick();
    await b.tick();

    api.fail(1, 500, isLease);
    clock.advance(9_999);
    expect(await a.tick()).toBe(true);
    clock.advance(1);
    expect(a.isLeader()).toBe(false);
    expect(await b.tick()).toBe(false);
    clock.advance(5_000);
    expect(await b.tick()).toBe(true);
    expect(await a.tick()).toBe(false);
  });

  test("times in the Lease are not trusted: only observed changes count", async () => {
    const { api, clock, candidate } = await setup();
    api.apply({
      kind: "Lease",
      metadata: { name: "controller", namespace: "gateway" },
      spec: { holderIdentity: "x", leaseDurationSeconds: 15, renewTime: "1999-01-01T00:00:00.000000Z" },
    });
    const b = candidate("b");

    expect(await b.tick()).toBe(false);
    clock.advance(14_999);
    expect(await b.tick()).toBe(false);
    clock.advance(1);
    expect(await b.tick()).toBe(true);
  });

  test("of two that take a free Lease at the same moment one gets it", async () => {
    const { api, clock, candidate, spec } = await setup();
    const [a, b, c] = [candidate("a"), candidate("b"), candidate("c")];
    await a.tick();
    await b.tick();
    await c.tick();
    clock.advance(15_000);

    const results = await Promise.all([b.tick(), c.tick()]);

    expect(results.filter(Boolean)).toHaveLength(1);
    expect(spec()?.["leaseTransitions"]).toBe(1);
    expect(api.objects("leases")).toHaveLength(1);
  });

  test("a write that was overtaken is refused and taken back to heart", async () => {
    const { api, clock, candidate } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];
    await a.tick();
    await b.tick();
    clock.advance(15_000);
    // Just before b's write arrives, a renews.
    api.beforeNextWrite(isLease, () => {
      const [lease] = api.objects("leases");
      if (lease) api.apply({ ...lease, kind: "Lease" });
    });

    expect(await b.tick()).toBe(false);
    expect(await a.tick()).toBe(true);
  });

  test("given back, it is the next one's at once", async () => {
    const { candidate, spec } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];
    await a.tick();
    await b.tick();

    await a.release();

    expect(a.isLeader()).toBe(false);
    expect(spec()).toMatchObject({ holderIdentity: "" });
    expect(await b.tick()).toBe(true);
  });

  test("a controller that does not lead releases nothing", async () => {
    const { api, candidate } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];
    await a.tick();
    await b.tick();
    const before = api.objects("leases")[0]?.metadata.resourceVersion;

    await b.release();

    expect(api.objects("leases")[0]?.metadata.resourceVersion).toBe(before);
  });

  test("says once why the Lease cannot be had, with the missing right, and when it can", async () => {
    const { api, candidate, lines } = await setup();
    const a = candidate("a");
    const lift = api.forbid(isLease);
    expect([await a.tick(), await a.tick()]).toEqual([false, false]);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: 40,
      lease: "gateway/controller",
      right: "get, create and update leases in namespace gateway",
      msg: "cannot read or write lease, controller cannot lead",
    });
    expect(a.problem()).toContain("Forbidden");
    lift();
    expect([await a.tick(), a.problem()]).toEqual([true, undefined]);
    // That another one holds it is no problem.
    const b = candidate("b");
    expect([await b.tick(), b.problem()]).toEqual([false, undefined]);
  });
});
