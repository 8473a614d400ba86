/**
 * Generated requests to an authorization server: a valid one with one or two changes. The same seed gives the same requests.
 * `CLIENT` and `CODE` are placeholders for the values that each server issued.
 */
import { constantFrom, sample, tuple } from "fast-check";

export const CLIENT = "{client}";
export const SECRET = "{secret}";
export const CODE = "{code}";
export const REDIRECT = "http://127.0.0.1:33418/callback";
export const WEB_REDIRECT = "https://app.example.com/callback?fixed=1";
export const RESOURCE = "https://mcp.example.com/mcp";
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
export const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** Parameters in order, repeated ones included. */
export type Parameters = readonly (readonly [name: string, value: string])[];

/** The changes: "name=value", "-name", "name+value". */
export interface Bent<T> {
  readonly request: T;
  readonly bends: readonly string[];
}

/** Other values of a parameter; `undefined` leaves it out, a list repeats it. */
type Alternatives = Readonly<Record<string, readonly (string | undefined | readonly string[])[]>>;

const authorizeBase: Parameters = [
  ["response_type", "code"],
  ["client_id", CLIENT],
  ["redirect_uri", REDIRECT],
  ["code_challenge", CHALLENGE],
  ["code_challenge_method", "S256"],
  ["state", "st"],
  ["scope", "mcp"],
  ["resource", RESOURCE],
];

const authorizeAlternatives: Alternatives = {
  response_type: [
    undefined,
    "",
    "token",
    "id_token",
    "code token",
    "none",
    "CODE",
    " code",
    ["code", "code"],
    ["code", "token"],
  ],
  client_id: [
    undefined,
    "",
    "unknown",
    `${CLIENT} `,
    `${CLIENT}%00`,
    [CLIENT, CLIENT],
    "https://clients.example/c.json",
    "../x",
  ],
  redirect_uri: [
    undefined,
    "",
    WEB_REDIRECT,
    "http://127.0.0.1:1/callback",
    "http://127.0.0.1:65535/callback",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:0/callback",
    "http://127.0.0.1:99999/callback",
    "http://localhost:33418/callback",
    "http://[::1]:33418/callback",
    "http://127.0.0.1:33418/callback/",
    "http://127.0.0.1:33418/Callback",
    "http://127.0.0.1:33418/callback?x=1",
    "http://127.0.0.1:33418/callback#f",
    "http://127.0.0.1:33418/%63allback",
    "http://127.0.0.1:33418/a/../callback",
    "http://u@127.0.0.1:33418/callback",
    "http://u:p@127.0.0.1:33418/callback",
    "http://127.0.0.1:33418@evil.example/callback",
    "http://127.0.0.1.evil.example:33418/callback",
    "http://127.1:33418/callback",
    "http://2130706433:33418/callback",
    "HTTP://127.0.0.1:33418/callback",
    "http:\\\\127.0.0.1:33418/callback",
    "http:/127.0.0.1:33418/callback",
    "//127.0.0.1:33418/callback",
    "/callback",
    "https://127.0.0.1:33418/callback",
    "http://127.0.0.1:33418/callback\u0000",
    "http://127.0.0.1:33418/callback%0d%0aset-cookie:x=1",
    "http://127.0.0.1:33418/callback\r\nset-cookie: x=1",
    "javascript:alert(1)",
    "https://evil.example/",
    "https://app.example.com/callback",
    "https://app.example.com/callback?fixed=1&x=2",
    "https://app.example.com/callback?fixed=2",
    "https://app.example.com:443/callback?fixed=1",
    "https://APP.example.com/callback?fixed=1",
    [REDIRECT, REDIRECT],
    [REDIRECT, "https://evil.example/"],
  ],
  code_challenge: [
    undefined,
    "",
    "short",
    CHALLENGE.slice(1),
    `${CHALLENGE}=`,
    `${CHALLENGE}x`,
    CHALLENGE.replace("-", "+"),
    "x".repeat(128),
    [CHALLENGE, CHALLENGE],
  ],
  code_challenge_method: [undefined, "", "plain", "s256", "S512", ["S256", "plain"]],
  state: [undefined, "", "x".repeat(3000), "a b&c=d", "ünïcödé", "\u0001", "line\nbreak", ["a", "b"]],
  scope: [
    undefined,
    "",
    "openid",
    "mcp openid",
    "unknown",
    "mcp unknown",
    "mcp  mcp",
    "offline_access",
    '"',
    ["mcp", "mcp"],
  ],
  resource: [
    undefined,
    "",
    "https://other.example/mcp",
    "https://mcp.example.com/other",
    `${RESOURCE}#f`,
    `${RESOURCE}?x=1`,
    `${RESOURCE}/`,
    "https://MCP.example.com/mcp",
    "https://mcp.example.com:443/mcp",
    "https://mcp.example.com",
    "https://mcp.example.com/",
    "https://u@mcp.example.com/mcp",
    "mcp",
    "//mcp.example.com/mcp",
    [RESOURCE, RESOURCE],
    [RESOURCE, "https://other.example/mcp"],
  ],
  prompt: ["none", "login", "consent", "select_account", "none login", "unknown", "", ["none", "login"]],
  response_mode: ["query", "fragment", "form_post", "web_message", "jwt", "", ["query", "fragment"]],
  request: ["eyJhbGciOiJub25lIn0.e30.", "", ["a", "b"]],
  request_uri: ["https://evil.example/r", "urn:ietf:params:oauth:request_uri:x", "", ["a", "b"]],
  nonce: ["n", ["a", "b"]],
  max_age: ["0", "-1", "x"],
  claims: ["{}", "{"],
  dpop_jkt: ["x", CHALLENGE],
  unknown_parameter: ["x", ["a", "b"]],
};

const codeBase: Parameters = [
  ["grant_type", "authorization_code"],
  ["code", CODE],
  ["redirect_uri", REDIRECT],
  ["code_verifier", VERIFIER],
  ["client_id", CLIENT],
];

const codeAlternatives: Alternatives = {
  grant_type: [
    undefined,
    "",
    "password",
    "implicit",
    "AUTHORIZATION_CODE",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:device_code",
    ["authorization_code", "authorization_code"],
  ],
  code: [undefined, "", "unknown", `${CODE}x`, ` ${CODE}`, [CODE, CODE]],
  redirect_uri: [
    undefined,
    "",
    "http://127.0.0.1:1/callback",
    "http://localhost:33418/callback",
    "https://evil.example/",
    `${REDIRECT}/`,
    [REDIRECT, REDIRECT],
  ],
  code_verifier: [
    undefined,
    "",
    "short",
    VERIFIER.slice(1),
    `${VERIFIER}x`,
    "x".repeat(128),
    "x".repeat(129),
    `${VERIFIER} `,
    CHALLENGE,
    [VERIFIER, VERIFIER],
  ],
  client_id: [undefined, "", "unknown", `${CLIENT}x`, [CLIENT, CLIENT]],
  client_secret: ["x", "", ["x", "x"]],
  resource: [RESOURCE, "", "https://other.example/mcp", `${RESOURCE}#f`, "mcp", [RESOURCE, RESOURCE]],
  scope: ["mcp", "openid", "unknown", ""],
  client_assertion: ["x"],
  client_assertion_type: ["x", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
  refresh_token: ["unknown", ""],
  unknown_parameter: ["x", ["a", "b"]],
};

const refreshBase: Parameters = [
  ["grant_type", "refresh_token"],
  ["refresh_token", "unknown"],
  ["client_id", CLIENT],
];

const refreshAlternatives: Alternatives = {
  refresh_token: [undefined, "", CODE, "x".repeat(5000), "\u0000", ["a", "b"]],
  client_id: [undefined, "", "unknown"],
  client_secret: ["x"],
  scope: ["mcp", "unknown"],
  resource: [RESOURCE, "https://other.example/mcp"],
};

export interface TokenRequest {
  readonly form: Parameters;
  /** Value of the Authorization header. */
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
}

export function authorizeRequests(count: number, seed: number): readonly Bent<Parameters>[] {
  return bend(authorizeBase, authorizeAlternatives, count, seed);
}

const tokenHeaders: Alternatives = {
  authorization: ["", "Bearer x", "Basic", "Basic !", "Basic {basic}", "Basic dW5rbm93bjp4"],
  "content-type": [
    "application/json",
    "text/plain",
    "multipart/form-data",
    "application/x-www-form-urlencoded; charset=utf-8",
    "APPLICATION/X-WWW-FORM-URLENCODED",
  ],
};

/** Code exchanges first, then refreshes. */
export function tokenRequests(count: number, seed: number): readonly Bent<TokenRequest>[] {
  const codes = bend(codeBase, { ...codeAlternatives, ...tokenHeaders }, Math.ceil(count * 0.7), seed);
  const refreshes = bend(refreshBase, { ...refreshAlternatives, ...tokenHeaders }, Math.floor(count * 0.3), seed);
  return [...codes, ...refreshes].map(({ request, bends }) => {
    const isHeader = (name: string): boolean => name in tokenHeaders;
    const headerOf = (wanted: string): string | undefined => request.find(([name]) => name === wanted)?.[1];
    return {
      bends,
      request: {
        form: request.filter(([name]) => !isHeader(name)),
        authorization: headerOf("authorization"),
        contentType: headerOf("content-type"),
      },
    };
  });
}

const registrationBase: Readonly<Record<string, unknown>> = {
  client_name: "Client",
  redirect_uris: [REDIRECT],
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  application_type: "native",
};

const registrationAlternatives: Readonly<Record<string, readonly unknown[]>> = {
  redirect_uris: [
    undefined,
    null,
    [],
    "http://127.0.0.1/cb",
    [1],
    [""],
    ["x"],
    ["https://app.example.com/cb"],
    ["https://app.example.com/cb", REDIRECT],
    ["http://app.example.com/cb"],
    ["http://localhost:1/cb"],
    ["http://localhost/cb"],
    ["http://[::1]:1/cb"],
    ["http://127.0.0.1/cb#f"],
    ["https://app.example.com/cb#"],
    ["https://u:p@app.example.com/cb"],
    ["javascript:alert(1)"],
    ["data:text/html,x"],
    ["file:///etc/passwd"],
    ["com.example.app:/cb"],
    ["cursor://anysphere.cursor-mcp/oauth/callback", REDIRECT],
    ["https://"],
    ["https:app.example.com/cb"],
    ["//app.example.com/cb"],
    ["https://app.example.com/cb\n"],
    ["https://app.example.com/\u0000"],
    [REDIRECT, REDIRECT],
    ["https://app.example.com/cb", "javascript:alert(1)"],
  ],
  token_endpoint_auth_method: [
    undefined,
    null,
    "",
    "client_secret_basic",
    "client_secret_post",
    "tls_client_auth",
    "unknown",
    1,
  ],
  grant_types: [
    undefined,
    null,
    [],
    ["authorization_code"],
    ["refresh_token"],
    ["implicit"],
    ["client_credentials"],
    ["authorization_code", "unknown"],
    "authorization_code",
    [1],
  ],
  response_types: [undefined, null, [], ["token"], ["code", "token"], ["code token"], "code", [1]],
  application_type: [undefined, null, "web", "other", 1],
  client_name: [undefined, null, "", 1, "<script>", "x".repeat(300), "\u202e"],
  client_uri: ["https://app.example.com/", "javascript:alert(1)", "x", 1],
  logo_uri: ["https://app.example.com/l.png", "javascript:alert(1)"],
  scope: ["mcp", "openid", "unknown", 1, ""],
  contacts: [["a@example.com"], "a@example.com", [1]],
  client_id: ["mine"],
  client_secret: ["mine"],
  jwks: [{ keys: [] }, "x"],
  jwks_uri: ["https://app.example.com/jwks", "x"],
  software_statement: ["x"],
  subject_type: ["pairwise", "x"],
  id_token_signed_response_alg: ["none", "RS256"],
  unknown_member: ["x", { deep: true }],
};

const BROKEN_BODIES = ["", "{", "[]", "null", "1", '"x"', "{}", '{"redirect_uris":["https://app.example.com/cb"]}'];

/** Bodies of registration requests, as text. */
export function registrationRequests(count: number, seed: number): readonly Bent<string>[] {
  const bent = changeSets(registrationAlternatives, count - BROKEN_BODIES.length, seed).map((changes) => {
    const metadata: Record<string, unknown> = { ...registrationBase };
    for (const { name, value } of changes) {
      if (value === undefined) delete metadata[name];
      else metadata[name] = value;
    }
    return {
      request: JSON.stringify(metadata),
      bends: changes.map(({ name, value }) => (value === undefined ? `-${name}` : `${name}=${JSON.stringify(value)}`)),
    };
  });
  return [...BROKEN_BODIES.map((text) => ({ request: text, bends: [`body=${text}`] })), ...bent];
}

interface Change {
  readonly name: string;
  readonly value: unknown;
}

/** Every single change once, then random pairs of changes up to the count. The unchanged request comes first. */
function changeSets(
  alternatives: Readonly<Record<string, readonly unknown[]>>,
  count: number,
  seed: number,
): readonly (readonly Change[])[] {
  const changes = Object.entries(alternatives).flatMap(([name, values]) => values.map((value) => ({ name, value })));
  const change = constantFrom(...changes);
  const pairs = sample(
    tuple(change, change).filter(([first, second]) => first.name !== second.name),
    { numRuns: Math.max(1, count - changes.length - 1), seed },
  );
  return [[], ...changes.map((each) => [each]), ...pairs];
}

function bend(base: Parameters, alternatives: Alternatives, count: number, seed: number): readonly Bent<Parameters>[] {
  return changeSets(alternatives, count, seed).map((changes) => {
    let request = base;
    const bends: string[] = [];
    for (const { name, value } of changes) {
      const values = value === undefined ? [] : ([value].flat() as string[]);
      request = [...request.filter(([known]) => known !== name), ...values.map((each) => [name, each] as const)];
      bends.push(value === undefined ? `-${name}` : `${name}=${values.join(" + ")}`);
    }
    return { request, bends };
  });
}
