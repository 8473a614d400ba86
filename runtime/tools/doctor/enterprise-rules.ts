/** Needs of clients that present a statement of their company's identity provider (ID-JAG) instead of signing in. */
import { broken, describe, HOLDS, holdsIf, lists, unknown, type Rule } from "./rule.ts";
import { serverRule } from "./server-rules.ts";
import type { JsonObject } from "./ask.ts";
import { metadataHeaders } from "./challenge-rules.ts";
import type { DoctorCheck } from "./visit.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

const PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/** Authentication methods of such a client. */
const PROOFS = ["client_secret_basic", "client_secret_post", "private_key_jwt"];
/** From an unknown issuer, without a signature. */
const NOT_GOOD = ['{"alg":"ES256","typ":"oauth-id-jag+jwt"}', '{"iss":"https://gateway-doctor.invalid"}', "none"]
  .map((part) => Buffer.from(part).toString("base64url"))
  .join(".");

/** Clients read either one of the two. */
async function bothDocuments(visit: DoctorCheck): Promise<readonly JsonObject[]> {
  const { origin, pathname } = new URL(await visit.issuer());
  const found: JsonObject[] = [];
  for (const name of ["oauth-authorization-server", "openid-configuration"]) {
    const answer = await visit.ask({
      url: `${origin}/.well-known/${name}${trimSlash(pathname)}`,
      headers: metadataHeaders,
    });
    const document = answer.status === 200 ? answer.json() : undefined;
    if (document) found.push(document);
  }
  return found;
}

const namesProfile = (document: JsonObject): boolean =>
  lists(document["authorization_grant_profiles_supported"], PROFILE);

/** Whether the metadata offers this to clients: otherwise they continue to the sign-in page. */
export async function isOffered(visit: DoctorCheck): Promise<boolean> {
  return (await bothDocuments(visit)).some(namesProfile);
}

export const NOT_OFFERED =
  "the metadata does not name the ID-JAG profile, so these clients show the sign-in page as others do. On this gateway an entry of identity_issuers offers it: its uses list id_jag, its hosts this host (or no hosts), and it is in an active slice";

export const idJagAgreed: Rule = {
  id: "id-jag-agreed",
  says: "both metadata documents name the ID-JAG profile, and the same grants",
  async check(visit) {
    const [first, ...others] = await bothDocuments(visit);
    if (!first) return unknown("there is no authorization server metadata");
    for (const document of [first, ...others]) {
      if (!namesProfile(document))
        return broken("one of them does not name the profile", "serve the same under both names");
      if (sortedText(document["grant_types_supported"]) !== sortedText(first["grant_types_supported"]))
        return broken("grant_types_supported differs", "serve the same under both names");
    }
    return HOLDS;
  },
};

function sortedText(value: unknown): string {
  return JSON.stringify(Array.isArray(value) ? value.map(String).toSorted() : value);
}

export const idJagGrantAdvertised = serverRule(
  "id-jag-grant-advertised",
  "grant_types_supported lists the grant and its profile",
  ({ grant_types_supported: grants }) =>
    holdsIf(
      lists(grants, JWT_BEARER),
      `grant_types_supported is ${JSON.stringify(grants)}`,
      `list ${JWT_BEARER}: clients also look for it`,
    ),
);

export const provenClientsAdvertised = serverRule(
  "proven-clients-advertised",
  "token_endpoint_auth_methods_supported lists a method for clients that authenticate",
  ({ token_endpoint_auth_methods_supported: methods }) =>
    holdsIf(
      PROOFS.some((method) => lists(methods, method)),
      `token_endpoint_auth_methods_supported is ${JSON.stringify(methods)}`,
      "list client_secret_basic: otherwise anyone with an assertion could use it as the client",
    ),
);

export const assertionJudged: Rule = {
  id: "assertion-judged",
  says: "the token endpoint validates an assertion: an invalid one is 400 invalid_grant, or the client must authenticate",
  async check(visit) {
    // If clients cannot register themselves, an unknown client is used: its rejection is enough.
    const clientId = (await visit.clientId()) ?? "gateway-doctor";
    const answer = await visit.token({ grant_type: JWT_BEARER, assertion: NOT_GOOD, client_id: clientId });
    if (!answer) return unknown("there is no token endpoint");
    const error = answer.json()?.["error"];
    const isRefused = (answer.status === 400 && error === "invalid_grant") || error === "invalid_client";
    return holdsIf(
      isRefused && answer.status < 500,
      describe(answer),
      "accept the grant that the metadata names (RFC 7523 §3.1)",
    );
  },
};

export const introspectionGuarded = serverRule(
  "introspection-guarded",
  "introspection is offered, only to authenticated callers",
  async ({ introspection_endpoint: endpoint, introspection_endpoint_auth_methods_supported: methods }, visit) => {
    if (typeof endpoint !== "string")
      return broken("no introspection_endpoint", "name it: servers and logs query it for the user of a token");
    if (lists(methods, "none")) return broken("none is listed for it", "require authentication (RFC 7662 §2.1)");
    const answer = await visit.ask({
      method: "POST",
      url: endpoint,
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: "token=gateway-doctor-no-token",
    });
    return holdsIf(
      answer.status === 400 || answer.status === 401,
      `${describe(answer)} to an unauthenticated caller`,
      "respond with 401: otherwise attackers can test tokens (RFC 7662 §2.1)",
    );
  },
);
