/**
 * Values from Secrets → settings. A secret setting is written sealed to the gateway's key, so that the slice, its file and
 * its history contain only ciphertext.
 */
import { quote } from "../../settings/problem.ts";
import { secretNames } from "../../settings/secret-forms.ts";
import { decodeBase64 } from "../../settings/values.ts";
import type { AnnotationReading } from "./annotations/annotations.ts";
import { setAt } from "./annotations/annotations.ts";
import { fieldAt, knownSecretAnnotations, type SecretMember } from "./annotations/known-annotations.ts";
import type { Secret } from "./objects.ts";
import { type DraftProblem, ingressError } from "./ingress-problem.ts";

/** Origin of a value; never the value itself. */
export interface SecretOrigin {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Encrypts to the gateway's key. @throws GatewayError */
export type Seal = (value: string, origin: SecretOrigin) => Promise<string>;

export interface SecretContext {
  readonly namespace: string;
  /** By "namespace/name". */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Absent when no key is known: then no Ingress that needs a Secret can be served. */
  readonly seal: Seal | undefined;
}

/** Fills the settings of an Ingress from the Secrets that its annotations name. */
export async function fillSecrets(
  reading: AnnotationReading,
  context: SecretContext,
): Promise<readonly DraftProblem[]> {
  const problems: DraftProblem[] = [];
  for (const [annotation, name] of reading.secrets) {
    const problem = await fill(annotation, name);
    if (problem !== undefined) problems.push(ingressError({ annotation }, problem));
  }
  return problems;

  /** @returns the problem, if any */
  async function fill(annotation: string, name: string): Promise<string | undefined> {
    const key = `${context.namespace}/${name}`;
    const secret = context.secrets.get(key);
    if (!secret) return `is ${quote(name)}, but there is no Secret ${key}`;
    for (const member of membersOf(annotation, secret)) {
      if (member.key === "__proto__")
        return `is ${quote(name)}, but Secret ${key} has the key "__proto__", which is not a header name`;
      const value = valueOf(secret, member.key);
      if (value === undefined && member.optional) continue;
      if (value === undefined) return `is ${quote(name)}, but Secret ${key} has no key ${quote(member.key)}`;
      if (!value.ok) return `is ${quote(name)}, but ${quote(member.key)} of Secret ${key} ${value.problem}`;
      const path = member.path;
      if (fieldAt(path)?.kind !== "secret" && !member.isSecret) setAt(reading.settings, path, value.text);
      else if (!context.seal)
        return "names a Secret, but the gateway's key is not known, to which its values must be sealed";
      else {
        const sealed = await context.seal(value.text, { namespace: context.namespace, name, key: member.key });
        const [, , spelling] = secretNames(String(path.at(-1)));
        setAt(reading.settings, [...path.slice(0, -1), spelling], sealed);
      }
    }
    return undefined;
  }
}

function membersOf(annotation: string, secret: Secret): readonly (SecretMember & { readonly isSecret?: true })[] {
  const members = knownSecretAnnotations.get(annotation)?.members ?? [];
  if (!("labels" in members)) return members;
  const keys = [...Object.keys(secret.data ?? {}), ...Object.keys(secret.stringData ?? {})];
  return [...new Set(keys)]
    .toSorted()
    .map((key) => ({ key, path: [...members.labels, key, members.value], isSecret: true }));
}

export type SecretValue =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

export function valueOf(secret: Secret, key: string): SecretValue | undefined {
  // Merged like in the API server.
  const [data, stringData] = [secret.data ?? {}, secret.stringData ?? {}];
  if (Object.hasOwn(stringData, key)) return textOf(Buffer.from(String(stringData[key])));
  if (!Object.hasOwn(data, key)) return undefined;
  const written = String(data[key]).replaceAll(/\s/g, "");
  const bytes = written === "" ? Buffer.alloc(0) : decodeBase64(written);
  return bytes ? textOf(bytes) : { ok: false, problem: "is not base64" };
}

function textOf(bytes: Buffer): SecretValue {
  try {
    // `echo` ends its output with an unintended line break.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
    return text === "" ? { ok: false, problem: "is empty" } : { ok: true, text };
  } catch {
    return { ok: false, problem: "is not UTF-8 text" };
  }
}
