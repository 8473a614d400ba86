/** What acts beside the policy, in the simulator. */
import { expect, test } from "vitest";

import type { ConsoleRights } from "../../../runtime/console/screen.ts";
import { askInForce } from "../../../runtime/console/simulator/ask-in-force.ts";
import { putBlock } from "../../../runtime/identity/block-records.ts";
import { openBlocks } from "../../../runtime/identity/blocks.ts";
import { createToolLocks } from "../../../runtime/mcp/tool-locks/tool-locks.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import type { Block } from "../../../runtime/policy/blocks.ts";
import { createTestClock } from "../../support/clock.ts";
import { snapshotFrom } from "../../support/config.ts";
import { createBreakableStore } from "../../support/store.ts";

const YAML = `
runtime_flags: { mcp: true }
routes:
  - name: tools
    from: https://tools.example.com
    to: http://tools.internal
    mcp: { server: {} }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`;
const whole: ConsoleRights = { roles: new Set(["viewer"]), byOwner: new Map(), owners: undefined, may: () => true };
const ofOwner: ConsoleRights = {
  ...whole,
  roles: new Set(),
  owners: ["default"],
  may: (_, owner) => owner === "default",
};
const said = { reason: "suspected of theft", since: 1, by: "root@example.com" };

test.each<readonly [what: string, block: Block, isOfRoute: boolean]>([
  ["a person", { kind: "user", name: "u-alice", ...said }, false],
  ["a tool everywhere", { kind: "tool", name: "merge", ...said }, false],
  ["a tool of the route", { kind: "tool", name: "merge", route: "default/tools", ...said }, true],
  ["the route", { kind: "route", name: "default/tools", ...said }, true],
])("that %s is blocked is told, and why to whom it concerns", async (_, block, isOfRoute) => {
  const clock = createTestClock();
  const { store } = createBreakableStore(clock);
  const log = silentLog();
  await putBlock({ store, clock }, block);
  const blocks = await openBlocks({ store, clock, log });
  const deps = { blocks, toolLocks: createToolLocks(), demandsCertificate: false };
  const question = { user: "u-alice", email: "alice@example.com", groups: "", tool: "merge", arguments: "{}" };
  const asked = {
    route: { key: "default/tools" },
    question: { ...question, method: "POST", path: "/" },
    known: undefined,
  };
  for (const [rights, isTold] of [
    [whole, true],
    [ofOwner, isOfRoute],
  ] as const) {
    const answer = askInForce(deps, snapshotFrom(YAML), asked, rights);
    if (typeof answer === "string") throw new Error(answer);
    expect(answer.deniedBy).toBe("block");
    expect(JSON.stringify(answer.besides).includes(said.reason)).toBe(isTold);
    expect(JSON.stringify(answer.besides)).toContain(`blocked-${block.kind}`);
  }
  const others = { ...ofOwner, owners: ["def"], may: (_role: string, owner?: string) => owner === "def" };
  expect(askInForce(deps, snapshotFrom(YAML), asked, others)).toBe("No route that you can view matches");
  await blocks.close();
});
