import { expect, test } from "vitest";

import { endGrant } from "../../../../../runtime/oauth/server/grants/grants.ts";

test("endGrant() revokes the grant, and says in the log why", async () => {
  const done: unknown[] = [];
  await endGrant(
    {
      revocations: { revoke: async (key) => void done.push(key) },
      log: { info: (about: object, message: string) => done.push(about, message) } as never,
    },
    "g1",
    "refresh token reused",
  );
  expect(done).toEqual(["grant:g1", { grant: "g1", reason: "refresh token reused" }, "grant ended"]);
});
