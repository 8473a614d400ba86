import { expect, test } from "vitest";

import { refusedDecision } from "../../../../runtime/policy/evaluate.ts";
import { lockedDecision, lockReason } from "../../../../runtime/mcp/tool-locks/locked-decision.ts";

test("lockReason() distinguishes decisions of the lock from those of policy", () => {
  for (const isTool of [true, false]) {
    expect(lockReason(lockedDecision("changed", isTool))).toBe("tool-changed");
    expect(lockReason(lockedDecision("unlocked", isTool))).toBe("tool-not-reviewed");
    expect(lockReason(lockedDecision("unseen", isTool))).toBe("tool-not-listed");
    expect(lockedDecision("changed", isTool).allowWhyFalse.includes("mcp-tool-unauthorized")).toBe(isTool);
  }
  expect(lockReason(refusedDecision("mcp-tool-unauthorized"))).toBeUndefined();
});
