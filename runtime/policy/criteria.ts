/**
 * Criteria of the policy language, one entry each: name, data, test, reasons.
 *
 * To add a criterion, add an entry to CRITERIA; parser, evaluation, trace and JSON schema follow from it. A test may
 * throw if it cannot check the facts (an email address with two "@"): evaluation then denies.
 */
import { lowerAscii, upperAscii } from "../shared/ascii.ts";
import { providerNameOf } from "../shared/user-id.ts";
import { claimTexts, emailAddress, emailDomain, isInRanges, parseRanges } from "./subjects.ts";
import { type Criterion, asIs, list, presence, text } from "./criterion.ts";
import { isClaimOmitted } from "./facts.ts";
import { ACTOR_CRITERIA } from "./mcp/actor-criteria.ts";
import { MCP_CRITERIA } from "./mcp/criteria.ts";
import { TRUE, UNKNOWN } from "./packed-outcome.ts";
import { CERTIFICATE_MATCH_SCHEMA, readCertificateMatch } from "./certificate-match.ts";
import { DEVICE_MATCH_SCHEMA, readDeviceMatch } from "./device-match.ts";

export const USER_UNAUTHENTICATED = "user-unauthenticated";
export const DEVICE_UNAUTHENTICATED = "device-unauthenticated";
export const DEVICE_UNAUTHORIZED = "device-unauthorized";
export const CERTIFICATE_REQUIRED = "client-certificate-required";
export const EMAIL_UNKNOWN = "email-unknown";
export const GROUPS_UNKNOWN = "groups-unknown";
export const CLAIM_UNKNOWN = "claim-unknown";
export const PATH_AMBIGUOUS = "http-path-ambiguous";

export const CRITERIA: readonly Criterion[] = [
  {
    ...presence("accept", () => true),
    doc: "Always true, signed in or not.",
    about: "nothing",
    reasons: { ok: "accept", no: "accept", fixed: true },
  },
  {
    ...presence("reject", () => false),
    doc: "Always false.",
    about: "nothing",
    reasons: { ok: "reject", no: "reject", fixed: true },
  },
  {
    ...presence("authenticated_user", (facts) => facts.user !== undefined),
    doc: "Any signed-in user.",
    about: "user",
    reasons: { ok: "authenticated-user", no: "user-unauthorized" },
  },
  {
    ...text("user", asIs, (facts) => facts.user?.id ?? ""),
    doc: "User ID: the claim `sub` for users of `idp_provider_url`, `issuer:<name>/<sub>` for users of `identity_issuers`, `service-account:<name>` for service accounts, `workload:<issuer name>/<sub>` for workloads verified by their platform.",
    about: "user",
    reasons: { ok: "user-ok", no: "user-unauthorized" },
  },
  {
    ...text("idp", asIs, (facts) => providerNameOf(facts.user?.id ?? "")),
    doc: "Identity provider of the user: its name in `identity_issuers`, or `default` for `idp_provider_url`. Empty for service accounts and workloads.",
    about: "user",
    reasons: { ok: "idp-ok", no: "idp-unauthorized" },
  },
  {
    ...text("email", lowerAscii, (facts) => emailAddress(facts.user?.email ?? "")),
    doc: "User's email address, compared in lower case.",
    about: "user",
    reasons: { ok: "email-ok", no: "email-unauthorized" },
    omitted: { reason: EMAIL_UNKNOWN, isMissing: ({ claims }) => claims.includes("email") },
  },
  {
    ...text("domain", lowerAscii, (facts) => emailDomain(facts.user?.email ?? "")),
    doc: "Domain of the user's email address, compared in lower case.",
    about: "user",
    reasons: { ok: "domain-ok", no: "domain-unauthorized" },
    omitted: { reason: EMAIL_UNKNOWN, isMissing: ({ claims }) => claims.includes("email") },
  },
  {
    ...list("groups", (facts) => facts.user?.groups ?? []),
    doc: "User's groups at the identity provider. Unknown if the provider omits them because there are too many.",
    about: "user",
    reasons: { ok: "groups-ok", no: "groups-unauthorized" },
    omitted: { reason: GROUPS_UNKNOWN, isMissing: ({ groups }) => groups },
  },
  {
    ...list("claim", (facts, subPath) => claimTexts(facts.user?.claims ?? {}, subPath), true),
    takesPath: true,
    doc: "Claim of the user, written claim/<path>. A single value is treated as a list of one. Numbers and booleans are compared as text.",
    about: "user",
    reasons: { ok: "claim-ok", no: "claim-unauthorized" },
    // As claimTexts finds them: by the whole path, or by its first segment.
    omitted: {
      reason: CLAIM_UNKNOWN,
      isMissing: (leftOut, path, claims) => isClaimOmitted(leftOut, claims, [path, path.split("/")[0] ?? path]),
    },
  },
  {
    name: "device",
    takesPath: false,
    doc: "Verified device of the browser session: ID (is), approved by an administrator, type (any, enclave_only). One device must match all conditions.",
    about: "device",
    reasons: { ok: "device-ok", no: DEVICE_UNAUTHORIZED },
    schema: DEVICE_MATCH_SCHEMA,
    read(data, _subPath, path, report) {
      const read = readDeviceMatch(data, path, report);
      return read && { canonical: read.match, test: ({ devices = [] }) => devices.some(read.matches) };
    },
    actual: ({ devices = [] }) =>
      JSON.stringify(devices.map(({ id, isApproved, type }) => ({ is: id, approved: isApproved, type }))),
  },
  ...ACTOR_CRITERIA,
  ...MCP_CRITERIA,
  {
    ...text("http_method", upperAscii, (facts) => upperAscii(facts.http.method)),
    doc: "HTTP method.",
    about: "request",
    reasons: { ok: "http-method-ok", no: "http-method-unauthorized" },
  },
  {
    ...text("http_path", asIs, (facts) => facts.http.path),
    doc: "Canonical request path without query, case-sensitive. If path parameters (`/a;x` as `/a`) would change the result, the response is 400.",
    about: "request",
    reasons: { ok: "http-path-ok", no: "http-path-unauthorized" },
  },
  {
    name: "source_ip",
    takesPath: false,
    doc: "Client IP address: an address or CIDR range, or a list of them.",
    about: "request",
    reasons: { ok: "source-ip-ok", no: "source-ip-unauthorized" },
    schema: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1 }] },
    read(data, _subPath, path, report) {
      const ranges = parseRanges(data, path, report);
      return ranges && { canonical: ranges.texts, test: (facts) => isInRanges(facts.http.ip, ranges) };
    },
    actual: (facts) => facts.http.ip,
  },
  {
    ...presence("cors_preflight", (facts) => facts.http.isCorsPreflight === true),
    doc: "CORS preflight request: OPTIONS with Origin and Access-Control-Request-Method.",
    about: "request",
    reasons: { ok: "cors-request", no: "non-cors-request", fixed: true },
  },
  {
    name: "client_certificate",
    takesPath: false,
    doc: "Valid client certificate with this fingerprint, key (spki_hash) or subject alternative names. All conditions must match.",
    about: "certificate",
    reasons: { ok: "client-certificate-ok", no: "client-certificate-unauthorized" },
    // Unknown, not false: "none of these certificates" must not allow a request without any certificate.
    without: { outcome: UNKNOWN, isMissing: (facts) => facts.http.certificate?.isValid !== true },
    schema: CERTIFICATE_MATCH_SCHEMA,
    read(data, _subPath, path, report) {
      const read = readCertificateMatch(data, path, report);
      return (
        read && {
          canonical: read.match,
          test: ({ http: { certificate } }) => certificate !== undefined && read.matches(certificate),
        }
      );
    },
    actual: (facts) => JSON.stringify(facts.http.certificate),
  },
  {
    ...presence("invalid_client_certificate", (facts) => facts.http.certificate?.isValid !== true),
    doc: "No client certificate, one not signed by a CA of `downstream_mtls`, or one with more than 1,000 names.",
    about: "certificate",
    reasons: { ok: "invalid-client-certificate", no: "valid-client-certificate", fixed: true },
    without: { outcome: TRUE, isMissing: (facts) => facts.http.certificate === undefined },
  },
];

const BY_NAME: ReadonlyMap<string, Criterion> = new Map(CRITERIA.map((criterion) => [criterion.name, criterion]));

/** @param key as written: "email", or "claim/<path>" which splits at the first slash */
export function findCriterion(key: string): { criterion: Criterion; subPath: string } | undefined {
  const slash = key.indexOf("/");
  const criterion = BY_NAME.get(slash === -1 ? key : key.slice(0, slash));
  return criterion && { criterion, subPath: slash === -1 ? "" : key.slice(slash + 1) };
}
