/** The provider's metadata: asked for when needed, kept for an hour, asked again after a failure or a change of settings. */
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
  /** Plain http to the provider is accepted. */
  readonly development: boolean;
  readonly clock: Clock;
  readonly fetch: OperatorFetch;
  readonly guarded: SafeFetch;
  /** A provider was asked. @param problem absent: it answered */
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
/** Metadata is asked for again after so long; the old one serves while that fails. */
const METADATA_MS = 60 * 60 * 1000;

export function createDiscovery(deps: IdpDeps): Discover {
  /** By the provider's name; only of the active settings. */
  const known = new Map<string, Known>();
  const clock = steadyClock(deps.clock);

  return (settings) => {
    // The secret is part of what was configured: a new one on reload must not be used through an old configuration.
    const key = JSON.stringify([settings.providerUrl, settings.clientId, hashSecret(settings.clientSecret ?? "")]);
    const name = providerName(settings);
    const older = known.get(name);
    const now = clock.now();
    if (older?.key === key && now - older.askedAtMs < METADATA_MS) return older.configuration;
    const asked = askMetadata(settings, deps);
    asked.then(
      () => deps.onAsked?.(name),
      (error: unknown) => deps.onAsked?.(name, errorText(error)),
    );
    if (older?.key === key) {
      older.askedAtMs = now;
      asked.then(
        () => (older.configuration = asked),
        () => {},
      );
      return older.configuration;
    }
    const current = { key, configuration: asked, askedAtMs: now };
    known.set(name, current);
    // A failure is not kept: the next sign-in asks again.
    asked.catch(() => {
      if (known.get(name) === current) known.delete(name);
    });
    return asked;
  };
}

/**
 * The same provider without the library's check of signatures, which keeps a key set for a minute that may be outdated: what
 * its token endpoint gives is checked by provider-keys.ts.
 */
export function forGrants(configuration: openid.Configuration, settings: IdpSettings): openid.Configuration {
  const metadata = configuration.serverMetadata();
  const grants = new openid.Configuration(metadata, settings.clientId, undefined, authentication(settings, metadata));
  grants.timeout = configuration.timeout;
  const { [openid.customFetch]: fetch } = configuration;
  if (fetch !== undefined)
    grants[openid.customFetch] = async (url, options) => withoutChallenge(await fetch(url, options));
  // Outside development a provider at such an address was not discovered.
  if (metadata.issuer.startsWith("http:")) openid.allowInsecureRequests(grants);
  return grants;
}

/** Whether authorization requests are pushed (RFC 9126). @throws GatewayError `idp.misconfigured` */
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

/** A client whose authentication fails is answered with a challenge (RFC 6749 §5.2), for which the library skips the error in the body. */
function withoutChallenge(answer: Response): Response {
  if (!answer.headers.has("www-authenticate")) return answer;
  const headers = new Headers(answer.headers);
  headers.delete("www-authenticate");
  return new Response(answer.body, { status: answer.status, headers });
}

/**
 * Where requests to a provider may go. The operator trusts `idp_provider_url` to name its own endpoints. Another provider may
 * name its own origin, which the operator wrote, and public addresses: no way into our network (as for keys, issuer-keys.ts).
 */
function fetchFor({ providerUrl, issuerName }: IdpSettings, { fetch, guarded }: IdpDeps): OperatorFetch {
  if (issuerName === undefined) return fetch;
  const { origin } = new URL(providerUrl);
  return async (url, init = {}) => {
    const { origin: asked, host } = new URL(url);
    if (asked === origin) return fetch(url, init);
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
      // Chosen when it is used: the methods stand in the metadata that is being asked for.
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
 * @see RFC 7523 §3, with the token endpoint as audience. It must have the issuer's origin, which the operator wrote: a provider that
 *   names another one's token endpoint and an endpoint of its own for pushed requests would get proofs that are good there
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
  // client_secret_basic is what a provider understands that names no method (OpenID Connect Discovery §3).
  const methods = as.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return SECRET_METHODS.find((each) => methods.includes(each)) ?? "client_secret_post";
}
