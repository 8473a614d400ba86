import { expect, test } from "vitest";

import { parseDomainPattern } from "../../../../../runtime/settings/domains.ts";
import { createClientKeys } from "../../../../../runtime/oauth/server/clients/client-keys.ts";
import type { ClientMetadata } from "../../../../../runtime/oauth/server/grant-records.ts";

const address = "https://keys.example.com/jwks.json";
const domains = [parseDomainPattern("keys.example.com")].filter((each) => each !== undefined);

const metadata = { jwks_uri: address } as ClientMetadata;

test.each([
  ["where nothing is read from elsewhere", undefined, domains],
  ["whose host is not listed any more", { read: () => Promise.reject(new Error("asked")) }, []],
])("keys of a client %s are none", async (_, documents, allowed) => {
  const keys = createClientKeys({ documents });
  const read = await keys.read(metadata, allowed, "203.0.113.9");
  expect(read).toMatchObject({ ok: false, refusal: { error: "invalid_client", detail: "no keys that may be read" } });
});
