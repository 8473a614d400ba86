/** A certificate that a slice brings → what the listener shows, judged with its key. */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { checkKey } from "./certificate.ts";
import type { HostCertificate } from "./compiled.ts";
import type { HostCertificateDoc } from "./host-certificates.ts";
import { type SecretSource, secretValues } from "../../settings/secret-spellings.ts";

/** @throws GatewayError `config.secret`; no message holds anything of the key */
export function compileHostCertificate(
  { host, owner, doc }: { readonly host: string; readonly owner: string; readonly doc: HostCertificateDoc },
  secrets: SecretSource,
): HostCertificate {
  const [key = ""] = secretValues(doc, "certificate_key", secrets);
  const { certificate } = doc;
  try {
    checkKey(new X509Certificate(certificate), key);
    // What OpenSSL takes no part in (a key too weak, an unknown kind) shows here, not with the first client.
    createSecureContext({ cert: certificate, key });
  } catch (cause) {
    const message = `Cannot use the certificate for "${host}": ${errorText(cause)}`;
    throw new GatewayError("config.secret", message, { cause });
  }
  return { host, owner, certificate, key };
}
