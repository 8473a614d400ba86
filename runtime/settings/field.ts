/**
 * The Field tree: one description of every setting, from which all surfaces are generated (files, Terraform,
 * constructs, annotations, JSON Schema, reference). types/registry.ts registers a Field with each zod schema it makes.
 */

export type FieldKind =
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
  | "policy"
  | "criteria";

export type Default = string | number | boolean | readonly string[];

export interface Field {
  /**
   * snake_case, exactly as in the requirements. For a secret the base name; `_ref` and `_sealed` are derived from it.
   */
  readonly name: string;
  readonly kind: FieldKind;
  /** One or two sentences for users: what it does, unit, range. */
  readonly doc: string;
  readonly required: boolean;
  /** Value that applies if the setting is omitted. */
  readonly default?: Default;
  /** Without a default: "none", the text after "Default:", or "required …" with the condition. */
  readonly unset?: string;
  /** boot: only in the file passed to `gateway run`; live: also in published slices; route: per route. */
  readonly scope: "boot" | "live" | "route";
  /** Changing this setting replaces the Terraform resource. */
  readonly replaces?: boolean;
  /** Name of the Kubernetes annotation without prefix; absent if there is none. */
  readonly annotation?: string;
  /** A secret that may also be a list of secrets, for rotation. */
  readonly many?: boolean;
  /** Values of a choice. */
  readonly values?: readonly string[];
  /** All valid items of a list of texts, for completion; its own check rejects others. */
  readonly itemValues?: readonly string[];
  /** Terraform block of the setting; documents have it without the block. */
  readonly group?: FieldGroup;
  /** A path; the file is read with the secrets, and with the same permission. */
  readonly readsFile?: true;
  /** Members of a block, of each item of a block-list, or of each value of a labelled map. */
  readonly fields?: readonly Field[];
}

/**
 * Default of a setting: a value in code marks, a text, or the condition under which it is required; undefined: none.
 */
export function fallbackText({ default: fallback, unset }: Field): string | undefined {
  if (fallback !== undefined) return `\`${typeof fallback === "object" ? fallback.join(", ") : String(fallback)}\``;
  return unset === "none" ? undefined : unset;
}

/** The doc with its default, or with the condition under which the setting is required. */
export function describe(field: Field, ...more: readonly string[]): string {
  const fallback = fallbackText(field);
  const last = fallback?.startsWith("required") === true ? fallback.replace("r", "R") : `Default: ${fallback}`;
  return [field.doc, ...more, ...(fallback === undefined ? [] : [`${last}.`])].join(" ");
}

export interface FieldGroup {
  /** Name of the block; unique among the settings of its kind of document. */
  readonly name: string;
  readonly doc: string;
}
