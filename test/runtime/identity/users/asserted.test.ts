import { expect, test } from "vitest";

import type { Principal } from "../../../../runtime/identity/principal.ts";
import { isStillTrusted } from "../../../../runtime/identity/users/asserted.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { userId } from "../../../support/users.ts";

const { settings } = snapshotFrom(`
identity_issuers:
  partner: { issuer: "https://partner.example", uses: [sign_in], sign_in: { client_id: gateway } }
`);

test.each<[string, Principal["user"]["issuer"], boolean]>([
  ["of the first provider", undefined, true],
  ["of an issuer that is there", { name: "partner", url: "https://partner.example" }, true],
  ["of an issuer whose name is another's now", { name: "partner", url: "https://old.example" }, false],
  ["of an issuer that is gone", { name: "gone", url: "https://partner.example" }, false],
])("isStillVouchedFor() a user %s: %s", (_, issuer, expected) => {
  const user = { id: userId("alice"), issuer } as unknown as Principal["user"];
  expect(isStillTrusted(settings, { user })).toBe(expected);
});
