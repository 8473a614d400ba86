/** Dynamic registration of the gateway at an upstream's authorization server (RFC 7591), and the gateway's client metadata. */
import * as oauth from "oauth4webapi";

import type { CompiledRoute, LiveSettings } from "../../../config/compiled.ts";
import type { SafeFetch } from "../../../http/fetch/safe-fetch.ts";
import { endpointTarget, FetchRefused, guardedOptions } from "../discovery/guarded-oauth.ts";
import { parseForeignJson } from "../../../shared/json/foreign-json.ts";
import type { AuthorizationServer } from "../discovery/metadata.ts";
import type { RegistrationRecord, TokenAuthMethod } from "../connection-records.ts";
import { callbackUrl, type UpstreamTarget } from "../target.ts";
import { isRecord } from "../../../shared/is-record.ts";
import { oauthRefusalText } from "../../../shared/http/oauth-error.ts";
import { UPSTREAM_SETTINGS } from "./upstream-settings.ts";

/** Result of a registration. */
export interface Registered extends Pick<RegistrationRecord, "clientId" | "authMethod" | "secretExpiresAt"> {
  readonly ok: true;
  /** In plain text, as received. */
  readonly clientSecret?: string;
}

/** Dynamic client registration (RFC 7591 §3.1). */
export async function askForRegistration(
  deps: { readonly fetch: SafeFetch },
  target: UpstreamTarget,
  server: AuthorizationServer,
  settings: LiveSettings,
): Promise<Registered | { readonly ok: false; readonly detail: string }> {
  const { route } = target;
  const issuer = server.issuer ?? "";
  const endpoint = server.registrationEndpoint ?? "";
  const requested = chooseAuthMethod(server, true);
  const fetchTarget = endpointTarget(server, endpoint, { upstreamUrl: target.url, reach: target.reach, settings });
  const metadataOfServer = { issuer, registration_endpoint: endpoint };
  let response: Response;
  try {
    response = await oauth.dynamicClientRegistrationRequest(
      metadataOfServer,
      { ...clientMetadata(route), token_endpoint_auth_method: requested },
      guardedOptions(deps.fetch, fetchTarget, () => {}),
    );
  } catch (error) {
    const why = error instanceof FetchRefused ? error.message : "no valid answer";
    return { ok: false, detail: `${issuer} did not register the gateway: ${why}` };
  }
  return readRegistration(
    issuer,
    requested,
    response.status,
    parseForeignJson(Buffer.from(await response.arrayBuffer())),
  );
}

/**
 * Parses a registration response (RFC 7591 §3.2.1). Tolerates 200 instead of 201, and secrets without
 * `client_secret_expires_at`, as real servers send them.
 */
function readRegistration(
  issuer: string,
  requested: TokenAuthMethod,
  status: number,
  answer: unknown,
): Registered | { readonly ok: false; readonly detail: string } {
  const body = isRecord(answer) ? answer : {};
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: ends } = body;
  if ((status !== 200 && status !== 201) || typeof clientId !== "string" || clientId === "") {
    const why = typeof body["error"] === "string" ? ` ${oauthRefusalText(body, UPSTREAM_SETTINGS)}` : "";
    return { ok: false, detail: `${issuer} did not register the gateway: answered ${status}${why}` };
  }
  // "The authorization server MAY reject or replace any of the client's requested metadata values" (RFC 7591 §3.2.1).
  const registered = body["token_endpoint_auth_method"];
  const hasSecret = typeof secret === "string" && secret !== "";
  const withSecret = requested === "none" ? "client_secret_basic" : requested;
  const authMethod = isAuthMethod(registered) ? registered : hasSecret ? withSecret : "none";
  if (authMethod === "none") return { ok: true, clientId, authMethod };
  if (!hasSecret) return { ok: false, detail: `${issuer} registered the gateway without the secret it requires` };
  return {
    ok: true,
    clientId,
    clientSecret: secret,
    authMethod,
    ...(typeof ends === "number" && ends > 0 ? { secretExpiresAt: Math.floor(ends) } : {}),
  };
}

/** The gateway's client metadata, for registrations and our document. */
export function clientMetadata(route: CompiledRoute) {
  return {
    client_name: `${route.name} (MCP gateway)`,
    client_uri: route.origin,
    redirect_uris: [callbackUrl(route)],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // MCP 2026-07-28: registrations MUST state the application type.
    application_type: "web",
  };
}

/** Chooses the first method that the server supports. Default: RFC 8414 §2. */
export function chooseAuthMethod(server: AuthorizationServer, mayBePublic: boolean): TokenAuthMethod {
  const offered = server.tokenAuthMethods;
  if (offered === undefined || offered.includes("client_secret_basic")) return "client_secret_basic";
  if (offered.includes("client_secret_post")) return "client_secret_post";
  return mayBePublic && offered.includes("none") ? "none" : "client_secret_basic";
}

function isAuthMethod(value: unknown): value is TokenAuthMethod {
  return value === "none" || value === "client_secret_basic" || value === "client_secret_post";
}
