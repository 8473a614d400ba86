/** Shared functions of the handlers to read and write messages. */
import { GatewayError } from "../../shared/errors.ts";
import { blockType, type SchemaBlock } from "../schema/schema-model.ts";
import { type Diagnostic, wireDiagnostic } from "./diagnostics.ts";
import { decodeValue, parseJson, valueFromJson } from "./value-codec.ts";
import type { Value, ValueMap, ValueType } from "./value.ts";
import type { Message } from "./wire.ts";

/** Reads a value as MessagePack or, from some callers, as JSON; null when it is absent. */
export function readDynamic(
  type: ValueType,
  message: unknown,
  decode: (type: ValueType, msgpack: Uint8Array) => Value,
): Value {
  const { msgpack, json } = (message ?? {}) as { msgpack?: Uint8Array; json?: Uint8Array };
  if (msgpack && msgpack.length > 0) return decode(type, msgpack);
  return json && json.length > 0 ? valueFromJson(type, parseJson(Buffer.from(json).toString())) : null;
}

/** The configuration in a request; {} when it is absent. */
export function readConfig({ schema }: { readonly schema: SchemaBlock }, request: Message): ValueMap {
  return (readDynamic(blockType(schema), request["config"], decodeValue) as ValueMap | null) ?? {};
}

/** The JSON of a stored state or identity; null when it is absent. */
export function readRaw(message: unknown): unknown {
  const { json } = (message ?? {}) as { json?: Uint8Array };
  return json && json.length > 0 ? parseJson(Buffer.from(json).toString()) : null;
}

export function wireDiagnostics(diagnostics: readonly Diagnostic[]): readonly Message[] {
  return diagnostics.map(wireDiagnostic);
}

export function mapEntries<T>(
  entries: ReadonlyMap<string, T>,
  change: (value: T) => Message,
): Readonly<Record<string, Message>> {
  return Object.fromEntries([...entries].map(([name, value]) => [name, change(value)]));
}

/** @throws GatewayError `terraform.type`, when the provider has no type of that name */
export function findType<T>(types: ReadonlyMap<string, T> | undefined, what: string, name: unknown): T {
  const found = types?.get(name as string);
  if (found !== undefined) return found;
  throw new GatewayError(
    "terraform.type",
    `Cannot serve ${what} "${String(name)}": this provider has none of that name`,
  );
}
