/** Policies that ask for a provider: whoever misspells one is told, wherever in the policy it stands. */
import { expect, test } from "vitest";

import { loadSlices } from "../../../../runtime/config/load.ts";
import { TEST_SHARED_SECRET } from "../../../support/config.ts";

function warningsOf(route: object): readonly string[] {
  const text = JSON.stringify({
    insecure_server: true,
    shared_secret: TEST_SHARED_SECRET,
    authenticate_service_url: "https://auth.example.com",
    idp_provider_url: "https://id.example.com",
    idp_client_id: "gateway",
    identity_issuers: {
      partner: { issuer: "https://partner.example", uses: ["sign_in"], sign_in: { client_id: "x" } },
    },
    routes: [{ name: "app", from: "https://app.example.com", to: "http://127.0.0.1:9", ...route }],
  });
  const { problems } = loadSlices([{ file: "gateway.json", boot: true, text }]);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return problems
    .filter(({ message }) => message.startsWith("names the provider"))
    .map(({ path, message }) => `${path.join(".")} ${/"(.*?)"/.exec(message)?.[1] ?? ""}`);
}

const allow = { or: [{ authenticated_user: true }] };
const mcp = { server: {} };

test.each<[string, object, readonly string[]]>([
  ["an allow rule", { policy: { allow: { and: [{ idp: "prtner" }] } } }, ["routes.0.policy prtner"]],
  ["a deny rule", { policy: { allow, deny: { not: [{ idp: "prtner" }] } } }, ["routes.0.policy prtner"]],
  ["an approve rule", { mcp, policy: { allow, approve: { or: [{ idp: "prtner" }] } } }, ["routes.0.policy prtner"]],
  [
    "a rule in shadow",
    { policy: [{ allow }, { shadow: true, allow: { or: [{ idp: "prtner" }] } }] },
    ["routes.0.policy prtner"],
  ],
  [
    "a candidate",
    { policy: { allow }, shadow_policy: { allow: { or: [{ idp: "prtner" }] } } },
    ["routes.0.shadow_policy prtner"],
  ],
  ["a list", { policy: { allow: { or: [{ idp: { in: ["partner", "prtner"] } }] } } }, ["routes.0.policy prtner"]],
  ["those that are there", { policy: { allow: { or: [{ idp: "partner" }, { idp: "default" }, { idp: "" }] } } }, []],
  ["another criterion with such a name", { policy: { allow: { or: [{ "claim/idp": "prtner" }] } } }, []],
  ["no policy", { allow_any_authenticated_user: true }, []],
])("%s", (_, route, warnings) => {
  expect(warningsOf(route)).toEqual(warnings);
});
