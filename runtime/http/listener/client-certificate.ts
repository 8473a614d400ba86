/** The certificate that a client showed in the TLS handshake. */
import { createHash, type X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";

import type { CertificateFacts } from "../../policy/facts.ts";

export type ClientCertificate = CertificateFacts;

/** Once per connection, not once per request. */
const known = new WeakMap<TLSSocket, ClientCertificate | undefined>();

/** @returns undefined when the client showed none, or was not asked */
export function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  if (known.has(socket)) return known.get(socket);
  const shown = socket.getPeerX509Certificate();
  const certificate = shown && certificateFacts(shown, socket.authorized);
  known.set(socket, certificate);
  return certificate;
}

export function certificateFacts(shown: X509Certificate, isValid: boolean): ClientCertificate {
  const names = alternativeNames(shown.subjectAltName ?? "");
  return {
    isValid,
    fingerprint: createHash("sha256").update(shown.raw).digest("hex"),
    spkiHash: createHash("sha256")
      .update(shown.publicKey.export({ type: "spki", format: "der" }))
      .digest("base64"),
    sanEmail: names.get("email") ?? [],
    sanDns: names.get("DNS") ?? [],
    sanUri: names.get("URI") ?? [],
  };
}

/**
 * Node's text of the subject alternative names → kind and values.
 *
 * Values with special characters are JSON texts there (CVE-2021-44532: an unquoted comma made two names of one). What
 * does not read cleanly from beginning to end gives no names at all.
 */
export function alternativeNames(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  const item = /([A-Za-z][A-Za-z ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;
  while (item.lastIndex < text.length) {
    const found = item.exec(text);
    if (!found) return new Map();
    const [, kind = "", written = ""] = found;
    const value = readName(written);
    if (value === undefined) return new Map();
    names.set(kind, [...(names.get(kind) ?? []), value]);
  }
  return names;
}

function readName(written: string): string | undefined {
  if (!written.startsWith('"')) return written;
  try {
    return JSON.parse(written) as string;
  } catch {
    return undefined;
  }
}
