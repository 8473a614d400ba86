/** Secrets in their three forms. */
import { type SecretName, secretNames } from "../secret-forms.ts";
import { oneOrMany } from "./list.ts";
import { str, checked } from "./scalar.ts";
import * as z from "zod/mini";
import { type ValueCheck, checkReference, checkSealed } from "./checks.ts";
import { type About, type RegistryEntry, registry, rest } from "./registry.ts";

type SecretText<Many> = Many extends true
  ? z.ZodMiniUnion<readonly [z.ZodMiniString, z.ZodMiniArray<z.ZodMiniString>]>
  : z.ZodMiniString;

/**
 * A secret in its three forms, of which a document may have one (validated in secret-forms.ts). Spread into a
 * shape: `{ ...secret("client_secret", { … }) }`.
 */
export function secret<const N extends string, const A extends About & { readonly many?: true }>(
  name: N,
  about: A,
): {
  [K in SecretName<N>]: z.ZodMiniExactOptional<SecretText<A extends { many: true } ? true : false>>;
} {
  const one = about.many === true ? oneOrMany : (check: ValueCheck): z.ZodMiniString => checked(str(), check);
  const notEmpty: ValueCheck = (value) => (value === "" ? "is empty, must be a secret" : undefined);
  const many = about.many === true ? { many: true } : {};
  const entry: RegistryEntry = {
    kind: "secret",
    doc: about.doc,
    required: about.required ?? false,
    ...rest(about),
    ...many,
  };
  const whole = z.exactOptional(one(notEmpty, "text or a list of texts"));
  const reference = z.exactOptional(one(checkReference, "a reference or a list of references"));
  const sealed = z.exactOptional(one(checkSealed, "a sealed text or a list of them"));
  registry.set(whole, entry);
  registry.set(reference, { ...entry, partOf: name });
  registry.set(sealed, { ...entry, partOf: name });
  const [asIs, byReference, bySeal] = secretNames(name);
  return { [asIs]: whole, [byReference]: reference, [bySeal]: sealed } as never;
}
