/** A Terraform schema as plain data, and its two forms: protocol messages and the JSON of `terraform providers schema`. */
import type { ValueType } from "../protocol/value.ts";
import type { Message } from "../protocol/wire.ts";

export interface SchemaAttribute {
  readonly name: string;
  readonly type: ValueType;
  /** Markdown. */
  readonly doc: string;
  readonly use: "required" | "optional" | "computed" | "optional-computed";
  readonly sensitive?: boolean;
  readonly writeOnly?: boolean;
}

export interface SchemaNested {
  readonly name: string;
  readonly nesting: "single" | "list" | "map";
  readonly block: SchemaBlock;
}

export interface SchemaBlock {
  /** Version of the resource; 0 when absent. */
  readonly version?: number;
  readonly doc: string;
  readonly attributes: readonly SchemaAttribute[];
  readonly blocks: readonly SchemaNested[];
}

export interface SchemaFunction {
  readonly name: string;
  readonly summary: string;
  readonly doc: string;
  readonly parameters: readonly { readonly name: string; readonly type: ValueType; readonly doc: string }[];
  readonly returns: ValueType;
}

const MARKDOWN = 1;
const NESTING = { single: 1, list: 2, map: 4 } as const;

/**
 * The object type of a block's values: an absent single block is null, absent list and map blocks are empty. Members are
 * sorted, as Terraform writes them, so that a value has the same bytes from both sides.
 */
export function blockType(block: SchemaBlock): ValueType {
  const members: Record<string, ValueType> = {};
  for (const attribute of block.attributes) members[attribute.name] = attribute.type;
  for (const { name, nesting, block: inner } of block.blocks) {
    members[name] = nesting === "single" ? blockType(inner) : [nesting, blockType(inner)];
  }
  return ["object", Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))];
}

export function wireSchema(block: SchemaBlock): Message {
  return { version: block.version ?? 0, block: wireBlock(block) };
}

function wireBlock(block: SchemaBlock): Message {
  return {
    attributes: block.attributes.map((attribute) => ({
      name: attribute.name,
      type: typeBytes(attribute.type),
      description: attribute.doc,
      descriptionKind: MARKDOWN,
      ...(attribute.use === "required" && { required: true }),
      ...(attribute.use.startsWith("optional") && { optional: true }),
      ...(attribute.use.endsWith("computed") && { computed: true }),
      ...(attribute.sensitive && { sensitive: true }),
      ...(attribute.writeOnly && { writeOnly: true }),
    })),
    blocks: block.blocks.map(({ name, nesting, block: inner }) => ({
      name,
      nesting: NESTING[nesting],
      block: wireBlock(inner),
    })),
    description: block.doc,
    descriptionKind: MARKDOWN,
  };
}

export function wireFunction(fn: SchemaFunction): Message {
  return {
    parameters: fn.parameters.map(({ name, type, doc }) => ({
      name,
      type: typeBytes(type),
      description: doc,
      descriptionKind: MARKDOWN,
    })),
    return: { type: typeBytes(fn.returns) },
    summary: fn.summary,
    description: fn.doc,
    descriptionKind: MARKDOWN,
  };
}

/** Exactly the form that `terraform providers schema -json` prints for one block. */
export function jsonSchema(block: SchemaBlock): { readonly version: number; readonly block: object } {
  return { version: block.version ?? 0, block: jsonBlock(block) };
}

function jsonBlock(block: SchemaBlock): Record<string, unknown> {
  const attributes = block.attributes.map((attribute) => [
    attribute.name,
    {
      type: attribute.type,
      description: attribute.doc,
      description_kind: "markdown",
      ...(attribute.use === "required" && { required: true }),
      ...(attribute.use.startsWith("optional") && { optional: true }),
      ...(attribute.use.endsWith("computed") && { computed: true }),
      ...(attribute.sensitive && { sensitive: true }),
      ...(attribute.writeOnly && { write_only: true }),
    },
  ]);
  const blocks = block.blocks.map(({ name, nesting, block: inner }) => [
    name,
    { nesting_mode: nesting, block: jsonBlock(inner) },
  ]);
  return {
    ...(attributes.length > 0 && { attributes: Object.fromEntries(attributes) }),
    ...(blocks.length > 0 && { block_types: Object.fromEntries(blocks) }),
    description: block.doc,
    description_kind: "markdown",
  };
}

export function jsonFunction(fn: SchemaFunction): unknown {
  return {
    description: fn.doc,
    summary: fn.summary,
    return_type: fn.returns,
    ...(fn.parameters.length > 0 && {
      parameters: fn.parameters.map(({ name, type, doc }) => ({ name, description: doc, type })),
    }),
  };
}

function typeBytes(type: ValueType): Buffer {
  return Buffer.from(JSON.stringify(type));
}
