/**
 * Every guard of the program throws in turn, in real processes, while requests of others are in flight: these finish whole, the exchange
 * that is struck ends, and the process lives. The guards are found in the sources; those that no exchange here reaches are listed.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { openCertificateFolder } from "../support/certificates.ts";
import { guardedPlaces } from "../support/fault-places.ts";
import { strikeChecks } from "../support/fault-checks.ts";
import type { World } from "../support/fault-gateway.ts";
import { strikeAll } from "../support/fault-run.ts";
import { UNREACHED } from "../support/fault-unreached.ts";
import { startFaultUpstream } from "../support/fault-upstream.ts";

const KINDS = ["clear", "TLS"] as const;
const names = [...guardedPlaces().values()];
const struck = new Set<string>();
let thrown = 0;
let world: World;

beforeAll(async () => {
  const [folder, upstream, other] = await Promise.all([
    openCertificateFolder(),
    startFaultUpstream(),
    startFaultUpstream(),
  ]);
  world = { folder, upstream, other };
});
afterAll(() => Promise.all(Object.values(world).map((each: { close(): Promise<void> }) => each.close())));

test.each(KINDS)("an exchange whose guard throws ends only itself: %s", async (kind) => {
  const outcome = await strikeAll(kind, world);
  expect(outcome.problems).toEqual([]);
  expect(outcome.thrown).toBeGreaterThan(100);
  thrown += outcome.thrown;
  for (const name of outcome.struck) struck.add(name);
});

test("a health check whose guard throws fails, and the next one runs", async () => {
  const outcome = await strikeChecks(world);
  expect(outcome.problems).toEqual([]);
  thrown += outcome.thrown;
  for (const name of outcome.struck) struck.add(name);
});

afterAll(() => console.log(`${struck.size} of ${names.length} guards threw, ${thrown} times`));

test("each guard is struck, or is listed with the reason why no exchange here reaches it", () => {
  const listed = Object.values(UNREACHED).flat();
  expect(names.filter((name) => !struck.has(name) && !listed.includes(name))).toEqual([]);
  expect(listed.filter((name) => !names.includes(name))).toEqual([]);
});
