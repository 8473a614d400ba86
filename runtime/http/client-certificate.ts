/** The certificate that a client showed in the TLS handshake. */
import { createHash } from "node:crypto";
import type { TLSSocket } from "node:tls";

export interface ClientCertificate {
  /** Signed by an authority of `downstream_mtls` and within its time. */
  readonly isValid: boolean;
  /** SHA-256 of the DER, 64 lower-case hex digits: the short form. */
  readonly fingerprint: string;
}

/** Once per connection, not once per request. */
const known = new WeakMap<TLSSocket, ClientCertificate | undefined>();

/** @returns undefined when the client showed none, or was not asked */
export function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  if (known.has(socket)) return known.get(socket);
  const shown = socket.getPeerX509Certificate();
  const certificate = shown && {
    isValid: socket.authorized,
    fingerprint: createHash("sha256").update(shown.raw).digest("hex"),
  };
  known.set(socket, certificate);
  return certificate;
}
