/** Secrets in their three forms. */
import { type SecretName, secretNames } from "../secret-forms.ts";
import { oneOrMany } from "./list.ts";
import { str, checked } from "./scalar.ts";
import * as z from "zod";
import { type ValueCheck, checkReference, checkSealed } from "./checks.ts";
import { type About, type RegistryEntry, registry, rest } from "./registry.ts";

type SecretText<Many> = Many extends true ? z.ZodUnion<readonly [z.ZodString, z.ZodArray<z.ZodString>]> : z.ZodString;

/**
 * A secret in its three forms, of which a document may have one (validated in secret-forms.ts). Spread into a
 * shape: `{ ...secret("client_secret", { … }) }`.
 */
export function secret<const N extends string, const A extends About & { readonly many?: true }>(
  name: N,
  about: A,
): {
  [K in SecretName<N>]: z.ZodExactOptional<SecretText<A extends { many: true } ? true : false>>;
} {
  const one = about.many === true ? oneOrMany : (check: ValueCheck): z.ZodString => checked(str(), check);
  const notEmpty: ValueCheck = (value) => (value === "" ? "is empty, must be a secret" : undefined);
  const many = about.many === true ? { many: true } : {};
  const entry: RegistryEntry = {
    kind: "secret",
    doc: about.doc,
    required: about.required ?? false,
    ...rest(about),
    ...many,
  };
  const whole = one(notEmpty, "text or a list of texts").exactOptional();
  const reference = one(checkReference, "a reference or a list of references").exactOptional();
  const sealed = one(checkSealed, "a sealed text or a list of them").exactOptional();
  registry.set(whole, entry);
  registry.set(reference, { ...entry, partOf: name });
  registry.set(sealed, { ...entry, partOf: name });
  const [asIs, byReference, bySeal] = secretNames(name);
  return { [asIs]: whole, [byReference]: reference, [bySeal]: sealed } as never;
}
