/** What the protocol layer asks of a provider; everything here speaks in values and diagnostics, never in messages. */
import type { AttributePath, Diagnostic } from "./diagnostics.ts";
import type { SchemaBlock, SchemaFunction } from "./schema-model.ts";
import type { Value, ValueMap } from "./value.ts";

/** What the Terraform that calls us can do. */
export interface Caller {
  /** Terraform 1.11 and later. */
  readonly writeOnlyAttributes: boolean;
}

export interface Planned {
  /** null plans a destroy. */
  readonly state: ValueMap | null;
  readonly requiresReplace: readonly AttributePath[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface StateOutcome {
  /** null says that the object does not exist. */
  readonly state: ValueMap | null;
  readonly diagnostics: readonly Diagnostic[];
}

export interface Resource {
  readonly schema: SchemaBlock;
  validate(config: ValueMap, caller: Caller): Promise<readonly Diagnostic[]> | readonly Diagnostic[];
  /** @param config null when the resource is to be destroyed */
  plan(prior: ValueMap | null, config: ValueMap | null, caller: Caller): Promise<Planned>;
  /** On failure the outcome carries the prior state, so that the state tells the truth. */
  apply(prior: ValueMap | null, planned: ValueMap | null, config: ValueMap | null): Promise<StateOutcome>;
  read(state: ValueMap): Promise<StateOutcome>;
  importState(id: string): Promise<StateOutcome>;
  /** A state's JSON as an older schema wrote it → as today's would have. */
  upgradeState?(state: unknown, version: number): unknown;
}

export interface DataSource {
  readonly schema: SchemaBlock;
  validate(config: ValueMap): readonly Diagnostic[];
  /** @returns every attribute of the schema. @throws GatewayError */
  read(config: ValueMap): Promise<ValueMap>;
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
  readonly resources: ReadonlyMap<string, Resource>;
  readonly dataSources?: ReadonlyMap<string, DataSource>;
  readonly functions: ReadonlyMap<string, ProviderFunction>;
}
