/**
 * The Field tree: one description of every setting, from which all surfaces are made (files, Terraform, constructs,
 * annotations, JSON Schema, reference). types/registry.ts registers a Field with each zod schema it makes.
 */

export type Kind =
  | "text"
  | "flag"
  | "count"
  | "duration"
  | "url"
  | "choice"
  | "domain-pattern-list"
  | "text-list"
  | "url-list"
  | "text-map"
  | "template-map"
  | "text-list-map"
  | "secret"
  | "block"
  | "block-list"
  | "labelled"
  | "policy";

export type Default = string | number | boolean | readonly string[];

export interface Field {
  /** snake_case, exactly as the requirements spell it. For a secret the base name; `_ref` and `_sealed` follow from it. */
  readonly name: string;
  readonly kind: Kind;
  /** One or two sentences for users: what it does, unit, range. */
  readonly doc: string;
  readonly required: boolean;
  /** What a gateway takes when the setting is left out. */
  readonly default?: Default;
  /** Where there is no such value: what is the case without it, as part of a sentence. */
  readonly unset?: string;
  /** boot: only in the file given to `gateway run`; live: also in published slices; route: per route. */
  readonly scope: "boot" | "live" | "route";
  /** The change of this setting replaces the Terraform resource. */
  readonly replaces?: boolean;
  /** Name of the Kubernetes annotation without prefix; absent when there is none. */
  readonly annotation?: string;
  /** A secret that may also be a list of secrets, for rotation. */
  readonly many?: boolean;
  /** Values of a choice. */
  readonly values?: readonly string[];
  /** All that a list of texts may hold, for completion; its own check refuses the rest. */
  readonly itemValues?: readonly string[];
  /** The block in which Terraform has the setting; in documents it stands where it is. */
  readonly group?: FieldGroup;
  /** A path; the file is read with the secrets, and by the same leave. */
  readonly readsFile?: true;
  /** Members of a block, of each item of a block-list, of each value of a labelled map. */
  readonly fields?: readonly Field[];
}

/** What becomes of a setting that is left out, for the reference: a value in code marks, or words; undefined: not said. */
export function fallbackText(field: Field): string | undefined {
  const { default: fallback, unset } = field;
  if (fallback === undefined) return unset;
  return `\`${typeof fallback === "object" ? fallback.join(", ") : String(fallback)}\``;
}

export interface FieldGroup {
  /** Of the block. No setting of the same kind of document has this name. */
  readonly name: string;
  readonly doc: string;
}
