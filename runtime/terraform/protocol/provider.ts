/** What the protocol layer asks of a provider; everything here speaks in values and diagnostics, never in messages. */
import type { AttributePath, Diagnostic } from "./diagnostics.ts";
import type { SchemaBlock, SchemaFunction } from "../schema/schema-model.ts";
import type { Value, ValueMap, ValueType } from "./value.ts";

/** What the Terraform that calls us can do. */
export interface TerraformCaller {
  /** Terraform 1.11 and later. */
  readonly writeOnlyAttributes: boolean;
}

export interface Planned {
  /** null plans a destroy. */
  readonly state: ValueMap | null;
  readonly requiresReplace: readonly AttributePath[];
  readonly diagnostics: readonly Diagnostic[];
  /** Default: as it was. */
  readonly kept?: string;
}

export interface StateOutcome {
  /** null says that the object does not exist. */
  readonly state: ValueMap | null;
  readonly diagnostics: readonly Diagnostic[];
  /** Of an import: see `TerraformResource`. */
  readonly kept?: string;
}

/** By what an object is known beside its state: it can be imported by that. Terraform 1.12 and later. */
export interface ResourceIdentity {
  /** Grows when `attributes` change. */
  readonly version: number;
  readonly attributes: readonly IdentityAttribute[];
  /** Undefined when the object is nowhere, or it is not known yet where. */
  of(state: ValueMap): ValueMap | undefined;
  /** @throws GatewayError */
  importState(identity: ValueMap): Promise<StateOutcome>;
}

export interface IdentityAttribute {
  readonly name: string;
  readonly type: ValueType;
  readonly doc: string;
  /** For an import. */
  readonly use: "required" | "optional";
}

/** The state of an object that another resource type, or another provider, has kept until now. */
export interface MovedState {
  /** `registry.terraform.io/hashicorp/random`. */
  readonly provider: string;
  readonly typeName: string;
  /** Of the schema that wrote the state. */
  readonly version: number;
  /** As JSON. */
  readonly state: unknown;
}

/** `kept`: what Terraform keeps for us beside the state of a resource instance, under whatever address; "" when nothing. */
export interface TerraformResource {
  readonly schema: SchemaBlock;
  readonly identity?: ResourceIdentity;
  validate(config: ValueMap, caller: TerraformCaller): Promise<readonly Diagnostic[]> | readonly Diagnostic[];
  /** @param config null when the resource is to be destroyed */
  plan(prior: ValueMap | null, config: ValueMap | null, caller: TerraformCaller, kept: string): Promise<Planned>;
  /** On failure the outcome carries the prior state, so that the state tells the truth. */
  apply(prior: ValueMap | null, planned: ValueMap | null, config: ValueMap | null, kept: string): Promise<StateOutcome>;
  read(state: ValueMap): Promise<StateOutcome>;
  importState(id: string): Promise<StateOutcome>;
  /** What a `moved` block names as the target gets. @throws GatewayError */
  moveState?(moved: MovedState): ValueMap;
  /** A state's JSON as an older schema wrote it → as today's would have. */
  upgradeState?(state: unknown, version: number): unknown;
}

export interface DataSource {
  readonly schema: SchemaBlock;
  validate(config: ValueMap): readonly Diagnostic[];
  /** @returns every attribute of the schema. @throws GatewayError */
  read(config: ValueMap): Promise<ValueMap>;
}

/** Something that is there while Terraform runs, and stored nowhere. Terraform 1.10 and later. */
export interface EphemeralResource {
  readonly schema: SchemaBlock;
  validate(config: ValueMap): readonly Diagnostic[];
  /** @throws GatewayError */
  open(config: ValueMap): Promise<Opened>;
  /** @param handle of `open`. @returns when to renew again. @throws GatewayError */
  renew(handle: string): Promise<Date>;
  /** @returns what of it could not be done */
  close(handle: string): Promise<readonly Diagnostic[]>;
}

export interface Opened {
  /** Every attribute of the schema. */
  readonly result: ValueMap;
  readonly renewAt: Date;
  /** For `renew` and `close`: Terraform keeps it in memory. Holds no secret. */
  readonly handle: string;
}

export interface ProviderFunction {
  readonly schema: SchemaFunction;
  /** Pure. @throws FunctionError */
  call(args: readonly Value[]): Value;
}

/** A refusal that is about one argument of a function call. */
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
  /** Takes the provider block's values, which may be unknown while planning. Terraform keeps them nowhere. */
  configure?(config: ValueMap): void;
  /** By type name. */
  readonly resources: ReadonlyMap<string, TerraformResource>;
  readonly dataSources?: ReadonlyMap<string, DataSource>;
  readonly ephemerals?: ReadonlyMap<string, EphemeralResource>;
  readonly functions: ReadonlyMap<string, ProviderFunction>;
}
