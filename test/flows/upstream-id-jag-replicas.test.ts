/** Replicas that share a PostgreSQL server send the identity provider one request in total. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type CompanyWorld, startCompanyWorld } from "../support/company-world.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";

const found = findPostgres();

describe.skipIf("missing" in found)("two gateways on PostgreSQL", () => {
  let postgres: Postgres;
  let world: CompanyWorld;
  let replica: TestGateway;

  beforeAll(async () => {
    if ("missing" in found) return;
    postgres = await startPostgres(found.bin);
    const boot = { storage_url: postgres.url };
    world = await startCompanyWorld({ boot });
    const { origin } = world.front.gateway;
    replica = await startGateway({
      boot,
      yaml: world.front.withProvider(world.frontYaml()).replaceAll("{origin}", origin),
    });
  });
  afterAll(async () => {
    await replica?.close();
    await world?.close();
    await postgres?.close();
  });
  beforeEach(() => void (world.exchanges.length = 0));

  const callBoth = async (token: string): Promise<readonly number[]> => {
    const calls = Array.from({ length: 12 }, (_, at) => world.call(token, at % 2 === 0 ? undefined : replica.port));
    return [...new Set((await Promise.all(calls)).map(({ status }) => status))];
  };

  test("at the first requests of a user", async () => {
    const { token } = await world.newcomer();
    expect(await callBoth(token)).toEqual([200]);
    expect(world.exchanges).toHaveLength(1);
  });

  test("when the upstream has dropped its token", async () => {
    const { token } = await world.newcomer();
    expect(await callBoth(token)).toEqual([200]);
    world.endUpstreamTokens();
    world.exchanges.length = 0;
    expect(await callBoth(token)).toEqual([200]);
    expect(world.exchanges).toHaveLength(1);
  });

  test("a token of one of them is denied to users without access", async () => {
    const { token } = await world.newcomer();
    expect((await world.call(token)).status).toBe(200);
    const other = await world.newcomer();
    world.decide(async () => ({ status: 400, body: { error: "access_denied" } }));
    expect((await world.call(other.token, replica.port)).status).toBe(403);
    expect((await world.call(token, replica.port)).status).toBe(200);
    world.decide();
  });
});
