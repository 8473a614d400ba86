/**
 * As whom we speak to an upstream's authorization server: the route's own client, our client ID metadata document, or a
 * dynamic registration (MCP authorization, "Client Registration Approaches": in this order).
 */
import * as oauth from "oauth4webapi";

import type { CompiledRoute, LiveSettings } from "../config/compiled.ts";
import type { SafeFetch } from "../http/safe-fetch.ts";
import type { Keys } from "../keys.ts";
import type { Log } from "../log.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { Store } from "../store/store.ts";
import { isPlainObject, parseJson } from "./json.ts";
import type { AuthorizationServer } from "./metadata.ts";
import {
  REGISTRATION_SECONDS,
  registrationKey,
  type ClientReference,
  type RegistrationRecord,
  type TokenAuthMethod,
} from "./records.ts";
import { callbackUrl, CLIENT_DOCUMENT_PATH, type UpstreamTarget } from "./target.ts";
import { endpointTarget, FetchRefused, guardedOptions } from "./token-endpoint.ts";

export interface ClientChoiceDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** Stands for our document's address; for tests, whose gateway has no https address. */
  readonly clientDocumentUrl?: string | undefined;
}

export type ClientChoice =
  | { readonly ok: true; readonly client: ClientReference }
  | { readonly ok: false; readonly detail: string };

export interface ClientChooser {
  choose(target: UpstreamTarget, server: AuthorizationServer, settings: LiveSettings): Promise<ClientChoice>;
  /** The secret as it is now: of the route, or of the registration. */
  secretOf(client: ClientReference, route: CompiledRoute): Promise<string | undefined>;
  /** The server does not know this registration any more: the next flow registers anew. */
  forget(client: ClientReference): Promise<void>;
}

export function createClientChooser(deps: ClientChoiceDeps): ClientChooser {
  const sealer = deps.keys.sealer("vault");
  const registering = new Map<string, Promise<ClientChoice>>();

  const register = async (
    target: UpstreamTarget,
    server: AuthorizationServer,
    settings: LiveSettings,
    key: string,
  ): Promise<ClientChoice> => {
    const { route } = target;
    const issuer = server.issuer ?? "";
    const now = epochSeconds(deps.clock);
    const known = await deps.store.get<RegistrationRecord>(key);
    if (known && (known.value.secretExpiresAt === undefined || known.value.secretExpiresAt > now + 60)) {
      return { ok: true, client: referenceOf(known.value, key) };
    }
    if (server.registrationEndpoint === undefined) {
      return { ok: false, detail: `${issuer} neither reads client ID metadata documents nor registers clients` };
    }
    const answer = await askForRegistration(deps, target, server, settings);
    if (!answer.ok) return answer;
    const record: RegistrationRecord = {
      schema: 1,
      issuer,
      origin: route.origin,
      clientId: answer.clientId,
      ...(answer.clientSecret === undefined ? {} : { clientSecret: sealer.seal(answer.clientSecret, key) }),
      authMethod: answer.authMethod,
      ...(answer.secretExpiresAt === undefined ? {} : { secretExpiresAt: answer.secretExpiresAt }),
      registeredAt: now,
    };
    const put = await deps.store.put(key, record, {
      ifVersion: known?.version ?? 0,
      expiresAt: now + REGISTRATION_SECONDS,
    });
    deps.log.info(
      { route: route.key, issuer, method: answer.authMethod },
      "registered with an upstream's authorization server",
    );
    if (put.ok) return { ok: true, client: referenceOf(record, key) };
    // Another replica was faster; both registrations work, but all should speak with one voice.
    const other = await deps.store.get<RegistrationRecord>(key);
    return { ok: true, client: referenceOf(other?.value ?? record, key) };
  };

  return {
    async choose(target, server, settings) {
      const { oauth: configured, route } = target;
      if (configured?.clientId !== undefined) {
        const hasSecret = configured.clientSecret !== undefined;
        const authMethod = hasSecret ? (styleOf(target) ?? chooseAuthMethod(server, false)) : "none";
        return { ok: true, client: { kind: "route", clientId: configured.clientId, authMethod } };
      }
      const document = deps.clientDocumentUrl ?? route.origin + CLIENT_DOCUMENT_PATH;
      // "The client_id MUST be an https URL" (client ID metadata documents §3).
      if (server.readsClientDocuments && document.startsWith("https://")) {
        return { ok: true, client: { kind: "document", clientId: document, authMethod: "none" } };
      }
      const key = registrationKey(server.issuer ?? "", route.origin);
      let running = registering.get(key);
      if (!running) {
        running = register(target, server, settings, key).finally(() => registering.delete(key));
        registering.set(key, running);
      }
      return running;
    },

    async secretOf(client, route) {
      if (client.kind === "route")
        return route.mcp?.kind === "server" ? route.mcp.upstreamOAuth?.clientSecret : undefined;
      if (client.registration === undefined) return undefined;
      const record = await deps.store.get<RegistrationRecord>(client.registration);
      const sealed = record?.value.clientId === client.clientId ? record.value.clientSecret : undefined;
      return sealed === undefined ? undefined : sealer.open(sealed, client.registration)?.toString();
    },

    async forget(client) {
      if (client.registration === undefined) return;
      const record = await deps.store.get<RegistrationRecord>(client.registration);
      if (record?.value.clientId !== client.clientId) return;
      await deps.store.delete(client.registration, { ifVersion: record.version });
      deps.log.warn({ issuer: record.value.issuer }, "an upstream's authorization server has forgotten us");
    },
  };
}

interface Registered {
  readonly ok: true;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly authMethod: TokenAuthMethod;
  readonly secretExpiresAt?: number;
}

/** Dynamic client registration (RFC 7591 §3.1). */
async function askForRegistration(
  deps: ClientChoiceDeps,
  target: UpstreamTarget,
  server: AuthorizationServer,
  settings: LiveSettings,
): Promise<Registered | { readonly ok: false; readonly detail: string }> {
  const { route } = target;
  const issuer = server.issuer ?? "";
  const endpoint = server.registrationEndpoint ?? "";
  const wanted = chooseAuthMethod(server, true);
  const asked = endpointTarget(server, endpoint, { upstreamUrl: target.url, settings });
  const metadataOfServer = { issuer, registration_endpoint: endpoint };
  let response: Response;
  try {
    response = await oauth.dynamicClientRegistrationRequest(
      metadataOfServer,
      { ...clientMetadata(route), token_endpoint_auth_method: wanted },
      guardedOptions(deps.fetch, asked, () => {}),
    );
  } catch (error) {
    const why = error instanceof FetchRefused ? error.message : "no valid answer";
    return { ok: false, detail: `${issuer} did not register us: ${why}` };
  }
  return readRegistration(issuer, wanted, response.status, parseJson(Buffer.from(await response.arrayBuffer())));
}

/**
 * RFC 7591 §3.2.1, with what servers in use make of it: 200 for 201, and secrets without `client_secret_expires_at`.
 */
function readRegistration(
  issuer: string,
  wanted: TokenAuthMethod,
  status: number,
  answer: unknown,
): Registered | { readonly ok: false; readonly detail: string } {
  const body = isPlainObject(answer) ? answer : {};
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: ends } = body;
  if ((status !== 200 && status !== 201) || typeof clientId !== "string" || clientId === "") {
    const code = body["error"];
    const why = typeof code === "string" && /^[a-z_]{1,40}$/.test(code) ? code : `answered ${status}`;
    return { ok: false, detail: `${issuer} did not register us: ${why}` };
  }
  // "The authorization server MAY reject or replace any of the client's requested metadata values" (RFC 7591 §3.2.1).
  const given = body["token_endpoint_auth_method"];
  const hasSecret = typeof secret === "string" && secret !== "";
  const withSecret = wanted === "none" ? "client_secret_basic" : wanted;
  const authMethod = isAuthMethod(given) ? given : hasSecret ? withSecret : "none";
  if (authMethod === "none") return { ok: true, clientId, authMethod };
  if (!hasSecret) return { ok: false, detail: `${issuer} registered us without the secret it asks for` };
  return {
    ok: true,
    clientId,
    clientSecret: secret,
    authMethod,
    ...(typeof ends === "number" && ends > 0 ? { secretExpiresAt: Math.floor(ends) } : {}),
  };
}

/** What we say of ourselves, in registrations and in our document. */
export function clientMetadata(route: CompiledRoute) {
  return {
    client_name: `${route.name} (MCP gateway)`,
    client_uri: route.origin,
    redirect_uris: [callbackUrl(route)],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // MCP 2026-07-28: registrations MUST say which kind of application this is.
    application_type: "web",
  };
}

function referenceOf(record: RegistrationRecord, key: string): ClientReference {
  return { kind: "registered", clientId: record.clientId, authMethod: record.authMethod, registration: key };
}

function styleOf(target: UpstreamTarget): TokenAuthMethod | undefined {
  switch (target.oauth?.authStyle) {
    case "header":
      return "client_secret_basic";
    case "params":
      return "client_secret_post";
    case undefined:
      return undefined;
    default:
      return target.oauth?.authStyle satisfies undefined;
  }
}

/** The first that the server knows; without a word from it the default of RFC 8414 §2. */
function chooseAuthMethod(server: AuthorizationServer, mayBePublic: boolean): TokenAuthMethod {
  const offered = server.tokenAuthMethods;
  if (offered === undefined || offered.includes("client_secret_basic")) return "client_secret_basic";
  if (offered.includes("client_secret_post")) return "client_secret_post";
  return mayBePublic && offered.includes("none") ? "none" : "client_secret_basic";
}

function isAuthMethod(value: unknown): value is TokenAuthMethod {
  return value === "none" || value === "client_secret_basic" || value === "client_secret_post";
}
