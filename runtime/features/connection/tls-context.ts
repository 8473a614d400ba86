/**
 * TLS contexts with an upstream's authorities and client certificate, once for equal texts. Parsing authorities for
 * each connection would let one owner delay all others.
 */
import { createSecureContext, type SecureContext } from "node:tls";

import { canonicalJson, sha256 } from "../../shared/canonical-json.ts";
import { checkPair } from "../listener/certificate.ts";

export interface UpstreamCredentials {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** More than all public authorities together; parsing takes some 80 ms. */
const MOST_AUTHORITIES = 524_288;
const contexts = new Map<string, WeakRef<SecureContext>>();
const forgotten = new FinalizationRegistry((digest: string) => {
  if (contexts.get(digest)?.deref() === undefined) contexts.delete(digest);
});

/** @throws Error if they are unusable, or too expensive; the message contains nothing of the key */
export function contextOf(credentials: UpstreamCredentials): {
  readonly digest: string;
  readonly context: SecureContext;
} {
  const digest = sha256(canonicalJson(credentials));
  const known = contexts.get(digest)?.deref();
  if (known) return { digest, context: known };
  const { ca = "", cert, key } = credentials;
  if (ca.length > MOST_AUTHORITIES) throw new TypeError(`"tls_custom_ca" has more than ${MOST_AUTHORITIES} characters`);
  if (cert !== undefined && key !== undefined) checkPair(cert, key);
  const context = createSecureContext(credentials);
  contexts.set(digest, new WeakRef(context));
  forgotten.register(context, digest);
  return { digest, context };
}
