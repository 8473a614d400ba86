/**
 * The keys with which identity providers sign.
 *
 * Untrusted input: what the address of the keys answers. Promises: keys are read again after `FRESH_MS`, and stay valid for
 * `STALE_MS` while their address fails or hangs; the keys of one provider are never those of another one.
 *
 * A provider may change its key without announcing the next one beforehand, or put it under the old id. So a token of its own
 * token endpoint that no known key fits has the key set read once more before it is refused. Tokens that others present
 * cannot make us do that more than once in `RETRY_MS`.
 */
import * as jose from "jose";
import * as openid from "openid-client";

import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { steadyClock, type Clock } from "../../shared/clock.ts";
import { fitsNoKey } from "../../issuers/compact-jws.ts";
import { ignore } from "../../shared/ignore.ts";

/** No "none", and no shared secrets: whoever could check such a token could make it. */
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
   * Checks the signature of an ID token of the provider's token endpoint, and nothing else of it.
   *
   * @throws the errors of jose (`fitsNoKey` tells which speak of the token), and of the fetch
   */
  checkSignature(configuration: openid.Configuration, idToken: string): Promise<void>;
  /** The keys for a token that somebody presents. @returns undefined when the provider publishes none */
  find(configuration: openid.Configuration): jose.JWTVerifyGetKey | undefined;
}

type RemoteKeys = ReturnType<typeof jose.createRemoteJWKSet>;

interface KeySet extends Visited {
  readonly remote: RemoteKeys;
  readAtMs: number;
  retryAtMs: number;
}

/** One for each provider; more than anybody configures. */
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
        // When they are read is decided here: the library drops keys that it cannot read again.
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

  /** Reads the keys where they must be read. @throws when there are none that are still valid */
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
          // A key may be new. Invented key ids cost the provider nothing.
          if (!(error instanceof jose.errors.JWKSNoMatchingKey) || !mayRetry(keys)) throw error;
          await reload(keys);
          return keys.remote(header, token);
        }
      };
    },
  };
}

/** Of the provider: its metadata must not lead a request for its keys further than its other requests. */
function fetchOf(configuration: openid.Configuration): (url: string, init: RequestInit) => Promise<Response> {
  const { [openid.customFetch]: own = fetch } = configuration;
  return (url, init) => (own as typeof fetch)(url, init);
}

/** Anyone who can check its signature could have made it (HS256): only another algorithm at the provider helps. */
export function hasSharedAlgorithm(error: unknown): boolean {
  return error instanceof jose.errors.JOSEAlgNotAllowed;
}
