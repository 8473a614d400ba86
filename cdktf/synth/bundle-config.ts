/** A slice as the settings of the L1 `Bundle`, and as the text of `gateway.bundle.json`. */
import { canonicalRoute } from "../../runtime/config/canonical.ts";
import type { Field } from "../../runtime/settings/field.ts";
import { type RouteDoc, routeFields } from "../../runtime/config/route.ts";
import type { Slice } from "../../runtime/config/slice.ts";
import { renderSlice, sliceText } from "../../runtime/terraform/resource/bundle-document.ts";
import { noStandIn } from "../../runtime/terraform/schema/document.ts";
import { nestMembers } from "../../runtime/settings/groups.ts";
import { bundleFields, ROUTE_BLOCK } from "../../runtime/terraform/schema/schema.ts";
import type { ValueMap } from "../../runtime/terraform/protocol/value.ts";
import { type Document, propName } from "./document.ts";
import { escapeAllForTerraform, hasUnresolved, jsonForTerraform } from "./terraform-text.ts";

/** A route in canonical form; values that only Terraform knows stay unchanged. */
export function canonicalDocument(route: RouteDoc, name: string): RouteDoc {
  if (!hasUnresolved(route)) return canonicalRoute(route, name);
  // A token in `from` or in a list of the policy has no value yet that could be compared or sorted.
  return { ...route, ...(route.to !== undefined && { to: typeof route.to === "string" ? [route.to] : route.to }) };
}

/**
 * The slice as the provider publishes it, by the provider's own rendering: same bytes, so the same digest.
 *
 * @param slice without unresolved values
 */
export function bundleText(slice: Slice): string {
  const blocks = Object.entries(slice.routes).map(([name, doc]) => {
    const { policies, route } = withoutPolicies(doc);
    const texts = mapValues(policies, (policy) => JSON.stringify(policy));
    return [name, nestMembers(routeFields, sorted({ ...route, ...texts }) as Document)] as const;
  });
  const values = {
    ...(sorted(slice.settings ?? {}) as Document),
    owner: slice.owner,
    [ROUTE_BLOCK]: sorted(Object.fromEntries(blocks)),
  };
  return sliceText(renderSlice(values as ValueMap, { standIn: noStandIn, problems: [] }));
}

/** Members in the order in which Terraform passes maps to a provider. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}

/** The route blocks of the resource in Terraform's JSON syntax. */
export function routeBlocks(routes: Slice["routes"]): Document {
  return Object.fromEntries(Object.entries(routes).map(([name, route]) => [name, routeBlock(route)]));
}

function routeBlock(doc: RouteDoc): Document {
  const { policies, route } = withoutPolicies(doc);
  const texts = mapValues(policies, jsonForTerraform);
  return nestMembers(routeFields, { ...(escapeAllForTerraform(route) as Document), ...texts });
}

/** Policies are JSON text in Terraform. */
function withoutPolicies({ policy, shadow_policy: shadow, ...route }: RouteDoc) {
  const policies = { ...(policy && { policy }), ...(shadow && { shadow_policy: shadow }) };
  return { policies, route };
}

function mapValues(values: Readonly<Record<string, unknown>>, text: (value: unknown) => string): Document {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, text(value)]));
}

/** Dynamic settings as properties of the L1, which are the settings in camelCase. */
export function settingsConfig(settings: Document): Document {
  return camelCased(bundleFields, escapeAllForTerraform(settings) as Document);
}

function camelCased(fields: readonly Field[], document: Document): Document {
  const nested = new Map(
    fields.filter(({ kind }) => kind === "block").map(({ name, fields: inner }) => [name, inner ?? []]),
  );
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => {
      const inner = nested.get(name);
      return [propName(name), inner ? camelCased(inner, value as Document) : value];
    }),
  );
}
