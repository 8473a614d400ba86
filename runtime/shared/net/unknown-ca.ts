/** Codes of errors about a certificate that no known CA has signed. */
export const UNKNOWN_CA: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** @returns undefined for other errors */
export function unknownCaCode(error: unknown): string | undefined {
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return code !== undefined && UNKNOWN_CA.has(code) ? code : undefined;
}

/** A fix for the operator; Node's own text names one of its command-line options. @returns "" for other errors */
export function caHint(error: unknown): string {
  return unknownCaCode(error) === undefined ? "" : "; name the CA's PEM file in NODE_EXTRA_CA_CERTS";
}
