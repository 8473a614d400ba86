/** The actions by type name: what administrators do by command, for runs that must do it with a change. */
import type { ProviderAction } from "../protocol/provider.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import type { SchemaBlock } from "../schema/schema-model.ts";
import { type ActionOf, actionSchema, createAction } from "./action.ts";
import { block } from "./block.ts";
import { revokeUser } from "./revoke-user.ts";
import { rollback } from "./rollback.ts";

const ACTIONS: ReadonlyMap<string, ActionOf> = new Map([
  ["gateway_block", block],
  ["gateway_revoke_user", revokeUser],
  ["gateway_rollback", rollback],
]);

export const actionSchemas: Readonly<Record<string, SchemaBlock>> = Object.fromEntries(
  [...ACTIONS].map(([name, of]) => [name, actionSchema(of)]),
);

export function createActions(connection: AdminConnection): ReadonlyMap<string, ProviderAction> {
  return new Map([...ACTIONS].map(([name, of]) => [name, createAction(of, connection)]));
}
