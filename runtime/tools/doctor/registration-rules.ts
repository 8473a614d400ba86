/** Dynamic registration with what real clients send. */
import type { JsonObject } from "./ask.ts";
import { broken, describe, HOLDS, holdsIf, lists, unknown, type Rule, type Verdict } from "./rule.ts";
import { LOOPBACK_REDIRECT, PUBLIC_CLIENT, type Visit } from "./visit.ts";

export const CURSOR_REDIRECTS = [
  "cursor://anysphere.cursor-mcp/oauth/callback",
  "https://www.cursor.com/agents/mcp/oauth/callback",
  "http://localhost:8787/callback",
];
export const VSCODE_REDIRECTS = [
  "https://insiders.vscode.dev/redirect",
  "https://vscode.dev/redirect",
  "http://127.0.0.1/",
  "http://127.0.0.1:33418/",
];

export const CLAUDE_REDIRECT = "https://claude.ai/api/mcp/auth_callback";

/** Registers and validates what was registered. */
async function registered(
  visit: Visit,
  metadata: JsonObject,
  validate: (answer: JsonObject) => Verdict = () => HOLDS,
): Promise<Verdict> {
  const answer = await visit.register({ ...PUBLIC_CLIENT, ...metadata });
  if (!answer) return unknown("there is no registration endpoint");
  if (answer.status === 429) return unknown("too many registrations from here for now");
  const json = answer.json();
  if (answer.status !== 201 || typeof json?.["client_id"] !== "string")
    return broken(describe(answer), "answer 201 with client_id and what was registered (RFC 7591 §3.2.1)");
  return validate(json);
}

/** All of these redirect URIs came back, byte for byte. */
function keeps(wanted: readonly string[], fix: string): (answer: JsonObject) => Verdict {
  return (answer) => {
    const missing = wanted.find((uri) => !lists(answer["redirect_uris"], uri));
    return missing === undefined ? HOLDS : broken(`${missing} was not registered`, fix);
  };
}

export const registersLoopback: Rule = {
  id: "registers-loopback",
  says: "a public client with a loopback redirect can register",
  check: (visit) =>
    registered(visit, {}, keeps([LOOPBACK_REDIRECT], "accept http redirects on 127.0.0.1 (RFC 8252 §7.3)")),
};

export const registersLocalhost: Rule = {
  id: "registers-localhost",
  says: "a public client with a redirect on localhost can register",
  check: (visit) => {
    const uri = "http://localhost:33418/oauth/callback";
    return registered(
      visit,
      { redirect_uris: [uri] },
      keeps([uri], "accept http redirects on localhost, which real clients use"),
    );
  },
};

export const registersPublic: Rule = {
  id: "registers-public",
  says: "who registers with token_endpoint_auth_method none gets none, and no secret",
  async check(visit) {
    const answer = (await visit.register(PUBLIC_CLIENT))?.json();
    if (answer?.["client_id"] === undefined) return unknown("no client could be registered");
    const method = answer["token_endpoint_auth_method"];
    if (method !== "none")
      return broken(
        `token_endpoint_auth_method is ${JSON.stringify(method)}`,
        "register the method that was asked for",
      );
    return holdsIf(answer["client_secret"] === undefined, "a client_secret", "give public clients no secret");
  },
};

export const registersNative: Rule = {
  id: "registers-native",
  says: "unknown members and scopes do not keep a native client from registering",
  check: (visit) =>
    registered(visit, {
      application_type: "native",
      scope: "openid profile email offline_access",
      software_id: "gateway-doctor",
      "gateway-doctor-unknown": true,
    }),
};

export const registersCursor: Rule = {
  id: "registers-custom-scheme-among-others",
  says: "a custom scheme among the redirects does not spoil the others",
  check: (visit) =>
    registered(
      visit,
      { redirect_uris: CURSOR_REDIRECTS },
      keeps(CURSOR_REDIRECTS.slice(1), "register the redirects that are permitted and return them (RFC 7591 §3.2.1)"),
    ),
};

export const keepsCursorScheme: Rule = {
  id: "keeps-custom-scheme",
  says: "the application's own custom scheme is registered",
  check: (visit) =>
    registered(
      visit,
      { redirect_uris: CURSOR_REDIRECTS },
      keeps(
        CURSOR_REDIRECTS.slice(0, 1),
        `list ${CURSOR_REDIRECTS[0]} in mcp_allowed_private_redirect_uris if people sign in from its desktop application`,
      ),
    ),
};

export const registersVsCode: Rule = {
  id: "registers-several-redirects",
  says: "https and loopback redirects register together, trailing slash kept",
  check: (visit) =>
    registered(visit, { redirect_uris: VSCODE_REDIRECTS }, keeps(VSCODE_REDIRECTS, "register redirects byte for byte")),
};

export const registersWeb: Rule = {
  id: "registers-web-redirect",
  says: "a hosted client with an https redirect can register",
  check: (visit) => {
    const metadata = { redirect_uris: [CLAUDE_REDIRECT], application_type: "web" };
    return registered(visit, metadata, keeps([CLAUDE_REDIRECT], "accept https redirects"));
  },
};
