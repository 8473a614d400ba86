import { expect, test } from "vitest";

import { refusedDecision } from "../../../runtime/policy/evaluate.ts";
import { lockedDecision, lockReason } from "../../../runtime/policy/tool-lock.ts";

test("lockReason() tells decisions of the lock from those of policy", () => {
  expect(lockReason(lockedDecision("changed"))).toBe("tool-changed");
  expect(lockReason(lockedDecision("unlocked"))).toBe("tool-not-reviewed");
  expect(lockReason(lockedDecision("unseen"))).toBe("tool-not-listed");
  expect(lockReason(refusedDecision("mcp-tool-unauthorized"))).toBeUndefined();
});
