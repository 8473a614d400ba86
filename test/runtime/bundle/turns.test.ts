import { expect, test } from "vitest";

import { createTurns } from "../../../runtime/bundle/validation/turns.ts";

test("work that throws at once is rejected, and the next has its turn", async () => {
  const turns = createTurns();
  const broken = turns.take("team-a", () => {
    throw new Error("a mistake");
  });
  await expect(broken).rejects.toThrow("a mistake");
  expect(await turns.take("team-b", () => Promise.resolve(1))).toBe(1);
});
