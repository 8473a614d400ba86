import { expect, test } from "vitest";

import { createServiceAccount, listServiceAccounts } from "../../../../runtime/identity/tokens/service-accounts.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../support/clock.ts";

test("createServiceAccount() gives a name once, also while another process gives it", async () => {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const account = { name: "ci", email: "", groups: [] };
  const lease = await store.lease("service-account-name:ci", 10_000);
  expect(await createServiceAccount({ store, clock }, account)).toEqual({ ok: false, reason: "taken" });
  await lease?.release();
  expect(await createServiceAccount({ store, clock }, account)).toMatchObject({ ok: true });
  expect(await createServiceAccount({ store, clock }, account)).toEqual({ ok: false, reason: "taken" });
  expect(await createServiceAccount({ store, clock }, { ...account, name: "-" })).toMatchObject({ reason: "name" });
  expect(await listServiceAccounts(store)).toHaveLength(1);
});
