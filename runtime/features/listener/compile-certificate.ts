/** Compiles a slice's certificate for the listener, validated with its key. */
import { errorText, GatewayError } from "../../shared/errors.ts";
import { checkPair, namesOf } from "./certificate.ts";
import type { HostCertificate } from "./compiled.ts";
import type { HostCertificateDoc } from "./host-certificates.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";

/** @throws GatewayError `config.secret`; no message contains anything of the key */
export function compileHostCertificate(
  { host, owner, doc }: { readonly host: string; readonly owner: string; readonly doc: HostCertificateDoc },
  secrets: SecretSource,
): HostCertificate {
  const [key = ""] = secretValues(doc, "certificate_key", secrets);
  const { certificate } = doc;
  try {
    return { host, owner, names: namesOf(checkPair(certificate, key)), certificate, key };
  } catch (cause) {
    const message = `Cannot use the certificate for "${host}": ${errorText(cause)}`;
    throw new GatewayError("config.secret", message, { cause });
  }
}
