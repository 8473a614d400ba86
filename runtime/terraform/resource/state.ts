/** Upgrades states of older schemas as JSON, before they are read by the current type. */
import { nestMembers } from "../../settings/groups.ts";
import { routeFields } from "../../config/route.ts";
import type { SchemaBlock } from "../schema/schema-model.ts";
import { bundleSchema, ROUTE_BLOCK } from "../schema/schema.ts";
import { isRecord } from "../../shared/is-record.ts";

/** @param version of the schema that wrote the state */
export function upgradeBundleState(state: unknown, version: number): unknown {
  return withEmptyBlocks(bundleSchema, version === 0 ? nested(state) : state);
}

/** Version 0 had all settings of a route flat. */
function nested(state: unknown): unknown {
  if (!isRecord(state) || !isRecord(state[ROUTE_BLOCK])) return state;
  const routes = Object.entries(state[ROUTE_BLOCK]).map(([label, route]) => [
    label,
    isRecord(route) ? nestMembers(routeFields, route) : route,
  ]);
  return { ...state, [ROUTE_BLOCK]: Object.fromEntries(routes) };
}

/** Adds repeated blocks that the schema did not have yet: without any, Terraform has an empty list or map, not null. */
function withEmptyBlocks(block: SchemaBlock, value: unknown): unknown {
  if (!isRecord(value) || block.blocks.length === 0) return value;
  const whole: Record<string, unknown> = { ...value };
  for (const { name, nesting, block: inner } of block.blocks) {
    const member = value[name] ?? null;
    if (nesting === "single") whole[name] = withEmptyBlocks(inner, member);
    else if (nesting === "list")
      whole[name] = Array.isArray(member) ? member.map((item) => withEmptyBlocks(inner, item)) : [];
    else {
      const items = Object.entries(isRecord(member) ? member : {});
      whole[name] = Object.fromEntries(items.map(([label, item]) => [label, withEmptyBlocks(inner, item)]));
    }
  }
  return whole;
}
