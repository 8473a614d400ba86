/** Dynamic registration with the data of real clients. */
import type { JsonObject } from "./ask.ts";
import { broken, describe, HOLDS, holdsIf, lists, unknown, type Rule } from "./rule.ts";
import { LOOPBACK_REDIRECT, PUBLIC_CLIENT } from "./visit.ts";

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

/** Registration with this metadata succeeds, and these redirect URIs come back byte for byte. */
function registers(id: string, says: string, metadata: JsonObject, kept: readonly string[] = [], fix = ""): Rule {
  return {
    id,
    says,
    async check(visit) {
      const answer = await visit.register({ ...PUBLIC_CLIENT, ...metadata });
      if (!answer) return unknown("there is no registration endpoint");
      if (answer.status === 429) return unknown("too many registrations from here for now");
      const json = answer.json();
      if (answer.status !== 201 || typeof json?.["client_id"] !== "string")
        return broken(describe(answer), "answer 201 with client_id and what was registered (RFC 7591 §3.2.1)");
      const missing = kept.find((uri) => !lists(json["redirect_uris"], uri));
      return missing === undefined ? HOLDS : broken(`${missing} was not registered`, fix);
    },
  };
}

export const registersLoopback = registers(
  "registers-loopback",
  "a public client with a loopback redirect can register",
  {},
  [LOOPBACK_REDIRECT],
  "accept http redirects on 127.0.0.1 (RFC 8252 §7.3)",
);

const LOCALHOST_REDIRECTS = ["http://localhost:33418/oauth/callback"];

export const registersLocalhost = registers(
  "registers-localhost",
  "a public client with a redirect on localhost can register",
  { redirect_uris: LOCALHOST_REDIRECTS },
  LOCALHOST_REDIRECTS,
  "accept http redirects on localhost, which real clients use",
);

export const registersPublic: Rule = {
  id: "registers-public",
  says: "a registration with token_endpoint_auth_method none gets none, and no secret",
  async check(visit) {
    const answer = (await visit.register(PUBLIC_CLIENT))?.json();
    if (answer?.["client_id"] === undefined) return unknown("no client could be registered");
    const method = answer["token_endpoint_auth_method"];
    if (method !== "none")
      return broken(`token_endpoint_auth_method is ${JSON.stringify(method)}`, "register the requested method");
    return holdsIf(answer["client_secret"] === undefined, "a client_secret", "give public clients no secret");
  },
};

export const registersNative = registers(
  "registers-native",
  "unknown members and scopes do not keep a native client from registering",
  {
    application_type: "native",
    scope: "openid profile email offline_access",
    software_id: "gateway-doctor",
    "gateway-doctor-unknown": true,
  },
);

export const registersCursor = registers(
  "registers-custom-scheme-among-others",
  "a custom scheme among the redirects does not invalidate the others",
  { redirect_uris: CURSOR_REDIRECTS },
  CURSOR_REDIRECTS.slice(1),
  "register the redirects that are permitted and return them (RFC 7591 §3.2.1)",
);

export const keepsCursorScheme = registers(
  "keeps-custom-scheme",
  "the application's own custom scheme is registered",
  { redirect_uris: CURSOR_REDIRECTS },
  CURSOR_REDIRECTS.slice(0, 1),
  `list ${CURSOR_REDIRECTS[0]} in mcp_allowed_private_redirect_uris if users sign in from its desktop application`,
);

export const registersVsCode = registers(
  "registers-several-redirects",
  "https and loopback redirects register together, trailing slash kept",
  { redirect_uris: VSCODE_REDIRECTS },
  VSCODE_REDIRECTS,
  "register redirects byte for byte",
);

export const registersWeb = registers(
  "registers-web-redirect",
  "a hosted client with an https redirect can register",
  { redirect_uris: [CLAUDE_REDIRECT], application_type: "web" },
  [CLAUDE_REDIRECT],
  "accept https redirects",
);
