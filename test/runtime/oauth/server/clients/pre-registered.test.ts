/** Clients created by an administrator: grant types of each kind. */
import { expect, test } from "vitest";

import { clientKey, type ClientRecord } from "../../../../../runtime/oauth/server/grant-records.ts";
import { createClient, type NewClient } from "../../../../../runtime/oauth/server/clients/pre-registered.ts";
import { createMemoryStore } from "../../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../../support/clock.ts";

const redirectUris = ["https://app.example.com/cb"];
const machine = { email: "", groups: [] };

test.each<[string, Partial<NewClient>, readonly string[], readonly string[]]>([
  ["an application", { redirectUris }, ["authorization_code", "refresh_token"], ["code"]],
  ["a machine", { machine }, ["client_credentials"], []],
  [
    "an application that is a machine as well",
    { redirectUris, machine },
    ["authorization_code", "refresh_token", "client_credentials"],
    ["code"],
  ],
  ["an agent", { presentsIdJags: true }, ["urn:ietf:params:oauth:grant-type:jwt-bearer"], []],
])("%s", async (_, wanted, grantTypes, responseTypes) => {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const made = await createClient({ store, clock }, { name: "app", issuer: "https://mcp.example.com", ...wanted });
  if (!made.ok) throw new Error(made.problem);
  const record = await store.get<ClientRecord>(clientKey(made.clientId));
  expect(record?.value.metadata).toMatchObject({ grant_types: grantTypes, response_types: responseTypes });
});
