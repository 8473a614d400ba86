/** Secrets and their three spellings: `x`, `x_ref`, `x_sealed`. */
import { GatewayError } from "../errors.ts";
import type { Field } from "./fields.ts";
import type { Finding, ValuePath } from "./problem.ts";

/** Where secrets come from when a snapshot is made. Both throw GatewayError `config.secret`; neither names the value. */
export interface SecretSource {
  /** "env:NAME" or "file:/path" → the secret. */
  resolve(ref: string): string;
  /** Opens a text sealed to this gateway. */
  open(sealed: string): string;
}

export interface SecretUse {
  readonly path: ValuePath;
  readonly name: string;
  readonly form: "plain" | "ref" | "sealed";
  readonly values: readonly string[];
}

/** Every secret written in a value, found by the Field tree. */
export function* secretUses(fields: readonly Field[], value: unknown, path: ValuePath = []): Iterable<SecretUse> {
  if (typeof value !== "object" || value === null) return;
  const record = value as Readonly<Record<string, unknown>>;
  for (const field of fields) {
    if (field.kind === "secret") yield* usesOf(field.name, record, path);
    if (!field.fields || !Object.hasOwn(record, field.name)) continue;
    const member = record[field.name];
    const below = [...path, field.name];
    if (field.kind === "block") yield* secretUses(field.fields, member, below);
    else if (typeof member === "object" && member !== null) {
      for (const [label, each] of Object.entries(member)) {
        yield* secretUses(field.fields, each, [...below, Array.isArray(member) ? Number(label) : label]);
      }
    }
  }
}

/** A secret may be written in one spelling only, and in a published slice not in plain text. */
export function* secretRules(fields: readonly Field[], value: unknown, published: boolean): Iterable<Finding> {
  const first = new Map<string, string>();
  for (const use of secretUses(fields, value)) {
    const spelling = String(use.path.at(-1));
    const place = JSON.stringify([...use.path.slice(0, -1), use.name]);
    const other = first.get(place);
    if (other !== undefined) {
      yield {
        severity: "error",
        path: use.path,
        message: `cannot stand beside "${other}", must be written in one form`,
      };
    }
    first.set(place, other ?? spelling);
    if (published && use.form === "plain") {
      const message = `is plain text in a published slice, should be "${use.name}_ref" or "${use.name}_sealed"`;
      yield { severity: "warning", path: use.path, message };
    }
  }
}

/** Values of one secret of a checked document; [] when it is not set. @throws GatewayError `config.secret` */
export function secretValues(
  record: Readonly<Record<string, unknown>>,
  name: string,
  secrets: SecretSource,
): readonly string[] {
  return [...usesOf(name, record, [])].flatMap(({ form, values }) =>
    values.map((value) => {
      if (form === "plain") return value;
      const secret = form === "ref" ? secrets.resolve(value) : secrets.open(value);
      if (secret === "") throw new GatewayError("config.secret", `Cannot use secret "${name}": it is empty`);
      return secret;
    }),
  );
}

function* usesOf(name: string, record: Readonly<Record<string, unknown>>, path: ValuePath): Iterable<SecretUse> {
  for (const [suffix, form] of SPELLINGS) {
    const spelling = name + suffix;
    if (!Object.hasOwn(record, spelling)) continue;
    const written = record[spelling];
    const values = (Array.isArray(written) ? written : [written]).filter((value) => typeof value === "string");
    yield { path: [...path, spelling], name, form, values };
  }
}

const SPELLINGS = [
  ["", "plain"],
  ["_ref", "ref"],
  ["_sealed", "sealed"],
] as const;
