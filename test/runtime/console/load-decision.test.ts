/** A decision whose question the simulator loads. */
import { expect, test } from "vitest";

import type { SimulatorDeps } from "../../../runtime/console/simulator/deps.ts";
import { simulatorScreen } from "../../../runtime/console/simulator/simulator.ts";
import { openConsoleWorld, rightsTo, shown, textOfMarkup, visitTo } from "../../support/console-world.ts";
import { createMemoryReader, keptDecision } from "../../support/record-reader.ts";

test("arguments of a loaded decision are on the page of an auditor, and never in an address", async () => {
  const world = await openConsoleWorld("routes: []");
  const value = { "request-id": "r1", "mcp-method": "tools/call", "mcp-tool-parameters": { secret: "hunter2" } };
  const records = createMemoryReader([keptDecision({ route: "team-a/r", tool: "t", value })]);
  const screen = simulatorScreen({
    records,
    drafts: { records: { get: () => Promise.resolve(undefined), list: () => Promise.resolve([]) } },
    people: { find: () => Promise.resolve([]), list: () => Promise.resolve([]) },
  } as unknown as SimulatorDeps);
  const load = async (...rights: Parameters<typeof rightsTo>): Promise<string> => {
    const visit = visitTo(world, "?load=r1", rightsTo(...rights));
    expect((await screen.respond?.(visit)) ?? false).toBe(false);
    return textOfMarkup((await shown(screen, visit))?.replaceAll(/value="([^"]*)"/g, ">$1<"));
  };
  const auditor = await load(["viewer", "auditor"]);
  expect(auditor).toContain("hunter2");
  expect(auditor).toContain("team-a/r");
  const viewer = await load([], { "team-a": ["viewer"] });
  expect(viewer).toContain("team-a/r");
  expect(viewer).not.toContain("hunter2");
  expect(await load([], { "team-b": ["viewer", "auditor"] })).toContain("No decision with this request ID");
});
