/**
 * Secrets and the names of their forms on every surface: `x`, `x_ref`, `x_sealed`, in Terraform also `x_wo` and
 * `x_wo_version`.
 */
import { GatewayError } from "../shared/errors.ts";
import type { Field } from "./field.ts";
import type { ValuePath, Report } from "./problem.ts";
import { partsOf } from "./shapes.ts";

/** Suffix of a secret's name by form. */
const ENDINGS = { plain: "", ref: "_ref", sealed: "_sealed" } as const;

export type SecretForm = keyof typeof ENDINGS;

const FORMS: readonly SecretForm[] = ["plain", "ref", "sealed"];

/** Every name under which a document can have the secret `N`. */
export type SecretName<N extends string> = `${N}${(typeof ENDINGS)[SecretForm]}`;

/** The names of a secret in a document: `x`, `x_ref`, `x_sealed`. */
export function secretNames<const N extends string>(
  name: N,
): readonly [plain: N, ref: `${N}_ref`, sealed: `${N}_sealed`] {
  return [name, `${name}${ENDINGS.ref}`, `${name}${ENDINGS.sealed}`];
}

/** Names under which a document can have a setting. */
export function memberNames({ kind, name }: Field): readonly string[] {
  return kind === "secret" ? secretNames(name) : [name];
}

/** The five attributes of a secret in Terraform. One of the two additional ones is write-only and never stored. */
export interface SecretAttributes {
  readonly plain: string;
  readonly reference: string;
  readonly sealed: string;
  readonly writeOnly: string;
  /** Incremented when the write-only value changes. */
  readonly version: string;
}

/** Suffixes of the additional names in Terraform. */
const WRITE_ONLY = "_wo";
const VERSION = "_wo_version";

export function secretAttributeNames(name: string): SecretAttributes {
  const [plain, reference, sealed] = secretNames(name);
  return { plain, reference, sealed, writeOnly: name + WRITE_ONLY, version: name + VERSION };
}

/** Names under which Terraform can have a setting. */
export function attributeNames({ kind, name }: Field): readonly string[] {
  return kind === "secret" ? Object.values(secretAttributeNames(name)) : [name];
}

/** Name of the secret that a Terraform attribute would belong to: "x" for "x_wo_version" and for "x". */
export function secretOfAttribute(name: string): string {
  const ending = [WRITE_ONLY, VERSION].find((each) => name.endsWith(each));
  return ending === undefined ? readSecretName(name).name : name.slice(0, -ending.length);
}

/** Secret and form of a name: "x_ref" is x by reference, "x" is x in plain text. */
export function readSecretName(name: string): { readonly name: string; readonly form: SecretForm } {
  const form = FORMS.findLast((each) => name.endsWith(ENDINGS[each])) ?? "plain";
  return { name: name.slice(0, name.length - ENDINGS[form].length), form };
}

/** Whether a document has the secret, in any form. */
export function hasSecret(members: object, name: string): boolean {
  return secretNames(name).some((each) => Object.hasOwn(members, each));
}

/** Source of secrets for a snapshot. Both methods throw GatewayError `config.secret`; neither error names the value. */
export interface SecretSource {
  /**
   * "env:NAME", "file:/path" or "vault:<mount>/<path>#<field>" → the secret.
   *
   * @param owner author of the reference; absent if only the main configuration file can have it
   */
  resolve(ref: string, owner?: string): string;
  /** Opens a text sealed to this gateway. */
  open(sealed: string): string;
}

export interface SecretUse {
  readonly path: ValuePath;
  readonly name: string;
  readonly form: SecretForm;
  readonly values: readonly string[];
}

/** Every secret in a value, found by the Field tree, and every file that is read with secrets. */
export function secretUses(fields: readonly Field[], value: unknown, path: ValuePath = []): readonly SecretUse[] {
  if (typeof value !== "object" || value === null) return NO_USES;
  const record = value as Readonly<Record<string, unknown>>;
  const members = secretMembers(fields);
  // Few of thousands of routes have secrets: return early for the others.
  if (!Object.keys(record).some((name) => members.has(name))) return NO_USES;
  return [...members.values()].flatMap((member) =>
    Object.hasOwn(record, member.name) ? memberUses(member, record[member.name], path) : NO_USES,
  );
}

const NO_USES: readonly SecretUse[] = [];

function memberUses({ name, form, field }: SecretMember, written: unknown, path: ValuePath): readonly SecretUse[] {
  const here = [...path, name];
  if (form !== undefined) return [{ path: here, name: field.name, form, values: textsOf(written) }];
  if (field.readsFile && typeof written === "string")
    return [{ path: here, name, form: "ref", values: [`file:${written}`] }];
  const { fields } = field;
  if (!fields) return NO_USES;
  return (partsOf(field, written) ?? []).flatMap(([step, part]) =>
    secretUses(fields, part, step === undefined ? here : [...here, step]),
  );
}

interface SecretMember {
  /** As in a document. */
  readonly name: string;
  /** Form, for a secret itself. */
  readonly form?: SecretForm;
  readonly field: Field;
}

const known = new WeakMap<readonly Field[], ReadonlyMap<string, SecretMember>>();

/** By name: members that are secrets, are read like secrets, or contain such members. */
function secretMembers(fields: readonly Field[]): ReadonlyMap<string, SecretMember> {
  let members = known.get(fields);
  if (!members)
    known.set(fields, (members = new Map(fields.flatMap(membersOf).map((member) => [member.name, member]))));
  return members;
}

function membersOf(field: Field): readonly SecretMember[] {
  const { name, kind, readsFile, fields = [] } = field;
  if (kind === "secret") return FORMS.map((form) => ({ name: name + ENDINGS[form], form, field }));
  return readsFile || secretMembers(fields).size > 0 ? [{ name, field }] : [];
}

/**
 * A secret can have only one form. In a published slice it should not be plain text, and must not be sealed for another
 * owner.
 *
 * @param publisher owner of a published slice; undefined for the operator's main configuration file
 */
export function secretRules(
  fields: readonly Field[],
  value: unknown,
  publisher: string | undefined,
  report: Report,
): void {
  const uses = secretUses(fields, value);
  if (uses.length === 0) return;
  const first = new Map<string, string>();
  for (const use of uses) {
    const memberName = String(use.path.at(-1));
    const key = JSON.stringify([...use.path.slice(0, -1), use.name]);
    const other = first.get(key);
    if (other !== undefined) {
      report({
        severity: "error",
        path: use.path,
        message: `cannot be combined with "${other}", must be written in one form`,
      });
    }
    first.set(key, other ?? memberName);
    if (publisher === undefined) continue;
    for (const sealed of use.form === "sealed" ? use.values : []) {
      const owner = sealedFor(sealed);
      if (owner === undefined || owner === publisher) continue;
      const message = `was sealed for owner ${JSON.stringify(owner)}, must be sealed for ${JSON.stringify(publisher)}`;
      report({ severity: "error", path: use.path, message });
    }
    if (use.form === "plain") {
      const [, reference, sealed] = secretNames(use.name);
      const message = `is plain text in a published slice, should be "${reference}" or "${sealed}"`;
      report({ severity: "warning", path: use.path, message });
    }
  }
}

/**
 * The owner whose slices may contain a seal; undefined if the seal names none or is invalid.
 *
 * Read before decryption, but trustworthy: the header of a compact JWE is authenticated by its key, so a seal with
 * another header does not open. @see RFC 7516 §5.1 step 14
 */
export function sealedFor(sealed: string): string | undefined {
  try {
    const header = JSON.parse(Buffer.from(sealed.split(".")[0] ?? "", "base64url").toString()) as unknown;
    const owner = typeof header === "object" && header !== null && "owner" in header ? header.owner : undefined;
    return typeof owner === "string" ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** Values of one secret of a checked document; [] if not set. @throws GatewayError `config.secret` */
export function secretValues(
  record: Readonly<Record<string, unknown>>,
  name: string,
  secrets: SecretSource,
): readonly string[] {
  const values: string[] = [];
  for (const { form, memberName } of formNamesOf(name)) {
    if (!Object.hasOwn(record, memberName)) continue;
    for (const value of textsOf(record[memberName])) {
      if (form === "plain") {
        values.push(value);
        continue;
      }
      const secret = form === "ref" ? secrets.resolve(value) : secrets.open(value);
      if (secret === "") throw new GatewayError("config.secret", `Cannot use secret "${name}": it is empty`);
      values.push(secret);
    }
  }
  return values;
}

interface FormName {
  readonly form: SecretForm;
  readonly memberName: string;
}

/** Cache by name of the secret, of which there are some thirty. */
const formNames = new Map<string, readonly FormName[]>();

function formNamesOf(name: string): readonly FormName[] {
  let known = formNames.get(name);
  if (!known) formNames.set(name, (known = FORMS.map((form) => ({ form, memberName: name + ENDINGS[form] }))));
  return known;
}

function textsOf(written: unknown): readonly string[] {
  return (Array.isArray(written) ? written : [written]).filter((value) => typeof value === "string");
}
