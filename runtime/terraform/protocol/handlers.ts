/**
 * One handler for each method of the provider service: messages in, calls of the provider, messages out.
 *
 * Terraform is trusted to send well-formed messages, but its values come from users: every value is read by the type of our
 * schema.
 */
import { mapEntries, findType, readDynamic, readRaw, wireDiagnostics } from "./messages.ts";
import type { Provider, TerraformCaller, DataSource, TerraformResource, StateOutcome } from "./provider.ts";
import { wireFunction, blockType, wireSchema } from "../schema/schema-model.ts";
import type { Message } from "./wire.ts";
import { createActionHandlers } from "./action-handlers.ts";
import { createEphemeralHandlers } from "./ephemeral-handlers.ts";
import type { Handler } from "./handler.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { type Diagnostic, wirePath } from "./diagnostics.ts";
import { identityMember, readIdentity, upgradeIdentity, wireIdentitySchema } from "./resource-identity.ts";
import { encodeValue, valueFromJson } from "./value-codec.ts";
import { createValueMemory } from "./value-memory.ts";
import type { Value, ValueMap, ValueType } from "./value.ts";

/** By method name. */
export function createHandlers(provider: Provider): Readonly<Record<string, Handler>> {
  // Cached: every call needs the types, and they never change.
  const types = new Map([...provider.resources].map(([name, { schema }]) => [name, blockType(schema)]));
  const memory = createValueMemory();
  const decode = (type: ValueType, msgpack: Uint8Array) => memory.decode(type, msgpack);
  const readObject = (type: ValueType, message: unknown): ValueMap | null =>
    readDynamic(type, message, decode) as ValueMap | null;
  const writeOutcome = (type: ValueType, field: string, { state, diagnostics }: StateOutcome): Message => ({
    [field]: { msgpack: memory.encode(type, state) },
    diagnostics: wireDiagnostics(diagnostics),
  });

  const find = (request: Message): { resource: TerraformResource; type: ValueType; name: string } => {
    const name = request["typeName"] as string;
    const resource = findType(provider.resources, "resource type", name);
    return { resource, type: findType(types, "resource type", name), name };
  };
  const identities = new Map(
    [...provider.resources].flatMap(([name, { identity }]) => (identity ? [[name, identity]] : [])),
  );

  return {
    ...schemaHandlers(provider),
    GetResourceIdentitySchemas: () => ({ schemas: mapEntries(identities, wireIdentitySchema) }),
    ValidateProviderConfig: () => ({}),
    ConfigureProvider(request) {
      provider.configure?.(readObject(blockType(provider.schema), request["config"]) ?? {});
      return {};
    },
    StopProvider: () => ({}),
    async ValidateResourceConfig(request) {
      const { resource, type } = find(request);
      const config = readObject(type, request["config"]) ?? {};
      return { diagnostics: wireDiagnostics(await resource.validate(config, callerOf(request))) };
    },
    // Called at every refresh, also with an unchanged version: the state comes as JSON and leaves as MessagePack.
    UpgradeResourceState(request) {
      const { resource, type } = find(request);
      const version = (request["version"] as number | undefined) ?? 0;
      const json = readRaw(request["state"]);
      const state = valueFromJson(type, resource.upgradeState?.(json, version) ?? json);
      return { state: { msgpack: memory.encode(type, state) } };
    },
    UpgradeResourceIdentity: (request) =>
      upgradeIdentity(findType(identities, "identity of", request["typeName"]), request["identity"]),
    async ReadResource(request) {
      const { resource, type } = find(request);
      const state = readObject(type, request["state"]);
      const outcome = state ? await resource.read(state) : { state: null, diagnostics: [] };
      const identity = identityMember(resource, outcome.state);
      return { ...writeOutcome(type, "state", outcome), private: request["private"], ...identity };
    },
    async PlanResourceChange(request) {
      const { resource, type } = find(request);
      // A null proposed state means destroy; the configuration may still be there.
      const config = isNull(request["proposed"]) ? null : readObject(type, request["config"]);
      const prior = readObject(type, request["prior"]);
      const planned = await resource.plan(prior, config, callerOf(request), keptText(request["priorPrivate"]));
      return {
        ...writeOutcome(type, "planned", planned),
        requiresReplace: planned.requiresReplace.map(wirePath),
        private: planned.kept === undefined ? request["priorPrivate"] : Buffer.from(planned.kept),
        ...identityMember(resource, planned.state),
      };
    },
    async ApplyResourceChange(request) {
      const { resource, type } = find(request);
      const prior = readObject(type, request["prior"]);
      const [planned, config] = [readObject(type, request["planned"]), readObject(type, request["config"])];
      const outcome = await resource.apply(prior, planned, config, keptText(request["private"])).catch(
        // The state must survive a failure of ours: otherwise Terraform would forget the published slice.
        (error: unknown) => ({ state: prior, diagnostics: [failure(error)] }),
      );
      const identity = identityMember(resource, outcome.state);
      return { ...writeOutcome(type, "state", outcome), private: request["private"], ...identity };
    },
    async ImportResourceState(request) {
      const { resource, type, name } = find(request);
      const identity = resource.identity && readIdentity(resource.identity, request["identity"]);
      const { state, diagnostics, kept } = await (resource.identity && identity
        ? resource.identity.importState(identity)
        : resource.importState(request["id"] as string));
      const imported = state && {
        typeName: name,
        state: { msgpack: encodeValue(type, state) },
        ...(kept !== undefined && { private: Buffer.from(kept) }),
        ...identityMember(resource, state),
      };
      return { imported: imported ? [imported] : [], diagnostics: wireDiagnostics(diagnostics) };
    },
    MoveResourceState(request) {
      const { resource, type, name } = find(request);
      const state = movedState(resource, name, request);
      return {
        state: { msgpack: encodeValue(type, state) },
        private: request["private"],
        ...identityMember(resource, state),
      };
    },
    ...dataSourceHandlers(provider.dataSources, readObject),
    ...functionHandlers(provider, decode),
    ...createEphemeralHandlers(provider),
    ...createActionHandlers(provider),
  };
}

function schemaHandlers(provider: Provider): Readonly<Record<string, Handler>> {
  const capabilities = { planDestroy: true, schemaOptional: true, moveState: true };
  const { dataSources = NONE, ephemerals = NONE, lists = NONE, actions = NONE } = provider;
  return {
    GetMetadata: () => ({
      capabilities,
      dataSources: [...dataSources.keys()].map((name) => ({ name })),
      resources: [...provider.resources.keys()].map((name) => ({ name })),
      functions: [...provider.functions.keys()].map((name) => ({ name })),
      ephemerals: [...ephemerals.keys()].map((name) => ({ name })),
      lists: [...lists.keys()].map((name) => ({ name })),
      actions: [...actions.keys()].map((name) => ({ name })),
    }),
    GetProviderSchema: () => ({
      provider: wireSchema(provider.schema),
      resources: mapEntries(provider.resources, ({ schema }) => wireSchema(schema)),
      dataSources: mapEntries(dataSources, ({ schema }) => wireSchema(schema)),
      ephemerals: mapEntries(ephemerals, ({ schema }) => wireSchema(schema)),
      lists: mapEntries(lists, ({ schema }) => wireSchema(schema)),
      actions: mapEntries(actions, ({ schema }) => ({ schema: wireSchema(schema) })),
      functions: wireFunctions(provider),
      capabilities,
    }),
  };
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

function failure(error: unknown): Diagnostic {
  return { severity: "error", summary: "Cannot apply the bundle", detail: errorText(error) };
}

type Decode = (type: ValueType, msgpack: Uint8Array) => Value;
type ReadObject = (type: ValueType, message: unknown) => ValueMap | null;

function movedState(resource: TerraformResource, name: string, request: Message): ValueMap {
  const [source, typeName] = [request["sourceProvider"] as string, request["sourceType"] as string];
  if (!resource.moveState)
    throw new GatewayError("terraform.move", `Cannot move "${typeName}": nothing becomes a "${name}"`);
  return resource.moveState({
    provider: source,
    typeName,
    version: (request["sourceVersion"] as number | undefined) ?? 0,
    state: readRaw(request["sourceState"]),
  });
}

function dataSourceHandlers(
  dataSources: Provider["dataSources"],
  readObject: ReadObject,
): Readonly<Record<string, Handler>> {
  const findDataSource = (request: Message): { source: DataSource; type: ValueType } => {
    const source = findType(dataSources, "data source", request["typeName"]);
    return { source, type: blockType(source.schema) };
  };
  return {
    ValidateDataResourceConfig(request) {
      const { source, type } = findDataSource(request);
      return { diagnostics: wireDiagnostics(source.validate(readObject(type, request["config"]) ?? {})) };
    },
    async ReadDataSource(request) {
      const { source, type } = findDataSource(request);
      const state = await source.read(readObject(type, request["config"]) ?? {});
      return { state: { msgpack: encodeValue(type, state) } };
    },
  };
}

function functionHandlers(provider: Provider, decode: Decode): Readonly<Record<string, Handler>> {
  return {
    GetFunctions: () => ({ functions: wireFunctions(provider) }),
    CallFunction(request) {
      const name = request["name"] as string;
      const fn = provider.functions.get(name);
      if (!fn)
        throw new GatewayError(
          "terraform.function",
          `Cannot call "${name}": this provider has no function of that name`,
        );
      const values = request["arguments"] as readonly unknown[];
      const args = fn.schema.parameters.map(({ type }, index) => readDynamic(type, values[index], decode));
      return { result: { msgpack: encodeValue(fn.schema.returns, fn.call(args)) } };
    },
  };
}

function wireFunctions({ functions }: Provider): Message {
  return mapEntries(functions, ({ schema }) => wireFunction(schema));
}

function callerOf(request: Message): TerraformCaller {
  const capabilities = request["capabilities"] as { writeOnly?: boolean } | undefined;
  return { writeOnlyAttributes: capabilities?.writeOnly ?? false };
}

function keptText(bytes: unknown): string {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : "";
}

/** Checks for null without decoding: a proposed state is as large as the configuration. */
function isNull(message: unknown): boolean {
  const { msgpack, json } = (message ?? {}) as { msgpack?: Uint8Array; json?: Uint8Array };
  if (msgpack && msgpack.length > 0) return msgpack[0] === MSGPACK_NIL;
  return !json || json.length === 0 || Buffer.from(json).toString().trim() === "null";
}

const MSGPACK_NIL = 0xc0;
