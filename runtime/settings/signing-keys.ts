/** `secret` of a block whose requests are signed according to Standard Webhooks. */
import { errorAt, type UnplacedProblem, type ValuePath } from "./problem.ts";
import { hasSecret, type SecretSource, secretNames, secretValues } from "./secret-forms.ts";
import { decodeBase64 } from "./values.ts";
import { GatewayError } from "../shared/errors.ts";

/** A type, not an interface: it must have an index signature. */
type SignedDoc = { readonly secret?: string | readonly string[] };

const EXPECTED = "must be base64 of 24 to 64 bytes, make one with `openssl rand -base64 32`";

/** @returns raw keys; each signs @param block its name @throws GatewayError `config.secret` */
export function compileSigningKeys(doc: SignedDoc, block: string, secrets: SecretSource): readonly Buffer[] {
  return secretValues(doc, "secret", secrets).map((value) => {
    const key = decodeKey(value);
    if (!key) throw new GatewayError("config.secret", `Cannot use "secret" of "${block}": it ${EXPECTED}`);
    return key;
  });
}

/** @see Standard Webhooks, "Signature scheme": 24 to 64 bytes, base64 with or without "whsec_" */
function decodeKey(value: string): Buffer | undefined {
  const bytes = decodeBase64(value.trim().replace(/^whsec_/, ""));
  return bytes !== undefined && bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
}

/** Only plain-text secrets can be validated here; the others are validated when the configuration is compiled. */
export function* signingKeyProblems(doc: SignedDoc, block: ValuePath): Iterable<UnplacedProblem> {
  if (!hasSecret(doc, "secret")) {
    const [plain, reference, sealed] = secretNames("secret");
    yield errorAt(block, `has no secret, must have "${plain}", "${reference}" or "${sealed}"`);
  }
  const { secret: written = [] } = doc;
  for (const [index, value] of (typeof written === "string" ? [written] : written).entries()) {
    const path = [...block, "secret", ...(typeof written === "string" ? [] : [index])];
    if (!decodeKey(value)) yield errorAt(path, EXPECTED);
  }
}
