/**
 * An upstream MCP service with its own OAuth, on loopback: strict about what a client must do, and full of switches for
 * what a server may do. The MCP side answers every message with the credentials it saw.
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface UpstreamSwitches {
  /** Metadata of the protected resource; undefined = 404. May be anything. */
  resourceMetadata: unknown;
  /** Metadata of the authorization server; undefined = 404. */
  serverMetadata: unknown;
  /** Header of a 401; undefined = none. */
  challenge: string | undefined;
  /** Seconds; undefined = the answer names no end. */
  accessTokenSeconds: number | undefined;
  /** Each refresh token works once. */
  rotates: boolean;
  /** `resource` is an error, as at servers that name resources by scopes. */
  refusesResource: boolean;
  /** Gives refresh tokens at all. */
  givesRefreshTokens: boolean;
  /** The authorization endpoint's answer: "approve", or an error code. */
  decision: string;
  /** Value of `iss` in the authorization response; undefined = none. */
  iss: string | undefined;
  /** Scopes without which the MCP endpoint answers 403. */
  neededScopes: readonly string[];
  /** Answers instead of the token endpoint. @returns true when it did */
  token: ((form: URLSearchParams, response: ServerResponse) => boolean) | undefined;
  /** The registration that is answered instead of a new one. */
  register: (() => Readonly<Record<string, unknown>>) | undefined;
  /** The MCP endpoint rejects all tokens. */
  refusesAll: boolean;
  /** The MCP endpoint wants no token. */
  open: boolean;
  /** The MCP endpoint's response to all callers with a valid token. */
  plain: { readonly status: number; readonly body: string } | undefined;
}

export interface IssuedToken {
  readonly clientId: string;
  readonly scope: string;
  readonly resource: string;
}

export interface UpstreamService {
  /** "http://127.0.0.1:PORT", the route's `to` and the issuer. */
  readonly origin: string;
  /** Address of the MCP endpoint. */
  readonly url: string;
  readonly switches: UpstreamSwitches;
  /** Requested paths, oldest first, with the method. */
  readonly seen: string[];
  /** Queries of the authorization endpoint. */
  readonly authorizations: URLSearchParams[];
  /** Forms of the token endpoint, with the Authorization header as "authorization". */
  readonly tokenRequests: URLSearchParams[];
  readonly revoked: string[];
  readonly registrations: Record<string, unknown>[];
  /** Headers of requests to the MCP endpoint. */
  readonly mcpRequests: IncomingMessage["headers"][];
  readonly clients: Map<string, { secret: string | undefined; redirectUris: readonly string[]; method?: string }>;
  readonly accessTokens: Map<string, IssuedToken>;
  readonly refreshTokens: Map<string, IssuedToken>;
  /** Every secret text that was ever issued: none may appear where users or programs can see it. */
  readonly secrets: Set<string>;
  /** Connections are cut from now on. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

interface Code extends IssuedToken {
  readonly challenge: string;
  readonly redirectUri: string;
}

export async function startUpstreamService(): Promise<UpstreamService> {
  const codes = new Map<string, Code>();
  let paused = false;
  const server = createServer((request, response) => {
    if (paused) return void request.socket.destroy();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, response, Buffer.concat(chunks).toString()));
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service: UpstreamService = {
    origin,
    url: `${origin}/mcp`,
    switches: {
      resourceMetadata: { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["read"] },
      serverMetadata: serverMetadata(origin),
      challenge: `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
      accessTokenSeconds: 3600,
      rotates: true,
      refusesResource: false,
      givesRefreshTokens: true,
      decision: "approve",
      iss: undefined,
      neededScopes: [],
      token: undefined,
      register: undefined,
      refusesAll: false,
      open: false,
      plain: undefined,
    },
    seen: [],
    authorizations: [],
    tokenRequests: [],
    revoked: [],
    registrations: [],
    mcpRequests: [],
    clients: new Map(),
    accessTokens: new Map(),
    refreshTokens: new Map(),
    secrets: new Set(),
    pause: () => {
      paused = true;
      server.closeAllConnections();
    },
    resume: () => void (paused = false),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const { switches } = service;
  const secret = (name: string): string => {
    const text = `${name}-sentinel-${randomBytes(12).toString("hex")}`;
    service.secrets.add(text);
    return text;
  };

  const json = (
    response: ServerResponse,
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const url = new URL(request.url ?? "/", origin);
    service.seen.push(`${request.method} ${url.pathname}`);
    switch (url.pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return switches.resourceMetadata === undefined
          ? json(response, 404, {})
          : json(response, 200, switches.resourceMetadata);
      case "/.well-known/oauth-authorization-server":
        return switches.serverMetadata === undefined
          ? json(response, 404, {})
          : json(response, 200, switches.serverMetadata);
      case "/authorize":
        return authorize(url.searchParams, response);
      case "/token":
        return token(request, new URLSearchParams(body), response);
      case "/register":
        return register(JSON.parse(body) as Record<string, unknown>, response);
      case "/revoke": {
        const value = new URLSearchParams(body).get("token") ?? "";
        service.revoked.push(value);
        service.accessTokens.delete(value);
        service.refreshTokens.delete(value);
        return void response.writeHead(200).end();
      }
      case "/mcp":
        return mcp(request, response, body);
      default:
        return json(response, 404, {});
    }
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    service.authorizations.push(query);
    const client = service.clients.get(query.get("client_id") ?? "");
    const redirectUri = query.get("redirect_uri") ?? "";
    if (!client?.redirectUris.includes(redirectUri))
      return json(response, 400, { error: "unknown client or redirect" });
    const back = new URL(redirectUri);
    back.searchParams.set("state", query.get("state") ?? "");
    if (switches.iss !== undefined) back.searchParams.set("iss", switches.iss);
    const isStrict =
      query.get("response_type") === "code" &&
      query.get("code_challenge_method") === "S256" &&
      (query.get("code_challenge") ?? "").length === 43 &&
      query.has("resource") !== switches.refusesResource;
    if (switches.decision === "approve" && isStrict) {
      const code = secret("code");
      codes.set(code, {
        clientId: query.get("client_id") ?? "",
        scope: query.get("scope") ?? "",
        resource: query.get("resource") ?? "",
        challenge: query.get("code_challenge") ?? "",
        redirectUri,
      });
      back.searchParams.set("code", code);
    } else {
      back.searchParams.set("error", isStrict ? switches.decision : "invalid_request");
      back.searchParams.set("error_description", "<script>alert(1)</script>");
    }
    response.writeHead(302, { location: back.href }).end();
  }

  function token(request: IncomingMessage, form: URLSearchParams, response: ServerResponse): void {
    const { authorization } = request.headers;
    if (authorization !== undefined) form.set("authorization", authorization);
    service.tokenRequests.push(form);
    if (switches.token?.(form, response) === true) return;
    const basic = /^Basic (.+)$/.exec(authorization ?? "")?.[1];
    const [basicId, basicSecret] =
      basic === undefined ? [] : Buffer.from(basic, "base64").toString().split(":").map(decodeURIComponent);
    const clientId = basicId ?? form.get("client_id") ?? "";
    const client = service.clients.get(clientId);
    const given = basicSecret ?? form.get("client_secret") ?? undefined;
    if (!client || client.secret !== given)
      return json(response, 401, { error: "invalid_client" }, { "www-authenticate": "Basic" });
    if (client.method === "client_secret_basic" && basic === undefined)
      return json(response, 401, { error: "invalid_client" });
    if (client.method === "client_secret_post" && basic !== undefined)
      return json(response, 401, { error: "invalid_client" });
    const grant = grantOf(form);
    if (!grant || grant.clientId !== clientId) return json(response, 400, { error: "invalid_grant" });
    if ((form.get("resource") ?? "") !== grant.resource) return json(response, 400, { error: "invalid_target" });
    const { scope, resource } = grant;
    const issued: IssuedToken = { clientId, scope, resource };
    const access = secret("access");
    service.accessTokens.set(access, issued);
    const isRefresh = form.get("grant_type") === "refresh_token";
    const refresh = switches.givesRefreshTokens && (switches.rotates || !isRefresh) ? secret("refresh") : undefined;
    if (refresh !== undefined) service.refreshTokens.set(refresh, issued);
    json(response, 200, {
      access_token: access,
      token_type: "Bearer",
      scope,
      ...(switches.accessTokenSeconds === undefined ? {} : { expires_in: switches.accessTokenSeconds }),
      ...(refresh === undefined ? {} : { refresh_token: refresh }),
    });
  }

  function grantOf(form: URLSearchParams): IssuedToken | undefined {
    if (form.get("grant_type") === "refresh_token") {
      const value = form.get("refresh_token") ?? "";
      const grant = service.refreshTokens.get(value);
      if (switches.rotates) service.refreshTokens.delete(value);
      return grant;
    }
    const text = form.get("code") ?? "";
    const code = codes.get(text);
    codes.delete(text);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return code && code.challenge === challenge && code.redirectUri === form.get("redirect_uri") ? code : undefined;
  }

  function register(metadata: Record<string, unknown>, response: ServerResponse): void {
    service.registrations.push(metadata);
    if (switches.register) return json(response, 201, switches.register());
    const asked = metadata["token_endpoint_auth_method"];
    const method = typeof asked === "string" ? asked : "client_secret_basic";
    const clientId = `registered-${service.registrations.length}`;
    const clientSecret = method === "none" ? undefined : secret("registered-secret");
    service.clients.set(clientId, {
      secret: clientSecret,
      redirectUris: metadata["redirect_uris"] as string[],
      method,
    });
    json(response, 201, {
      ...metadata,
      client_id: clientId,
      ...(clientSecret === undefined ? {} : { client_secret: clientSecret, client_secret_expires_at: 0 }),
    });
  }

  function mcp(request: IncomingMessage, response: ServerResponse, body: string): void {
    service.mcpRequests.push(request.headers);
    const { authorization } = request.headers;
    const value = /^Bearer (.+)$/.exec(authorization ?? "")?.[1];
    const held = value === undefined ? undefined : service.accessTokens.get(value);
    if (!switches.open && (switches.refusesAll || !held)) {
      return void response
        .writeHead(401, switches.challenge === undefined ? {} : { "www-authenticate": switches.challenge })
        .end("upstream says no");
    }
    if (switches.plain) return void response.writeHead(switches.plain.status).end(switches.plain.body);
    const scopes = held?.scope.split(" ") ?? [];
    const missing = switches.neededScopes.filter((scope) => !scopes.includes(scope));
    if (missing.length > 0) {
      const header = `Bearer error="insufficient_scope", scope="${switches.neededScopes.join(" ")}"`;
      return void response.writeHead(403, { "www-authenticate": header }).end("more scope");
    }
    const { id, method } = JSON.parse(body === "" ? "{}" : body) as { id?: unknown; method?: unknown };
    const protocolVersion = method === "initialize" ? { protocolVersion: "2025-11-25" } : {};
    json(response, 200, {
      jsonrpc: "2.0",
      id: id ?? null,
      result: { method, authorized: held !== undefined, scope: held?.scope, ...protocolVersion },
    });
  }

  return service;
}

/** Initial metadata of `startUpstreamService`. */
export function serverMetadata(origin: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    ...more,
  };
}
