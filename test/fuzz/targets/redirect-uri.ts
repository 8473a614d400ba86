/** A requested redirect URI beside a registered one: what matches leads to the same place. */
import {
  matchesRedirectUri,
  redirectUriProblem,
  withAnswer,
} from "../../../runtime/oauth/server/clients/redirect-uri.ts";
import { must, mustEqual, partsOf } from "../oracle.ts";

const REGISTERED = [
  "https://client.example.com/cb?x=1",
  "http://127.0.0.1/cb",
  "http://localhost:3000/cb",
  "http://[::1]:80/cb?y",
];

export function fuzz(data: Uint8Array): void {
  const [requested = "", given = ""] = partsOf(data);
  for (const registered of [...REGISTERED, given]) {
    if (redirectUriProblem(registered, []) !== undefined || !matchesRedirectUri([registered], requested)) continue;
    mustEqual(redirectUriProblem(requested, []) ?? null, null, "matches, but could not be registered");
    const [one, other] = [new URL(registered), new URL(requested)];
    mustEqual(
      [other.protocol, other.hostname, other.pathname, other.search, other.hash],
      [one.protocol, one.hostname, one.pathname, one.search, one.hash],
      "leads to another place",
    );
    must(one.protocol === "http:" || one.port === other.port, "another port of a host that is not this machine");
    const answered = new URL(
      withAnswer(requested, { code: "a&b", state: undefined, iss: "https://gateway.example.com" }),
    );
    mustEqual([answered.origin, answered.pathname], [other.origin, other.pathname], "the answer goes elsewhere");
    mustEqual(answered.searchParams.getAll("code").at(-1), "a&b", "the answer is another one");
  }
}
