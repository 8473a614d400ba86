/** Data of `client_certificate`: the matching certificates. */
import { lowerAscii } from "../shared/ascii.ts";
import {
  type PolicySchema,
  type ReportAt,
  type StringMatch,
  compileStringMatch,
  describe,
  isRecordOf,
  parseStringMatch,
  stringMatchSchema,
} from "./match.ts";
import type { CertificateFacts } from "./facts.ts";

/** Canonical: lists sorted, fingerprints in short form. All members must match. */
export interface CertificateMatch {
  fingerprint?: readonly string[];
  spki_hash?: readonly string[];
  san_email?: StringMatch;
  san_dns?: StringMatch;
  san_uri?: StringMatch;
}

const HASHES = ["fingerprint", "spki_hash"] as const;
const NAMES = ["san_email", "san_dns", "san_uri"] as const;
const MEMBERS = [...HASHES, ...NAMES];

const HASH_SCHEMA: PolicySchema = {
  anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1 }],
};
/** Without the negative operators, see below. */
const NAME_SCHEMA = stringMatchSchema(["is", "contains", "starts_with", "ends_with", "in"]);
const DOCS: Readonly<Record<keyof CertificateMatch, string>> = {
  fingerprint: "SHA-256 of the certificate in hex, with or without colons, or a list of them.",
  spki_hash: "Base64 of the SHA-256 of the certificate's public key, or a list of them.",
  san_email: "An email address among the certificate's subject alternative names.",
  san_dns: "A host name among the certificate's subject alternative names.",
  san_uri: "A URI among the certificate's subject alternative names.",
};
export const CERTIFICATE_MATCH_SCHEMA: PolicySchema = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  properties: Object.fromEntries([
    ...HASHES.map((name) => [name, { ...HASH_SCHEMA, description: DOCS[name] }]),
    ...NAMES.map((name) => [name, { ...NAME_SCHEMA, description: DOCS[name] }]),
  ]),
};

/** @returns undefined after every problem of the data was reported */
export function readCertificateMatch(
  data: unknown,
  path: string,
  report: ReportAt,
): { readonly match: CertificateMatch; readonly matches: (certificate: CertificateFacts) => boolean } | undefined {
  let valid = true;
  const fail = (at: string, message: string): void => {
    valid = false;
    report(at, message);
  };
  if (!isRecordOf(data, MEMBERS, path, fail)) return undefined;
  const match: CertificateMatch = {};
  const tests: ((certificate: CertificateFacts) => boolean)[] = [];
  for (const name of HASHES) {
    if (!Object.hasOwn(data, name)) continue;
    const hashes = readHashes(data[name], name, `${path}.${name}`, fail);
    match[name] = hashes;
    const accepted = new Set(hashes);
    tests.push((certificate) => accepted.has(name === "fingerprint" ? certificate.fingerprint : certificate.spkiHash));
  }
  for (const name of NAMES) {
    if (!Object.hasOwn(data, name)) continue;
    const names = parseStringMatch(data[name], `${path}.${name}`, fail);
    if (!names) continue;
    // A certificate has several names: "not X" for one of them says little about the certificate.
    for (const operator of ["not", "not_in"] as const) {
      if (names[operator] !== undefined)
        fail(`${path}.${name}.${operator}`, 'is not for names of certificates, put the criterion under "not" instead');
    }
    match[name] = names;
    // Host names and email domains are case-insensitive; URIs are not.
    const fold = name === "san_uri" ? (text: string) => text : lowerAscii;
    const matches = compileStringMatch(names, fold);
    const member = ({ san_email: "sanEmail", san_dns: "sanDns", san_uri: "sanUri" } as const)[name];
    tests.push((certificate) => certificate[member].some((each) => matches(fold(each))));
  }
  return valid ? { match, matches: (certificate) => tests.every((test) => test(certificate)) } : undefined;
}

/** @returns the valid hashes; problems of the others are reported */
function readHashes(value: unknown, name: (typeof HASHES)[number], path: string, fail: ReportAt): readonly string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (items.length === 0) fail(path, "is an empty list, must have at least one hash");
  const hashes = items.map((item, index) => {
    const at = Array.isArray(value) ? `${path}[${index}]` : path;
    const hash = typeof item === "string" ? HASH_READERS[name](item) : undefined;
    if (hash === undefined) fail(at, `is ${describe(item)}, must be ${EXPECTED_HASHES[name]}`);
    return hash;
  });
  return [...new Set(hashes.filter((hash) => hash !== undefined))].sort();
}

const EXPECTED_HASHES = {
  fingerprint: "the SHA-256 of the certificate: 64 hex digits, or 32 pairs of them joined by colons",
  spki_hash: "the base64 of the SHA-256 of the public key",
};

const HASH_READERS = {
  fingerprint: (text: string): string | undefined =>
    /^([0-9a-f]{64}|([0-9a-f]{2}:){31}[0-9a-f]{2})$/i.test(text) ? text.replaceAll(":", "").toLowerCase() : undefined,
  spki_hash: (text: string): string | undefined => (/^[A-Za-z0-9+/]{43}=$/.test(text) ? text : undefined),
};
