/**
 * `acme`: automatic certificates of the public listener. Only in the main configuration file, because every certificate is
 * requested with the operator's account. An owner needs permission for its hosts.
 */
import { HAND_WRITTEN_OWNER, findOwnerRights } from "../process/owners.ts";
import { GatewayError } from "../../shared/errors.ts";
import { errorAt, quote, type UnplacedProblem } from "../../settings/problem.ts";
import { hasSecret, type SecretSource, secretNames, secretValues } from "../../settings/secret-forms.ts";
import { block } from "../../settings/types/block.ts";
import { filePathProblem } from "../../settings/types/checks.ts";
import type { ShapeDoc, WithDefaults } from "../../settings/types/registry.ts";
import { text, url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { parseHttpUrl } from "../../settings/values.ts";

const LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory";

export const acmeShape = {
  acme: block(
    {
      directory: url({
        doc: "Directory URL of the certificate authority, https only. Using it accepts the authority's terms of service.",
        default: LETS_ENCRYPT,
        read: (value) => {
          const read = parseHttpUrl(value);
          return !read.ok || read.value.protocol === "https:"
            ? read
            : { ok: false, problem: "must start with https://" };
        },
      }),
      email: text({
        doc: "Contact of the account, to which the authority can send notices.",
        unset: "none",
        check: (value) =>
          /^[^\s@,?]{1,64}@[^\s@,?]{1,255}$/.test(value) ? undefined : `is ${quote(value)}, must be one email address`,
      }),
      ca_file: text({
        doc: "CA file (PEM) for the directory's own TLS certificate.",
        unset: "system CAs",
        check: filePathProblem,
      }),
      external_account: block(
        {
          key_id: text({
            doc: "Key ID from the certificate authority.",
            required: true,
            check: (value) => (value === "" ? "is empty, must be the key ID" : undefined),
          }),
          ...secret("hmac_key", {
            doc: "MAC key from the certificate authority, base64url.",
            unset: "required, in one of its forms",
          }),
        },
        { doc: "External account binding, for authorities that require it.", unset: "none" },
      ),
    },
    {
      doc: "Requests and renews certificates for the hosts of routes and the sign-in host by ACME (RFC 8555). Requires `shared_secret` and a persistent `storage_url`.",
      unset: "none",
    },
  ),
};

/** `acme`, compiled. */
export interface AcmeSettings {
  readonly directory: string;
  readonly email: string | undefined;
  readonly caFile: string | undefined;
  readonly externalAccount: { readonly keyId: string; readonly hmacKey: string } | undefined;
  /** Whether certificates are requested for the hosts of an owner's routes. */
  readonly isAllowed: (owner: string) => boolean;
}

type AcmeDoc = NonNullable<WithDefaults<typeof acmeShape>["acme"]>;

/** @throws GatewayError `config.secret` */
export function compileAcme(
  { directory, email, ca_file: caFile, external_account: external }: AcmeDoc,
  owners: Readonly<Record<string, { readonly allow_acme?: boolean | undefined }>> | undefined,
  secrets: SecretSource,
): AcmeSettings {
  return {
    directory,
    email,
    caFile,
    externalAccount: external && { keyId: external.key_id, hmacKey: hmacKeyOf(external, secrets) },
    isAllowed: (owner) =>
      owners === undefined ||
      owner === HAND_WRITTEN_OWNER ||
      findOwnerRights(owners, owner)?.rights.allow_acme === true,
  };
}

function hmacKeyOf(external: NonNullable<AcmeDoc["external_account"]>, secrets: SecretSource): string {
  const [key = ""] = secretValues(external, "hmac_key", secrets);
  const problem = hmacKeyProblem(key);
  if (problem !== undefined)
    throw new GatewayError("config.secret", `Cannot use "hmac_key" of "acme.external_account": it ${problem}`);
  return key.trim();
}

function hmacKeyProblem(value: string): string | undefined {
  return /^[A-Za-z0-9_+/-]{8,1024}={0,2}$/.test(value.trim())
    ? undefined
    : "must be base64url as the authority gave it";
}

/** @param settings of the main configuration file; what the seal and the store need is a rule on `acme` */
export function* acmeRules(
  settings: Partial<ShapeDoc<typeof acmeShape>> & Readonly<Record<string, unknown>>,
): Iterable<UnplacedProblem> {
  const { acme } = settings;
  if (!acme) return;
  if (settings["insecure_server"] === true) yield errorAt(["acme"], 'cannot be combined with "insecure_server": true');
  // With a random secret or an empty store, each start would request every certificate again, which authorities limit.
  if (!hasSecret(settings, "shared_secret")) {
    const [plain, reference] = secretNames("shared_secret");
    yield errorAt(["acme"], `requires "${plain}" or "${reference}", with which stored keys are sealed`);
  }
  if (settings["storage_url"] === "memory:")
    yield errorAt(["acme"], 'requires a persistent "storage_url": certificates in "memory:" are lost at each restart');
  const { external_account: external } = acme;
  if (!external) return;
  if (!hasSecret(external, "hmac_key")) {
    const [plain, reference, sealed] = secretNames("hmac_key");
    yield errorAt(["acme", "external_account"], `has no MAC key, must have "${plain}", "${reference}" or "${sealed}"`);
  }
  const problem = external.hmac_key === undefined ? undefined : hmacKeyProblem(external.hmac_key);
  if (problem !== undefined) yield errorAt(["acme", "external_account", "hmac_key"], problem);
}
