/** The certificate that a client presented in the TLS handshake. */
import { createHash, type X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";

import { certificateTime } from "../../features/listener/certificate-end.ts";
import type { CertificateFacts } from "../../policy/facts.ts";

export type ClientCertificate = CertificateFacts;

/** Parsed once per connection, not once per request. */
const known = new WeakMap<TLSSocket, ClientCertificate | undefined>();

/** @returns undefined when the client presented none, or was not asked */
export function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  if (known.has(socket)) return known.get(socket);
  const shown = socket.getPeerX509Certificate();
  const certificate = shown && certificateFacts(shown, socket.authorized && !hasEnded(shown));
  known.set(socket, certificate);
  return certificate;
}

/**
 * Checked for each new connection: a resumed session keeps the result of the first handshake, when the certificate was still
 * valid.
 */
export function resumesEnded(socket: TLSSocket): boolean {
  const shown = socket.isSessionReused() ? socket.getPeerX509Certificate() : undefined;
  return shown !== undefined && hasEnded(shown);
}

function hasEnded(shown: X509Certificate): boolean {
  return certificateTime(shown, Date.now()) === "ended";
}

/**
 * Facts of a client certificate. Of an invalid one only the fingerprint: any client can create one, with any key and any
 * number of names, and rules can match it by fingerprint only.
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

/** Rules search the names on every request. */
const MAX_NAMES = 1000;

/**
 * Parses Node's text of the subject alternative names into kinds and values.
 *
 * Values with special characters are JSON strings there (CVE-2021-44532: an unquoted comma made two names of one). A text
 * that does not parse completely gives no names at all.
 *
 * @returns undefined for more names than the limit
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
