/** `gateway rollback` as a command, with a gateway running and without. */
import { spawnSync } from "node:child_process";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { builtProgram } from "../../support/built-program.ts";
import { POLL_MS } from "../../support/limits.ts";
import { openSlice, startUpstream, visit, type MarkedUpstream } from "../../support/marked-upstream.ts";
import { runGateway, type RunningGateway } from "../../support/run-gateway.ts";

let program: string;
let upstream: MarkedUpstream;
let gateway: RunningGateway;
beforeAll(async () => {
  program = await builtProgram();
  upstream = await startUpstream();
  gateway = await runGateway({ workers: 1 });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

function command(...args: string[]): { readonly code: number | null; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, "rollback", "--config", gateway.directory, ...args],
    { encoding: "utf8", timeout: POLL_MS },
  );
  return { code: status, text: `${stdout}${stderr}` };
}
const slice = (mark: string): string => openSlice("team", mark, upstream.origin);
const mark = async (): Promise<string | undefined> => (await visit(gateway.origin, "team-0.example.com")).mark;

describe("gateway rollback", () => {
  beforeEach(async () => {
    await gateway.admin.remove("team");
    await gateway.admin.publish("team", slice("1"));
    await gateway.admin.publish("team", slice("2"), "*");
  });

  test("puts a slice back, and is done when the running gateway serves it", async () => {
    const { code, text } = command("--owner", "team");
    expect(text).toMatch(/^Generation \d+, live in the only running process:\n {2}team: [0-9a-f]{12}\n$/);
    expect(code).toBe(0);
    expect(await mark()).toBe("1");
  });

  test("lists the available generations, and returns to one of them", async () => {
    const listed = command("--list").text.trim().split("\n");
    expect(listed[0]).toMatch(/^ *\d+ {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}team {2}[0-9a-f]{12}$/);
    const generation = listed[1]?.trim().split(" ")[0] ?? "";
    expect(command("--to", generation).code).toBe(0);
    expect(await mark()).toBe("1");
    expect(command("--to", generation).text).toContain("already in this state");
  });

  test("reports what it cannot do", () => {
    expect(command("--to", "999999")).toMatchObject({
      code: 1,
      text: expect.stringContaining("is not before the current one"),
    });
    expect(command("--owner", "nobody")).toMatchObject({
      code: 1,
      text: expect.stringContaining("never published a slice"),
    });
    expect(command("--to", "yesterday").code).toBe(2);
  });
});

test("gateway rollback works when no gateway runs, and the next one starts with it", async () => {
  await gateway.admin.remove("team");
  await gateway.admin.publish("team", slice("1"));
  await gateway.admin.publish("team", slice("2"), "*");
  const storage = `sqlite:${gateway.directory}/gateway.db`;
  gateway.process.kill("SIGTERM");
  await gateway.ended;
  expect(command("--owner", "team").text).toContain("live in no process, because none is running");
  const next = await runGateway({ boot: { storage_url: storage } });
  try {
    expect((await visit(next.origin, "team-0.example.com")).mark).toBe("1");
  } finally {
    await next.close();
  }
});

test("gateway rollback reports that only the running gateway has access to a store in memory", async () => {
  const inMemory = await runGateway({ boot: { storage_url: "memory:" } });
  try {
    const args = [program, "rollback", "--config", inMemory.directory];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: POLL_MS });
    expect(status).toBe(1);
    expect(stderr).toContain("send POST /config/rollback to its admin address");
  } finally {
    await inMemory.close();
  }
});
