/**
 * `host_certificates`: certificates of slices for the public listener, by host.
 *
 * Not global, although among the settings: each concerns one host on which its owner has a route, so permission for the
 * host includes its certificate. Separated from settings when a slice is read, so that a renewal changes nothing else.
 */
import { X509Certificate } from "node:crypto";

import { certificateProblem, coversHost, namesOf } from "./certificate.ts";
import { parseErrorOf } from "../../settings/types/checks.ts";
import { parseDomainPattern } from "../../settings/domains.ts";
import { type DocOf, fieldsOf } from "../../settings/types/registry.ts";
import { document, labelled } from "../../settings/types/block.ts";
import { secret } from "../../settings/types/secret.ts";
import { text } from "../../settings/types/scalar.ts";
import { errorAt, type UnplacedProblem, quote, type ValuePath } from "../../settings/problem.ts";

export const HOST_CERTIFICATES = "host_certificates";

const shape = {
  certificate: text({
    doc: "Certificate chain (PEM), leaf first, without the root. Must match the host and be valid when published.",
    required: true,
    check: certificateProblem,
  }),
  ...secret("certificate_key", {
    doc: "Private key (PEM) without passphrase: RSA up to 4096 bits, P-256, P-384, P-521 or EdDSA.",
    unset: "required, in one of its forms",
  }),
};

const schema = document(shape);
/** One of the certificates as written. */
export type HostCertificateDoc = DocOf<typeof schema>;

/** Members of a certificate. */
export const hostCertificateFields = fieldsOf(shape, "live");

export const hostCertificateShape = {
  [HOST_CERTIFICATES]: labelled(shape, {
    doc: "Certificates of the public listener for hosts of the owner's own routes, by host as in `from`. Requires `certificates` or `acme`.",
    unset: "none",
    checkName: hostNameProblem,
  }),
};

function hostNameProblem(host: string): string | undefined {
  const problem = parseErrorOf(() => parseDomainPattern(host));
  if (problem !== undefined) return problem.replace(/^must/, "is not a host, must");
  const { text: canonical, domain } = parseDomainPattern(host);
  if (/^[0-9.]+$|:/.test(domain)) return "is an address, must be a host name: clients name no addresses";
  return canonical === host ? undefined : `must be written ${quote(canonical)}`;
}

/** Validates certificates alone. */
export function* hostCertificateRules(
  written: Readonly<Record<string, HostCertificateDoc>>,
): Iterable<UnplacedProblem> {
  for (const [host, doc] of Object.entries(written)) {
    if (!["certificate_key", "certificate_key_ref", "certificate_key_sealed"].some((name) => Object.hasOwn(doc, name)))
      yield errorAt(
        [HOST_CERTIFICATES, host],
        'has no key, must have "certificate_key_sealed" or "certificate_key_ref"',
      );
    const state = otherHosts(namesOf(new X509Certificate(doc.certificate)), host);
    if (state !== undefined) yield errorAt([HOST_CERTIFICATES, host, "certificate"], state);
  }
}

/** Problem if a certificate with these names does not cover the host; undefined if it does. */
export function otherHosts(names: readonly string[], host: string): string | undefined {
  if (coversHost(names, host)) return undefined;
  const [first, ...others] = names;
  const whose = first === undefined ? "no host" : others.length === 0 ? first : `${first} and ${others.length} more`;
  return `is for ${whose}, must be for ${host}`;
}

/** As in a slice. */
export interface ReadHostCertificate {
  readonly host: string;
  readonly doc: HostCertificateDoc;
  /** Path in its source. */
  readonly path: ValuePath;
}
