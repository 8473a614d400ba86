/** Which secrets a configuration needs. Apart from reading them, because the validating thread only needs this. */
import type { FileRules } from "../../config/rules/owners.ts";
import type { SecretUse } from "../../settings/secret-spellings.ts";

export interface SecretNeeds {
  /** "env:NAME", "file:/path", "vault:<mount>/<path>#<field>"; unique. */
  readonly refs: readonly string[];
  /** Compact JWE; unique. */
  readonly sealed: readonly string[];
  /** Present where owners are told apart. */
  readonly files?: FileRules;
}

/** References and sealed texts among the uses, each once. */
export function secretNeeds(uses: Iterable<SecretUse>): SecretNeeds {
  const refs = new Set<string>();
  const sealed = new Set<string>();
  for (const { form, values } of uses) {
    if (form === "plain") continue;
    for (const value of values) (form === "ref" ? refs : sealed).add(value);
  }
  return { refs: [...refs], sealed: [...sealed] };
}
