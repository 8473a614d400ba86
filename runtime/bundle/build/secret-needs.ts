/** Secrets that a configuration needs. Separate from reading them, because the validation thread only lists them. */
import type { FileRules } from "../../config/rules/owners.ts";
import type { SecretUse } from "../../settings/secret-forms.ts";

export interface SecretNeeds {
  /** "env:NAME", "file:/path", "vault:<mount>/<path>#<field>"; unique. */
  readonly refs: readonly string[];
  /** Compact JWE; unique. */
  readonly sealed: readonly string[];
  /** Present if owners have separate rights to files. */
  readonly files?: FileRules;
}

/** References and sealed texts of the uses, without duplicates. */
export function secretNeeds(uses: Iterable<SecretUse>): SecretNeeds {
  const refs = new Set<string>();
  const sealed = new Set<string>();
  for (const { form, values } of uses) {
    if (form === "plain") continue;
    for (const value of values) (form === "ref" ? refs : sealed).add(value);
  }
  return { refs: [...refs], sealed: [...sealed] };
}
