/** What the reference tells beside settings: a running gateway has these endpoints with these methods, and no others. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  ADMIN_ENDPOINTS,
  EXIT_CODES,
  MCP_ENDPOINTS,
  PUBLIC_ENDPOINTS,
} from "../../runtime/config/surfaces/reference-endpoints.ts";
import { EXPLAIN_EXIT } from "../../runtime/tools/explain.ts";
import { REPLAY_EXIT } from "../../runtime/tools/replay/replay.ts";
import { createSend } from "../support/browser.ts";
import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { readPage } from "../support/page-blocks.ts";
import { ADMIN_TOKEN, runGateway, type RunningGateway } from "../support/run-gateway.ts";

let world: McpGateway;
let running: RunningGateway;
beforeAll(async () => {
  [world, running] = await Promise.all([
    startMcpGateway({ authenticateHost: true, boot: { console: { viewer: [] } }, settings: "mcp_catalog: public" }),
    runGateway(),
  ]);
});
afterAll(async () => {
  await world?.close();
  await running?.close();
});

/** One address stands for all of its pages. */
const CONSOLE = "/.gateway/console";
/** Not of the public listener: the plain one next to it answers it while an order of a certificate is pending. */
const ACME = "/.well-known/acme-challenge/";

/** Methods of an address, as a 405 names them. */
async function methodsOf(
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = await createSend()({ method: "PROPFIND", url: origin + path, headers });
  const allow = answer.headers["allow"] ?? "";
  const methods = allow.split(", ").filter((method) => !/^(?:HEAD|OPTIONS)$/.test(method));
  return `${answer.status} ${methods.toSorted().join(", ")}`;
}

describe("endpoints", () => {
  test.each([...PUBLIC_ENDPOINTS, ...MCP_ENDPOINTS])("$path", async ({ path, methods }) => {
    const url = path.replace("<name>", "partner");
    expect(await methodsOf(world.gateway.origin, url)).toBe(`405 ${methods.toSorted().join(", ")}`);
  });

  test("are all that the sources have", () => {
    const listed = new Set([...PUBLIC_ENDPOINTS, ...MCP_ENDPOINTS].map(({ path }) => path));
    const words = readPage("test/golden/words.txt").split("\n");
    const paths = words.filter(
      (word) => /^\/\.(?:gateway|well-known)\/./.test(word) && word !== "/.well-known/gateway",
    );
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !listed.has(path) && !path.startsWith(CONSOLE) && path !== ACME)).toEqual([]);
  });

  test.each(ADMIN_ENDPOINTS)("$path of the admin listener", async ({ path, methods }) => {
    const url = path.replace("<owner>", "team").replace("<id>", "x");
    const told = await methodsOf(running.adminOrigin, url, { authorization: `Bearer ${ADMIN_TOKEN}` });
    expect(told).toBe(`405 ${methods.toSorted().join(", ")}`);
  });
});

test("exit codes: those of `explain` and `replay` are their own", () => {
  expect(EXIT_CODES.map(([code]) => code)).toEqual([0, 1, 2, 3, 4]);
  expect(EXPLAIN_EXIT).toEqual({ allowed: 0, problem: 1, denied: 3, approval: 4 });
  expect(REPLAY_EXIT).toEqual({ same: 0, problem: 1, changed: 3, partly: 4 });
});
