/** Rules about the authorization and token endpoints that need no sign-in. */
import type { DoctorAnswer } from "./ask.ts";
import { broken, describe, HOLDS, holdsIf, short, unknown, type Rule, type RuleVerdict } from "./rule.ts";
import { LOOPBACK_REDIRECT, STATE, type DoctorCheck } from "./visit.ts";

const NO_CLIENT = "no client could be registered";

/** Parameters of a redirect to the client; undefined when it leads somewhere else. */
function answerToClient(answer: DoctorAnswer, redirectUri: string): URLSearchParams | undefined {
  const location = answer.header("location");
  return location?.startsWith(redirectUri) === true ? new URL(location).searchParams : undefined;
}

/** Whether the server continues to the sign-in: a page, or a redirect that is not an error at the client. */
function continuesSignIn(answer: DoctorAnswer | undefined, redirectUri: string, fix: string): RuleVerdict {
  if (!answer) return unknown(NO_CLIENT);
  const parameters = answerToClient(answer, redirectUri);
  const error = parameters?.get("error");
  if (error !== undefined && error !== null)
    return broken(`error ${short(error)}: ${short(parameters?.get("error_description") ?? "")}`, fix);
  return holdsIf(answer.status === 200 || (answer.status > 300 && answer.status < 400), describe(answer), fix);
}

/** An authorization request with these differences starts a sign-in. */
function begins(id: string, says: string, parameters: Readonly<Record<string, string | undefined>>, fix: string): Rule {
  const redirectUri = parameters["redirect_uri"] ?? LOOPBACK_REDIRECT;
  return { id, says, check: async (visit) => continuesSignIn(await visit.authorize(parameters), redirectUri, fix) };
}

export const authorizeBegins = begins(
  "authorize-begins",
  "a plain authorization request starts a sign-in",
  {},
  "start a sign-in, or return an error",
);

export const anyLoopbackPort = begins(
  "any-loopback-port",
  "a loopback redirect may come with another port than registered",
  { redirect_uri: LOOPBACK_REDIRECT.replace("33418", "51123") },
  "compare loopback redirects without the port (RFC 8252 §7.3)",
);

export const unknownScopes = begins(
  "unknown-scopes",
  "unknown scopes are not an error",
  { scope: "openid profile email offline_access", prompt: "consent" },
  "grant what is known and return scope (RFC 6749 §3.3)",
);

export const noResource = begins(
  "no-resource",
  "a request without resource and scope starts a sign-in",
  { resource: undefined },
  "fall back to the server's default",
);

export const slashedResource: Rule = {
  id: "slashed-resource",
  says: "resource may come with a trailing slash",
  check: async (visit) =>
    continuesSignIn(
      await visit.authorize({
        resource: visit.url.href.endsWith("/") ? visit.url.href.slice(0, -1) : `${visit.url.href}/`,
      }),
      LOOPBACK_REDIRECT,
      "compare resource without one trailing slash",
    ),
};

export const exactRedirect: Rule = {
  id: "exact-redirect",
  says: "a redirect with another path is rejected immediately",
  async check(visit) {
    const near = `${LOOPBACK_REDIRECT}/other`;
    const answer = await visit.authorize({ redirect_uri: near });
    if (!answer) return unknown(NO_CLIENT);
    if (answer.status === 200 && answer.text.includes("<html"))
      return unknown("the server responds with a page, which may be a rejection");
    return holdsIf(
      answer.status >= 400 && answer.status < 500,
      describe(answer),
      "compare redirects exactly and send nothing to others (OAuth 2.1 §4.1.1): attackers could get codes",
    );
  },
};

export const pkceRequired: Rule = {
  id: "pkce-required",
  says: "a request without PKCE is rejected",
  async check(visit) {
    const answer = await visit.authorize({ code_challenge: undefined, code_challenge_method: undefined });
    if (!answer) return unknown(NO_CLIENT);
    const error = answerToClient(answer, LOOPBACK_REDIRECT)?.get("error");
    return holdsIf(
      error === "invalid_request" || (answer.status >= 400 && answer.status < 500),
      describe(answer),
      "require a code_challenge (OAuth 2.1 §4.1.1)",
    );
  },
};

export const answersCarryIss: Rule = {
  id: "answers-carry-iss",
  says: "errors at the client carry its state, and iss where the metadata promises it",
  async check(visit) {
    const answer = await visit.authorize({ response_type: "token" });
    if (!answer) return unknown(NO_CLIENT);
    const parameters = answerToClient(answer, LOOPBACK_REDIRECT);
    if (!parameters) return unknown("errors are not sent to the client");
    if (parameters.get("state") !== STATE)
      return broken(`state is ${JSON.stringify(parameters.get("state"))}`, "return state unchanged");
    const server = await visit.server();
    if (server?.["authorization_response_iss_parameter_supported"] !== true)
      return unknown("the metadata does not promise iss");
    return holdsIf(
      parameters.get("iss") === server["issuer"],
      `iss is ${JSON.stringify(parameters.get("iss"))}`,
      "send iss, equal to issuer, with errors too (RFC 9207 §2): clients reject responses without it",
    );
  },
};

export const tokenTakesPublicClients: Rule = {
  id: "token-takes-public-clients",
  says: "the token endpoint validates a public client's code: 400 invalid_grant for a wrong one",
  check: (visit) =>
    tokenRefuses(visit, {
      grant_type: "authorization_code",
      code: "gateway-doctor-no-code",
      redirect_uri: LOOPBACK_REDIRECT,
      code_verifier: "gateway-doctor-no-verifier-gateway-doctor-no-verifier",
    }),
};

export const refreshRefusedCleanly: Rule = {
  id: "refresh-refused-cleanly",
  says: "a wrong refresh token is answered 400 invalid_grant, so that clients sign in again",
  check: (visit) => tokenRefuses(visit, { grant_type: "refresh_token", refresh_token: "gateway-doctor-no-token" }),
};

async function tokenRefuses(visit: DoctorCheck, form: Readonly<Record<string, string>>): Promise<RuleVerdict> {
  const clientId = await visit.clientId();
  if (clientId === undefined) return unknown(NO_CLIENT);
  const answer = await visit.token({ ...form, client_id: clientId });
  if (!answer) return unknown("there is no token endpoint");
  if (answer.status !== 400 || answer.json()?.["error"] !== "invalid_grant")
    return broken(describe(answer), "answer 400 with JSON error invalid_grant (RFC 6749 §5.2)");
  return HOLDS;
}

export const tokenNotCached: Rule = {
  id: "token-not-cached",
  says: "responses of the token endpoint have Cache-Control: no-store",
  async check(visit) {
    const answer = await visit.token({ grant_type: "refresh_token", refresh_token: "gateway-doctor-no-token" });
    if (!answer) return unknown("there is no token endpoint");
    const value = answer.header("cache-control");
    return holdsIf(
      /no-store/i.test(value ?? ""),
      `Cache-Control is ${JSON.stringify(value)}`,
      "send no-store (RFC 6749 §5.1)",
    );
  },
};

/**
 * Whether the server accepts the client ID metadata document of a product. Only for servers that advertise documents: a
 * client that finds the flag does not fall back to registration.
 *
 * @param options `needsIss`: it uses this document only if the metadata promises `iss` (RFC 9207)
 */
export function acceptsDocument(
  product: string,
  clientId: string,
  redirectUri: string,
  { needsIss = false }: { readonly needsIss?: boolean } = {},
): Rule {
  const rule = begins(
    `accepts-document-of-${product}`,
    `the client ID document ${clientId} is accepted`,
    { client_id: clientId, redirect_uri: redirectUri },
    `add ${new URL(clientId).host} to mcp_allowed_client_id_domains, or "known-clients" for all common products`,
  );
  const withFetchFix: Rule = {
    ...rule,
    async check(visit) {
      const verdict = await rule.check(visit);
      const answer = await visit.authorize({ client_id: clientId, redirect_uri: redirectUri });
      if (verdict.outcome !== "broken" || answer?.status !== 503) return verdict;
      const { host } = new URL(clientId);
      return {
        ...verdict,
        fix: `the gateway cannot fetch ${clientId}: allow egress to ${host}, port 443, and run this again`,
      };
    },
  };
  if (!needsIss) return withFetchFix;
  const check = async (visit: DoctorCheck): Promise<RuleVerdict> =>
    (await visit.server())?.["authorization_response_iss_parameter_supported"] === true
      ? withFetchFix.check(visit)
      : unknown("without iss in responses it presents a document with an unguessable address");
  return { ...withFetchFix, check };
}
