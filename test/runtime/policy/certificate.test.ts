import { describe, expect, test } from "vitest";

import { readCertificateMatch } from "../../../runtime/policy/certificate-match.ts";
import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import type { CertificateFacts, Facts } from "../../../runtime/policy/facts.ts";
import { canonicalPolicy, parsePolicy, type PolicyDoc } from "../../../runtime/policy/parse.ts";
import { alice, plainHttp } from "../../support/facts.ts";

const valid: CertificateFacts = {
  isValid: true,
  fingerprint: "ab".repeat(32),
  spkiHash: `${"A".repeat(43)}=`,
  sanEmail: ["Alice@example.com"],
  sanDns: ["laptop.example.com", "old.example.com"],
  sanUri: ["spiffe://example.com/alice"],
};
const LONG = Array.from({ length: 32 }, () => "AB").join(":");

function showing(certificate: CertificateFacts | undefined): Facts {
  return { user: alice, http: certificate ? { ...plainHttp, certificate } : plainHttp };
}

function decide(policy: PolicyDoc, certificate: CertificateFacts | undefined) {
  return evaluate(compilePolicy(policy), showing(certificate));
}

describe("client_certificate", () => {
  test.each<readonly [string, unknown, boolean]>([
    ["the fingerprint in its short form", { fingerprint: valid.fingerprint }, true],
    ["the fingerprint in its long form", { fingerprint: LONG }, true],
    ["one of several fingerprints", { fingerprint: ["00".repeat(32), LONG] }, true],
    ["another fingerprint", { fingerprint: "00".repeat(32) }, false],
    ["the key", { spki_hash: valid.spkiHash }, true],
    ["another key", { spki_hash: `${"B".repeat(43)}=` }, false],
    ["the right key of another certificate", { spki_hash: valid.spkiHash, fingerprint: "00".repeat(32) }, false],
    ["one of its DNS names", { san_dns: { ends_with: ".EXAMPLE.com" } }, true],
    ["a DNS name it lacks", { san_dns: "phone.example.com" }, false],
    ["its e-mail address in another case", { san_email: "alice@EXAMPLE.com" }, true],
    ["its URI", { san_uri: { starts_with: "spiffe://example.com/" } }, true],
    ["its URI in another case", { san_uri: "SPIFFE://example.com/alice" }, false],
  ])("matches by %s: %s", (_, data, expected) => {
    const decision = decide({ allow: { and: [{ client_certificate: data }] } }, valid);

    expect(decision.allowed).toBe(expected);
    expect(expected ? decision.allowWhyTrue : decision.allowWhyFalse).toEqual([
      expected ? "client-certificate-ok" : "client-certificate-unauthorized",
    ]);
  });

  test.each(["no certificate", "a certificate that nobody vouches for"])("never lets in %s, in any place", (kind) => {
    const certificate = kind === "no certificate" ? undefined : { ...valid, isValid: false };
    const criterion = { client_certificate: { fingerprint: valid.fingerprint } };

    for (const operator of ["and", "or", "not", "nor"]) {
      const allowing = decide({ allow: { [operator]: [criterion] } }, certificate);
      expect(allowing.allowed, operator).toBe(false);
      expect(allowing.allowWhyFalse).toEqual(["client-certificate-required"]);
      const denying = decide(
        { allow: { and: [{ authenticated_user: true }] }, deny: { [operator]: [criterion] } },
        certificate,
      );
      expect(denying.allowed, `deny ${operator}`).toBe(false);
    }
  });

  test.each<readonly [unknown, string]>([
    ["ab", "must be an object with fingerprint, spki_hash"],
    [{}, "is empty, must have at least one of"],
    [{ fingerprints: "x" }, 'did you mean "fingerprint"?'],
    [{ fingerprint: "ab" }, "must be the SHA-256 of the certificate"],
    [{ fingerprint: [] }, "is an empty list"],
    [{ spki_hash: valid.fingerprint }, "must be the base64 of the SHA-256"],
    [{ san_dns: { not: "a" } }, 'put the criterion under "not" instead'],
    [{ san_dns: 7 }, "must be text or an object"],
  ])("refuses %j", (data, message) => {
    const parsed = parsePolicy({ allow: { and: [{ client_certificate: data }] } });

    expect(parsed.ok ? [] : parsed.problems.map((problem) => `${problem.path}: ${problem.message}`)).toEqual([
      expect.stringMatching(/^allow\.and\[0\]\.client_certificate/),
    ]);
    expect(JSON.stringify(parsed)).toContain(message.replaceAll('"', '\\"'));
    // Not in part either: nothing of it is compiled.
    expect(readCertificateMatch(data, "", () => {})).toBeUndefined();
  });

  test("has one canonical form: short fingerprints, sorted", () => {
    const written = {
      allow: { and: [{ client_certificate: { fingerprint: [LONG, "00".repeat(32)], san_dns: "a" } }] },
    };

    expect(canonicalPolicy(written)).toEqual([
      {
        allow: {
          and: [{ client_certificate: { fingerprint: ["00".repeat(32), valid.fingerprint], san_dns: { is: "a" } } }],
        },
      },
    ]);
  });
});

describe("invalid_client_certificate", () => {
  const policy: PolicyDoc = {
    allow: { and: [{ authenticated_user: true }] },
    deny: { or: [{ invalid_client_certificate: true }] },
  };

  test.each<readonly [string, CertificateFacts | undefined, boolean, string]>([
    ["no certificate", undefined, false, "client-certificate-required"],
    ["an invalid one", { ...valid, isValid: false }, false, "invalid-client-certificate"],
    ["a valid one", valid, true, "valid-client-certificate"],
  ])("under deny, with %s", (_, certificate, allowed, reason) => {
    const decision = decide(policy, certificate);

    expect(decision.allowed).toBe(allowed);
    expect(allowed ? decision.denyWhyFalse : decision.denyWhyTrue).toEqual([reason]);
  });
});
