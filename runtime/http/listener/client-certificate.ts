/** The certificate that a client showed in the TLS handshake. */
import { createHash, type X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";

import { certificateTime } from "../../features/listener/certificate-end.ts";
import type { CertificateFacts } from "../../policy/facts.ts";

export type ClientCertificate = CertificateFacts;

/** Once per connection, not once per request. */
const known = new WeakMap<TLSSocket, ClientCertificate | undefined>();

/** @returns undefined when the client showed none, or was not asked */
export function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  if (known.has(socket)) return known.get(socket);
  const shown = socket.getPeerX509Certificate();
  const certificate = shown && certificateFacts(shown, socket.authorized && !hasEnded(shown));
  known.set(socket, certificate);
  return certificate;
}

/** For each new connection: a session that resumes keeps the result of the first handshake, when the certificate was still valid. */
export function resumesEnded(socket: TLSSocket): boolean {
  const shown = socket.isSessionReused() ? socket.getPeerX509Certificate() : undefined;
  return shown !== undefined && hasEnded(shown);
}

function hasEnded(shown: X509Certificate): boolean {
  return certificateTime(shown, Date.now()) === "ended";
}

/**
 * Of a certificate that is not valid, nothing but its fingerprint: anybody can make one, with a key of any kind and as many
 * names as a handshake may have, and no rule asks for more of it.
 */
export function certificateFacts(shown: X509Certificate, isSigned: boolean): ClientCertificate {
  const fingerprint = createHash("sha256").update(shown.raw).digest("hex");
  const names = isSigned ? alternativeNames(shown.subjectAltName ?? "") : undefined;
  if (!names) return { isValid: false, fingerprint, spkiHash: "", sanEmail: [], sanDns: [], sanUri: [] };
  return {
    isValid: true,
    fingerprint,
    spkiHash: createHash("sha256")
      .update(shown.publicKey.export({ type: "spki", format: "der" }))
      .digest("base64"),
    sanEmail: names.get("email") ?? [],
    sanDns: names.get("DNS") ?? [],
    sanUri: names.get("URI") ?? [],
  };
}

/** Rules look through the names with every request. */
const MAX_NAMES = 1000;

/**
 * Node's text of the subject alternative names → kind and values.
 *
 * Values with special characters are JSON texts there (CVE-2021-44532: an unquoted comma made two names of one). What
 * does not read cleanly from beginning to end gives no names at all.
 *
 * @returns undefined for more names than are looked at
 */
export function alternativeNames(text: string): ReadonlyMap<string, readonly string[]> | undefined {
  const names = new Map<string, string[]>();
  let count = 0;
  const item = /([A-Za-z][A-Za-z ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;
  while (item.lastIndex < text.length) {
    const found = item.exec(text);
    if (!found) return new Map();
    const [, kind = "", written = ""] = found;
    const value = readName(written);
    if (value === undefined) return new Map();
    count += 1;
    if (count > MAX_NAMES) return undefined;
    const ofKind = names.get(kind);
    if (ofKind) ofKind.push(value);
    else names.set(kind, [value]);
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
