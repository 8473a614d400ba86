/**
 * An MCP server with its authorization server, as far as one gets without signing in, that does everything right. Tests
 * bend single answers to see a defect noticed.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface FixtureRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  readonly body: string;
}

export interface FixtureAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, or an object that is sent as JSON. */
  readonly body?: string | Readonly<Record<string, unknown>>;
}

/** Replaces an answer, or leaves it. */
export type Bend = (request: FixtureRequest, answer: FixtureAnswer, origin: string) => FixtureAnswer;

export interface DoctorFixture {
  /** Address of the MCP server. */
  readonly url: string;
  readonly requests: readonly FixtureRequest[];
  close(): Promise<void>;
}

const CORS = { "access-control-allow-origin": "*" };
const JSON_TYPE = { "content-type": "application/json" };

export async function startDoctorFixture(bend: Bend = (_, answer) => answer): Promise<DoctorFixture> {
  const requests: FixtureRequest[] = [];
  let origin = "";
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { pathname, searchParams } = new URL(incoming.url ?? "/", origin);
      const request: FixtureRequest = {
        method: incoming.method ?? "",
        path: pathname,
        query: searchParams,
        header: (name) => incoming.headers[name]?.toString(),
        body: Buffer.concat(chunks).toString("utf8"),
      };
      requests.push(request);
      const { status, headers = {}, body } = bend(request, answerWell(request, origin), origin);
      const isText = typeof body === "string" || body === undefined;
      outgoing.writeHead(status, { ...(isText ? {} : JSON_TYPE), ...headers });
      outgoing.end(isText ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function answerWell(request: FixtureRequest, origin: string): FixtureAnswer {
  if (request.method === "OPTIONS") {
    return {
      status: 204,
      headers: { ...CORS, "access-control-allow-headers": request.header("access-control-request-headers") ?? "" },
    };
  }
  switch (request.path) {
    case "/mcp":
      return challenge(request, origin);
    case "/.well-known/oauth-protected-resource/mcp":
      return {
        status: 200,
        headers: CORS,
        body: { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["mcp"] },
      };
    case "/.well-known/oauth-authorization-server":
    case "/.well-known/openid-configuration":
    case "/.well-known/oauth-authorization-server/mcp":
    case "/.well-known/openid-configuration/mcp":
    case "/mcp/.well-known/openid-configuration":
      return { status: 200, headers: CORS, body: serverMetadata(origin) };
    case "/register":
      return register(request);
    case "/introspect":
      return { status: 401, body: { error: "invalid_client" } };
    case "/authorize":
      return authorize(request, origin);
    case "/token":
      return { status: 400, headers: { ...CORS, "cache-control": "no-store" }, body: { error: "invalid_grant" } };
    default:
      return { status: 404, body: { error: "not_found" } };
  }
}

function challenge(request: FixtureRequest, origin: string): FixtureAnswer {
  const from = request.header("origin");
  if (from !== undefined && !from.startsWith("http://localhost")) return { status: 403 };
  const error = request.header("authorization") === undefined ? "" : 'error="invalid_token", ';
  return {
    status: 401,
    headers: {
      ...CORS,
      "access-control-expose-headers": "www-authenticate",
      "www-authenticate": `Bearer ${error}resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
    },
  };
}

function serverMetadata(origin: string): Readonly<Record<string, unknown>> {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ["code"],
    introspection_endpoint: `${origin}/introspect`,
    introspection_endpoint_auth_methods_supported: ["client_secret_basic"],
    grant_types_supported: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

function register(request: FixtureRequest): FixtureAnswer {
  const metadata = JSON.parse(request.body) as Readonly<Record<string, unknown>>;
  return { status: 201, headers: CORS, body: { client_id: "client", ...metadata } };
}

function authorize({ query }: FixtureRequest, origin: string): FixtureAnswer {
  const redirectUri = query.get("redirect_uri") ?? "";
  if (redirectUri.endsWith("/other")) return { status: 400, body: { error: "invalid_request" } };
  const wrong =
    query.get("response_type") === "code"
      ? query.has("code_challenge")
        ? undefined
        : "invalid_request"
      : "unsupported_response_type";
  if (wrong === undefined) return { status: 302, headers: { location: `${origin}/login` } };
  const answer = new URLSearchParams({ error: wrong, state: query.get("state") ?? "", iss: origin });
  return { status: 302, headers: { location: `${redirectUri}?${answer.toString()}` } };
}
