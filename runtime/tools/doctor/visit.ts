/** Data collected on one visit, each fetched on first use: challenge, metadata, registration, authorization. */
import { hashSecret } from "../../shared/keys.ts";
import type { DoctorAnswer, Ask, JsonObject } from "./ask.ts";

/** The loopback redirect that the doctor registers; requests use another port, like clients. */
export const LOOPBACK_REDIRECT = "http://127.0.0.1:33418/callback";
const CHALLENGE = hashSecret("a code verifier of the gateway doctor, which is long enough");
export const STATE = "gateway-doctor";

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "gateway-doctor", version: "1" },
  },
});

export interface DoctorCheck {
  /** The MCP server's address as a user types it. */
  readonly url: URL;
  readonly ask: Ask;
  /** POST initialize without a token, the first request of clients of the session era. */
  initialize(headers?: Readonly<Record<string, string>>, padding?: number): Promise<DoctorAnswer>;
  /** Address in the challenge's `resource_metadata`. */
  namedMetadata(): Promise<string | undefined>;
  /** The protected resource metadata, at any address where clients look for it. */
  resource(): Promise<JsonObject | undefined>;
  /** Addresses of the two metadata documents; [] if not found. */
  metadataUrls(): Promise<readonly string[]>;
  /** The authorization server: the first one in the resource metadata, else the host itself (revision 2025-03-26). */
  issuer(): Promise<string>;
  /** The authorization server metadata, at any address where clients look for it. */
  server(): Promise<JsonObject | undefined>;
  /** Registers a client. Undefined without a registration endpoint. */
  register(metadata: JsonObject): Promise<DoctorAnswer | undefined>;
  /** Id of a public client with `LOOPBACK_REDIRECT`. */
  clientId(): Promise<string | undefined>;
  /** Sends an authorization request; a parameter of undefined is omitted. */
  authorize(parameters?: Readonly<Record<string, string | undefined>>): Promise<DoctorAnswer | undefined>;
  /** POST to the token endpoint. */
  token(form: Readonly<Record<string, string>>): Promise<DoctorAnswer | undefined>;
}

export const MCP_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export function createVisit(address: string, ask: Ask): DoctorCheck {
  const url = new URL(address);
  const path = url.pathname === "/" ? "" : url.pathname.replace(/\/$/, "");

  const wellKnown = `${url.origin}/.well-known/oauth-protected-resource`;
  const findResource = async (): Promise<Found | undefined> =>
    firstJson(ask, [(await visit.namedMetadata()) ?? `${wellKnown}${path}`, wellKnown]);
  const findServer = async (): Promise<Found | undefined> => firstJson(ask, serverMetadataUrls(await visit.issuer()));

  const post = async (member: string, type: string, body: string): Promise<DoctorAnswer | undefined> => {
    const endpoint = (await visit.server())?.[member];
    if (typeof endpoint !== "string") return undefined;
    return ask({ method: "POST", url: endpoint, headers: { "content-type": type, accept: "application/json" }, body });
  };

  const visit: DoctorCheck = {
    url,
    ask,
    initialize: (headers = {}, padding = 0) =>
      ask({
        method: "POST",
        url: url.href,
        headers: { ...MCP_HEADERS, ...headers },
        // White space between members changes only the size.
        body: INITIALIZE.replace("{", `{${" ".repeat(padding)}`),
      }),
    async namedMetadata() {
      const value = (await visit.initialize()).header("www-authenticate") ?? "";
      const named = /^Bearer\b.*\bresource_metadata="?([^",\s]+)/i.exec(value)?.[1];
      return named !== undefined && URL.canParse(named) ? named : undefined;
    },
    resource: async () => (await findResource())?.json,
    async metadataUrls() {
      const found = [await findResource(), await findServer()];
      return found.flatMap((document) => document?.url ?? []);
    },
    async issuer() {
      const servers = (await visit.resource())?.["authorization_servers"];
      const first: unknown = Array.isArray(servers) ? servers[0] : undefined;
      return typeof first === "string" && URL.canParse(first) ? first : url.origin;
    },
    server: async () => (await findServer())?.json,
    async register(metadata) {
      const body = JSON.stringify({ client_name: "gateway doctor", ...metadata });
      return post("registration_endpoint", "application/json", body);
    },
    async clientId() {
      const id = (await visit.register(PUBLIC_CLIENT))?.json()?.["client_id"];
      return typeof id === "string" ? id : undefined;
    },
    async authorize(parameters = {}) {
      const endpoint = (await visit.server())?.["authorization_endpoint"];
      const clientId = parameters["client_id"] ?? (await visit.clientId());
      if (typeof endpoint !== "string" || clientId === undefined) return undefined;
      const query: Readonly<Record<string, string | undefined>> = {
        response_type: "code",
        client_id: clientId,
        redirect_uri: LOOPBACK_REDIRECT,
        code_challenge: CHALLENGE,
        code_challenge_method: "S256",
        state: STATE,
        scope: undefined,
        resource: url.href,
        ...parameters,
      };
      const target = new URL(endpoint);
      for (const [name, value] of Object.entries(query)) if (value !== undefined) target.searchParams.set(name, value);
      // As a program, not as a browser: servers then state the reason of a rejection.
      return ask({ url: target.href, headers: { accept: "application/json" } });
    },
    async token(form) {
      return post("token_endpoint", "application/x-www-form-urlencoded", new URLSearchParams(form).toString());
    },
  };
  return visit;
}

/** Usual registration of clients: public, loopback, code and refresh. */
export const PUBLIC_CLIENT: JsonObject = {
  redirect_uris: [LOOPBACK_REDIRECT],
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
};

/** In the order of clients (RFC 8414 §3.1, OpenID Connect Discovery §4). */
function serverMetadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

interface Found {
  readonly url: string;
  readonly json: JsonObject;
}

async function firstJson(ask: Ask, urls: readonly string[]): Promise<Found | undefined> {
  for (const url of urls) {
    const answer = await ask({ url, headers: { accept: "application/json", "mcp-protocol-version": "2025-11-25" } });
    const json = answer.status === 200 ? answer.json() : undefined;
    if (json) return { url, json };
  }
  return undefined;
}
