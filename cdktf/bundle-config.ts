/** A slice as the settings of the L1 `Bundle`, and as the text of `gateway.bundle.json`. */
import { canonicalRoute } from "../runtime/config/canonical.ts";
import type { Field } from "../runtime/config/fields.ts";
import type { RouteDoc } from "../runtime/config/route.ts";
import { canonicalJson, type Slice } from "../runtime/config/slice.ts";
import { bundleFields } from "../runtime/terraform/schema.ts";
import { type Document, propName } from "./document.ts";
import { escapeAllForTerraform, hasUnresolved, jsonForTerraform } from "./terraform-text.ts";

/** A route in its one spelling; values only Terraform knows are left as they are. */
export function canonicalDocument(route: RouteDoc, name: string): RouteDoc {
  if (!hasUnresolved(route)) return canonicalRoute(route, name);
  // A token in `from` or in a list of the policy has no spelling yet that could be compared or sorted.
  return { ...route, to: typeof route.to === "string" ? [route.to] : route.to };
}

/** The bundle as the provider would publish it: same bytes, so the same digest. */
export function bundleText(slice: Slice): string {
  return canonicalJson(slice);
}

/** The route blocks of the resource in Terraform's JSON syntax. */
export function routeBlocks(routes: Slice["routes"]): Document {
  return Object.fromEntries(Object.entries(routes).map(([name, route]) => [name, routeBlock(route)]));
}

function routeBlock({ policy, ...route }: RouteDoc): Document {
  const block = escapeAllForTerraform(route) as Document;
  return policy === undefined ? block : { ...block, policy: jsonForTerraform(policy) };
}

/** Live settings as properties of the L1, which are the settings in camelCase. */
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
