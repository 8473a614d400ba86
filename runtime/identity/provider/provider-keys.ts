/**
 * Signing keys of identity providers.
 *
 * Untrusted input: the response from the keys' URL. Promises: keys are read again after `FRESH_MS`, and stay valid for
 * `STALE_MS` while their URL fails or hangs. Providers never share keys.
 *
 * A provider may change its key without announcing it, or reuse the old id. If no known key verifies a token from its
 * own token endpoint, the keys are therefore read once more before the token is rejected. Tokens presented by callers
 * cause this at most once per `RETRY_MS`.
 */
import * as jose from "jose";
import * as openid from "openid-client";

import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { steadyClock, type Clock } from "../../shared/clock.ts";
import { fitsNoKey } from "../../issuers/compact-jws.ts";
import { ignore } from "../../shared/ignore.ts";

/** No "none" and no shared secrets: a party that can verify such a token can also create it. */
export const SIGNING_ALGORITHMS = [
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
  "EdDSA",
  "Ed25519",
];

export interface ProviderKeys {
  /**
   * Verifies only the signature of an ID token from the provider's token endpoint.
   *
   * @throws errors of jose (`fitsNoKey` identifies errors of the token), and of the fetch
   */
  checkSignature(configuration: openid.Configuration, idToken: string): Promise<void>;
  /** Keys for a token presented by a caller. @returns undefined if the provider publishes none */
  find(configuration: openid.Configuration): jose.JWTVerifyGetKey | undefined;
}

type RemoteKeys = ReturnType<typeof jose.createRemoteJWKSet>;

interface KeySet extends Visited {
  readonly remote: RemoteKeys;
  readAtMs: number;
  retryAtMs: number;
}

/** One per provider; more than any configuration has. */
const MAX_KEY_SETS = 64;
const FRESH_MS = 10 * 60_000;
const RETRY_MS = 30_000;
const STALE_MS = 24 * 3600_000;

export function createProviderKeys(deps: { readonly clock: Clock }): ProviderKeys {
  const clock = steadyClock(deps.clock);
  const known = new BoundedCache<KeySet>(MAX_KEY_SETS);

  const keysOf = (configuration: openid.Configuration): KeySet | undefined => {
    const { issuer, jwks_uri: url } = configuration.serverMetadata();
    if (url === undefined) return undefined;
    const name = JSON.stringify([issuer, url]);
    let found = known.get(name);
    if (found === undefined) {
      const remote = jose.createRemoteJWKSet(new URL(url), {
        // Refreshes are controlled here: the library drops keys that it cannot read again.
        cacheMaxAge: Infinity,
        cooldownDuration: Infinity,
        [jose.customFetch]: (address: string, options: RequestInit) => fetchOf(configuration)(address, options),
      });
      known.set(name, (found = { remote, readAtMs: -Infinity, retryAtMs: 0, visited: false }));
    }
    return found;
  };

  const reload = async (keys: KeySet): Promise<void> => {
    await keys.remote.reload();
    keys.readAtMs = clock.now();
  };

  const mayRetry = (keys: KeySet): boolean => {
    const now = clock.now();
    if (now < keys.retryAtMs) return false;
    keys.retryAtMs = now + RETRY_MS;
    return true;
  };

  /** Reads the keys if they are due. @throws if none are valid */
  const refresh = async (keys: KeySet): Promise<void> => {
    const age = clock.now() - keys.readAtMs;
    if (age >= STALE_MS) await reload(keys);
    else if (age >= FRESH_MS && mayRetry(keys)) await reload(keys).catch(ignore);
  };

  return {
    async checkSignature(configuration, idToken) {
      const keys = keysOf(configuration);
      if (keys === undefined) throw new Error("the provider publishes no keys");
      const check = (): Promise<unknown> =>
        jose.compactVerify(idToken, keys.remote, { algorithms: SIGNING_ALGORITHMS });
      await refresh(keys);
      try {
        await check();
      } catch (error) {
        if (!fitsNoKey(error)) throw error;
        await reload(keys);
        await check();
      }
    },
    find(configuration) {
      const keys = keysOf(configuration);
      if (keys === undefined) return undefined;
      return async (header, token) => {
        await refresh(keys);
        try {
          return await keys.remote(header, token);
        } catch (error) {
          // The key may be new. The cooldown prevents requests for invented key ids.
          if (!(error instanceof jose.errors.JWKSNoMatchingKey) || !mayRetry(keys)) throw error;
          await reload(keys);
          return keys.remote(header, token);
        }
      };
    },
  };
}

/** Uses the provider's own fetch: its metadata must not direct key requests further than its other requests. */
function fetchOf(configuration: openid.Configuration): (url: string, init: RequestInit) => Promise<Response> {
  const { [openid.customFetch]: own = fetch } = configuration;
  return (url, init) => (own as typeof fetch)(url, init);
}

/** With HS256, a verifier could also create the token. Only another algorithm at the provider helps. */
export function hasSharedAlgorithm(error: unknown): boolean {
  return error instanceof jose.errors.JOSEAlgNotAllowed;
}
