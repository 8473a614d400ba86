/** Interface between protocol layer and provider, in values and diagnostics, never in messages. */
import type { AttributePath, Diagnostic } from "./diagnostics.ts";
import type { SchemaBlock, SchemaFunction } from "../schema/schema-model.ts";
import type { Value, ValueMap, ValueType } from "./value.ts";

/** Features of the Terraform that calls. */
export interface TerraformCaller {
  /** Terraform 1.11 and later. */
  readonly writeOnlyAttributes: boolean;
}

export interface Planned {
  /** null plans a destroy. */
  readonly state: ValueMap | null;
  readonly requiresReplace: readonly AttributePath[];
  readonly diagnostics: readonly Diagnostic[];
  /** Default: unchanged. */
  readonly kept?: string;
}

export interface StateOutcome {
  /** null means that the object does not exist. */
  readonly state: ValueMap | null;
  readonly diagnostics: readonly Diagnostic[];
  /** Only for an import: see `TerraformResource`. */
  readonly kept?: string;
}

/** Identifies an object in addition to its state, for imports. Terraform 1.12 and later. */
export interface ResourceIdentity {
  /** Increases when `attributes` change. */
  readonly version: number;
  readonly attributes: readonly IdentityAttribute[];
  /** Undefined when the object does not exist, or its location is not known yet. */
  of(state: ValueMap): ValueMap | undefined;
  /** @throws GatewayError */
  importState(identity: ValueMap): Promise<StateOutcome>;
}

export interface IdentityAttribute {
  readonly name: string;
  readonly type: ValueType;
  readonly doc: string;
  /** Use in an import. */
  readonly use: "required" | "optional";
}

/** State of an object that another resource type, or another provider, has managed until now. */
export interface MovedState {
  /** `registry.terraform.io/hashicorp/random`. */
  readonly provider: string;
  readonly typeName: string;
  /** Version of the schema that wrote the state. */
  readonly version: number;
  /** As JSON. */
  readonly state: unknown;
}

/** `kept`: data that Terraform stores for us next to the state of a resource instance, under any address; "" for none. */
export interface TerraformResource {
  readonly schema: SchemaBlock;
  readonly identity?: ResourceIdentity;
  validate(config: ValueMap, caller: TerraformCaller): Promise<readonly Diagnostic[]> | readonly Diagnostic[];
  /** @param config null when the resource is to be destroyed */
  plan(prior: ValueMap | null, config: ValueMap | null, caller: TerraformCaller, kept: string): Promise<Planned>;
  /** On failure the outcome contains the prior state, so that the state stays true. */
  apply(prior: ValueMap | null, planned: ValueMap | null, config: ValueMap | null, kept: string): Promise<StateOutcome>;
  read(state: ValueMap): Promise<StateOutcome>;
  importState(id: string): Promise<StateOutcome>;
  /** Converts the state of an object that a `moved` block moves here. @throws GatewayError */
  moveState?(moved: MovedState): ValueMap;
  /** Converts a state's JSON of an older schema to the current one. */
  upgradeState?(state: unknown, version: number): unknown;
}

export interface DataSource {
  readonly schema: SchemaBlock;
  validate(config: ValueMap): readonly Diagnostic[];
  /** @returns every attribute of the schema. @throws GatewayError */
  read(config: ValueMap): Promise<ValueMap>;
}

/** An object that exists while Terraform runs, and is stored nowhere. Terraform 1.10 and later. */
export interface EphemeralResource {
  readonly schema: SchemaBlock;
  validate(config: ValueMap): readonly Diagnostic[];
  /** @throws GatewayError */
  open(config: ValueMap): Promise<Opened>;
  /** @param handle of `open`. @returns time of the next renewal. @throws GatewayError */
  renew(handle: string): Promise<Date>;
  /** @returns diagnostics of the parts that failed */
  close(handle: string): Promise<readonly Diagnostic[]>;
}

export interface Opened {
  /** Every attribute of the schema. */
  readonly result: ValueMap;
  readonly renewAt: Date;
  /** For `renew` and `close`: Terraform keeps it in memory. Contains no secret. */
  readonly handle: string;
}

/** Finds objects of a resource type, for `terraform query`. Terraform 1.14 and later. */
export interface ListResource {
  readonly schema: SchemaBlock;
  validate(config: ValueMap): readonly Diagnostic[];
  /** At most `limit`. @throws GatewayError */
  list(config: ValueMap, asked: { readonly limit: number; readonly withState: boolean }): AsyncIterable<ListedResource>;
}

export interface ListedResource {
  /** For users. */
  readonly name: string;
  readonly identity: ValueMap;
  /** Only if asked for. */
  readonly state?: ValueMap | null;
  readonly diagnostics?: readonly Diagnostic[];
}

/** A change that is made once and has no state. Terraform 1.14 and later. */
export interface ProviderAction {
  readonly schema: SchemaBlock;
  /** @param config may be unknown in parts */
  validate(config: ValueMap): readonly Diagnostic[];
  /** @param config may be unknown in parts @returns target, and effect as sentences, for the plan */
  effect(config: ValueMap): readonly [target: string, effect: string];
  /** Yields what is done so far. @returns warnings @throws GatewayError */
  invoke(config: ValueMap): AsyncGenerator<string, readonly Diagnostic[]>;
}

export interface ProviderFunction {
  readonly schema: SchemaFunction;
  /** Pure. @throws FunctionError */
  call(args: readonly Value[]): Value;
}

/** A problem with one argument of a function call. */
export class FunctionError extends Error {
  readonly argument: number;

  constructor(argument: number, message: string) {
    super(message);
    this.name = "FunctionError";
    this.argument = argument;
  }
}

export interface Provider {
  readonly schema: SchemaBlock;
  /** Takes the provider block's values, which may be unknown while planning. Terraform stores them nowhere. */
  configure?(config: ValueMap): void;
  /** By type name. */
  readonly resources: ReadonlyMap<string, TerraformResource>;
  readonly dataSources?: ReadonlyMap<string, DataSource>;
  readonly ephemerals?: ReadonlyMap<string, EphemeralResource>;
  /** By the type name of the resource, which has an identity. */
  readonly lists?: ReadonlyMap<string, ListResource>;
  readonly actions?: ReadonlyMap<string, ProviderAction>;
  readonly functions: ReadonlyMap<string, ProviderFunction>;
}
