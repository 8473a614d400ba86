/**
 * The keys with which the identity provider signs what it gave to us.
 *
 * A provider may change its key without announcing the next one beforehand, or put it under the old id. So a token that no
 * known key fits has the key set read once more before it is refused. Only for tokens that came from the provider's own
 * token endpoint: strangers, who could make it read keys as often as they like, are idp-tokens.ts' matter.
 */
import * as jose from "jose";
import type * as openid from "openid-client";

import { BoundedCache, type Visited } from "../../shared/cache.ts";
import type { OperatorFetch } from "../../http/fetch/operator-fetch.ts";

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
   * Checks the signature of an ID token, and nothing else of it.
   *
   * @throws the errors of jose (`fitsNoKey` tells which speak of the token), and of the fetch
   */
  checkSignature(configuration: openid.Configuration, idToken: string): Promise<void>;
}

type RemoteKeys = ReturnType<typeof jose.createRemoteJWKSet>;

interface KeySet extends Visited {
  readonly keys: RemoteKeys;
}

/** One for each provider; more than anybody configures. */
const MAX_KEY_SETS = 64;

export function createProviderKeys(deps: { readonly fetch: OperatorFetch }): ProviderKeys {
  const known = new BoundedCache<KeySet>(MAX_KEY_SETS);

  const keysAt = (url: string): RemoteKeys => {
    let found = known.get(url);
    if (found === undefined) {
      const keys = jose.createRemoteJWKSet(new URL(url), {
        // It never reads again by itself: it would not for a key that took over the id of another one.
        cooldownDuration: Infinity,
        [jose.customFetch]: (address: string, options: RequestInit) => deps.fetch(address, options),
      });
      known.set(url, (found = { keys, visited: false }));
    }
    return found.keys;
  };

  return {
    async checkSignature(configuration, idToken) {
      const url = configuration.serverMetadata().jwks_uri;
      if (url === undefined) throw new Error("the provider publishes no keys");
      const keys = keysAt(url);
      const check = (): Promise<unknown> => jose.compactVerify(idToken, keys, { algorithms: SIGNING_ALGORITHMS });
      try {
        await check();
      } catch (error) {
        if (!fitsNoKey(error)) throw error;
        await keys.reload();
        await check();
      }
    },
  };
}

/** What the provider signed fits no key that it publishes, as opposed to keys that could not be read. */
export function fitsNoKey(error: unknown): boolean {
  return error instanceof jose.errors.JWKSNoMatchingKey || error instanceof jose.errors.JWSSignatureVerificationFailed;
}
