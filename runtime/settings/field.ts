/**
 * The Field tree: one description of every setting, from which all surfaces are made (files, Terraform, constructs,
 * annotations, JSON Schema, reference). kinds.ts registers a Field with each zod schema it makes.
 */
import type { FieldGroup } from "./groups.ts";

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

export interface Field {
  /** snake_case, exactly as the requirements spell it. For a secret the base name; `_ref` and `_sealed` follow from it. */
  readonly name: string;
  readonly kind: Kind;
  /** One or two sentences for users: what it does, unit, range. */
  readonly doc: string;
  readonly required: boolean;
  /** For the documentation: a value, or a sentence beginning with "- " that says what happens without it. */
  readonly default?: string;
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
  /** Members of a block, of each item of a block-list, of each value of a labelled map. */
  readonly fields?: readonly Field[];
}
