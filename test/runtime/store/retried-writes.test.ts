/** What the store has not taken is done again; what it is about to take is not. */
import { expect, test } from "vitest";

import { createRetriedWrites } from "../../../runtime/store/retried-writes.ts";
import { createTestClock } from "../../support/clock.ts";
import { createLog } from "../../../runtime/shared/log.ts";

test("a write in progress is not repeated when the feed is read meanwhile; a failed one is", async () => {
  const lines: unknown[] = [];
  const log = createLog({ level: "info", destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
  const attempts: PromiseWithResolvers<void>[] = [];
  const writes = createRetriedWrites({
    clock: createTestClock(),
    log,
    what: "revocations",
    lifetime: () => 3600,
    act: () => {
      attempts.push(Promise.withResolvers<void>());
      return attempts.at(-1)!.promise;
    },
  });

  const first = writes.settle("session:a");
  void writes.retry();
  expect(attempts).toHaveLength(1);
  expect(writes.has("session:a")).toBe(true);
  attempts[0]?.reject(new Error("the store is away"));
  await expect(first).rejects.toThrow("away");
  expect(lines).toEqual([]);

  const again = writes.retry();
  expect(attempts).toHaveLength(2);
  attempts[1]?.resolve();
  await again;
  expect(writes.has("session:a")).toBe(false);
  expect(lines).toMatchObject([{ count: 1, msg: "pending store writes completed" }]);
});
