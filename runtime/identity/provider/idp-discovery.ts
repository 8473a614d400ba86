/** The provider's metadata: fetched on demand, cached for an hour, fetched again after a failure or a change of settings. */
import * as openid from "openid-client";

import { signingKey } from "../../settings/client-key.ts";
import type { ClientAuth, IdpSettings } from "../../features/sign-in/compiled.ts";
import { providerName } from "../../features/sign-in/providers.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { OperatorFetch } from "../../http/fetch/operator-fetch.ts";
import type { SafeFetch } from "../../http/fetch/safe-fetch.ts";
import { hashSecret } from "../../shared/keys.ts";
import { steadyClock, type Clock } from "../../shared/clock.ts";
import { detailOf, isWrongAddress, settingsOf } from "./idp-errors.ts";

export interface IdpDeps {
  /** Allows plain http to the provider. */
  readonly development: boolean;
  readonly clock: Clock;
  readonly fetch: OperatorFetch;
  readonly guarded: SafeFetch;
  /** Called after a metadata request. @param problem absent: it succeeded */
  readonly onAsked?: ((name: string, problem?: string) => void) | undefined;
}

/** @throws GatewayError `idp.unavailable`, `idp.misconfigured` */
export type Discover = (settings: IdpSettings) => Promise<openid.Configuration>;

interface Known {
  readonly key: string;
  configuration: Promise<openid.Configuration>;
  askedAtMs: number;
}

const TIMEOUT_SECONDS = 10;
/** Key sets with certificates have about 100 KiB. */
const ANSWER_BYTES = 1024 * 1024;
/** Metadata is fetched again after this time. The old version is used while that fails. */
const METADATA_MS = 60 * 60 * 1000;

export function createDiscovery(deps: IdpDeps): Discover {
  /** By the provider's name, for active settings only. */
  const known = new Map<string, Known>();
  const clock = steadyClock(deps.clock);

  return (settings) => {
    // Includes the secret: after a reload, a new secret must not be used with an old configuration.
    const key = JSON.stringify([settings.providerUrl, settings.clientId, hashSecret(settings.clientSecret ?? "")]);
    const name = providerName(settings);
    const older = known.get(name);
    const now = clock.now();
    if (older?.key === key && now - older.askedAtMs < METADATA_MS) return older.configuration;
    const request = askMetadata(settings, deps);
    request.then(
      () => deps.onAsked?.(name),
      (error: unknown) => deps.onAsked?.(name, errorText(error)),
    );
    if (older?.key === key) {
      older.askedAtMs = now;
      request.then(
        () => (older.configuration = request),
        () => {},
      );
      return older.configuration;
    }
    const current = { key, configuration: request, askedAtMs: now };
    known.set(name, current);
    // Failures are not cached: the next sign-in tries again.
    request.catch(() => {
      if (known.get(name) === current) known.delete(name);
    });
    return request;
  };
}

/**
 * The same provider without the library's signature check, whose key set may be outdated for a minute. provider-keys.ts
 * checks the tokens of the token endpoint instead.
 */
export function forGrants(configuration: openid.Configuration, settings: IdpSettings): openid.Configuration {
  const metadata = configuration.serverMetadata();
  const grants = new openid.Configuration(metadata, settings.clientId, undefined, authentication(settings, metadata));
  grants.timeout = configuration.timeout;
  const { [openid.customFetch]: fetch } = configuration;
  if (fetch !== undefined)
    grants[openid.customFetch] = async (url, options) => withoutChallenge(await fetch(url, options));
  // Outside development, discovery rejects such a provider.
  if (metadata.issuer.startsWith("http:")) openid.allowInsecureRequests(grants);
  return grants;
}

/** Returns true if authorization requests are pushed (RFC 9126). @throws GatewayError `idp.misconfigured` */
export function pushesRequests(configuration: openid.Configuration, settings: IdpSettings): boolean {
  const metadata = configuration.serverMetadata();
  if (metadata.require_pushed_authorization_requests === true) return true;
  if (settings.pushesRequests !== true) return false;
  if (metadata.pushed_authorization_request_endpoint !== undefined) return true;
  const setting = settingsOf(settings).push;
  throw new GatewayError(
    "idp.misconfigured",
    `Cannot push an authorization request: the provider has no endpoint for it; check ${setting}`,
  );
}

/**
 * Failed client authentication is answered with a challenge (RFC 6749 §5.2), which makes the library ignore the error
 * in the body.
 */
function withoutChallenge(answer: Response): Response {
  if (!answer.headers.has("www-authenticate")) return answer;
  const headers = new Headers(answer.headers);
  headers.delete("www-authenticate");
  return new Response(answer.body, { status: answer.status, headers });
}

/**
 * Restricts the URLs of a provider. The first provider is trusted to name its own endpoints. Another provider may name
 * its own origin, which the operator wrote, and public addresses, but nothing in our network (as for keys,
 * issuer-keys.ts).
 */
function fetchFor({ providerUrl, issuerName }: IdpSettings, { fetch, guarded }: IdpDeps): OperatorFetch {
  if (issuerName === undefined) return fetch;
  const { origin } = new URL(providerUrl);
  return async (url, init = {}) => {
    const { origin: requested, host } = new URL(url);
    if (requested === origin) return fetch(url, init);
    const answer = await guarded({
      url,
      target: { kind: "named", domains: [] },
      method: init.method === "POST" ? "POST" : "GET",
      headers: Object.fromEntries(new Headers(init.headers)),
      // The library sends forms.
      ...(init.body instanceof URLSearchParams ? { body: init.body.toString() } : {}),
      maxBytes: ANSWER_BYTES,
      timeoutMs: TIMEOUT_SECONDS * 1000,
      ...(init.signal ? { signal: init.signal } : {}),
    });
    if (!answer.ok) throw new GatewayError("fetch.unreachable", `Cannot fetch from "${host}": ${answer.detail}`);
    return new Response(answer.body.length === 0 ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: answer.headers,
    });
  };
}

async function askMetadata(settings: IdpSettings, deps: IdpDeps): Promise<openid.Configuration> {
  const fetch = fetchFor(settings, deps);
  try {
    const server = new URL(settings.providerUrl);
    return await openid.discovery(
      server,
      settings.clientId,
      undefined,
      // Evaluated at use: the methods are in the metadata that is being fetched.
      (as, client, body, headers) => authentication(settings, as)(as, client, body, headers),
      {
        timeout: TIMEOUT_SECONDS,
        execute: [
          openid.enableNonRepudiationChecks,
          ...(deps.development && server.protocol === "http:" ? [openid.allowInsecureRequests] : []),
        ],
        [openid.customFetch]: (url, options) => fetch(url, options as RequestInit),
      },
    );
  } catch (cause) {
    const setting =
      settings.issuerName === undefined ? "idp_provider_url" : `identity_issuers.${settings.issuerName}.issuer`;
    const isWrong = isWrongAddress(cause);
    throw new GatewayError(
      isWrong ? "idp.misconfigured" : "idp.unavailable",
      `Cannot read the metadata of identity provider "${providerName(settings)}" at ${settings.providerUrl}: ${detailOf(cause)}${isWrong ? `; check ${setting}` : ""}`,
      { cause },
    );
  }
}

function authentication(settings: IdpSettings, as: openid.ServerMetadata): openid.ClientAuth {
  const { clientKey, clientKeyId: kid, clientSecret: secret } = settings;
  const audience = settings.provesToEndpoint === true ? endpointAudience(settings, as) : {};
  if (clientKey)
    return openid.PrivateKeyJwt({ key: signingKey(clientKey), ...(kid !== undefined && { kid }) }, audience);
  if (secret === undefined) return openid.None();
  switch (settings.clientAuth ?? secretMethod(as)) {
    case "client_secret_basic":
      return openid.ClientSecretBasic(secret);
    case "client_secret_jwt":
      return openid.ClientSecretJwt(secret, audience);
    default:
      return openid.ClientSecretPost(secret);
  }
}

/**
 * The token endpoint, as audience of client proofs. It must have the issuer's origin, which the operator wrote.
 * Otherwise a provider could name another provider's token endpoint and its own endpoint for pushed requests, and get
 * proofs that are valid at the other one.
 *
 * @see RFC 7523 §3
 */
function endpointAudience(settings: IdpSettings, as: openid.ServerMetadata): openid.ModifyAssertionOptions {
  const endpoint = as.token_endpoint ?? "";
  if (URL.parse(endpoint)?.origin !== new URL(as.issuer).origin) {
    throw new GatewayError(
      "idp.misconfigured",
      `Cannot prove the client: the token endpoint has another origin than the issuer; check ${settingsOf(settings).audience}`,
    );
  }
  return { [openid.modifyAssertion]: (_header, payload) => void (payload["aud"] = endpoint) };
}

const SECRET_METHODS: readonly ClientAuth[] = ["client_secret_basic", "client_secret_post", "client_secret_jwt"];

function secretMethod(as: openid.ServerMetadata): ClientAuth {
  // A provider that lists no method supports client_secret_basic (OpenID Connect Discovery §3).
  const methods = as.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return SECRET_METHODS.find((each) => methods.includes(each)) ?? "client_secret_post";
}
