/** Rules for settings of the authorization log. */
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { type SecretName, secretNames } from "../../settings/secret-forms.ts";
import { decodeSharedSecret } from "../process/settings.ts";

/** A signing key generated at each start would prove nothing later. */
export function* auditKey(
  settings: Partial<Record<SecretName<"shared_secret">, unknown>> & { readonly audit?: boolean },
): Iterable<UnplacedProblem> {
  if (settings.audit === true && secretNames("shared_secret").every((name) => settings[name] === undefined))
    yield errorAt(["audit"], 'requires "shared_secret", from which the signing key is derived');
}

/** As `sharedSecrets`: only plain text can be validated here. */
export function* recordKey({ authorize_log_key: key }: { authorize_log_key?: string }): Iterable<UnplacedProblem> {
  if (key !== undefined && !decodeSharedSecret(key))
    yield errorAt(
      ["authorize_log_key"],
      "must be base64 of at least 32 bytes, make one with `openssl rand -base64 32`",
    );
}
