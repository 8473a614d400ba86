/** Errors of a bundle, and the location that Terraform shows for one. */
import type { Field } from "../../settings/field.ts";
import { routeFields } from "../../config/route.ts";
import { secretAttributeNames } from "../../settings/secret-forms.ts";
import { type AttributePath, type Diagnostic, pathText } from "../protocol/diagnostics.ts";
import { bundleFields, ROUTE_BLOCK, ROUTES_ATTRIBUTE } from "../schema/schema.ts";

export function bundleProblem(path: AttributePath, detail: string): Diagnostic {
  return { severity: "error", summary: "Invalid gateway bundle", detail, path, pointAt: placeToPointAt(path) };
}

/** Adds a full stop, unless it is a question. */
export function sentence(text: string): string {
  return text.endsWith("?") ? text : `${text}.`;
}

/** The location to show for a problem about the path: Terraform prints its line. */
export function placeToPointAt(path: AttributePath): AttributePath {
  const [first, last, before] = [path[0], path.at(-1), path.at(-2)];
  if (first && "attribute" in first && first.attribute === ROUTES_ATTRIBUTE) return placeInRoutes(path);
  // The line of a secret may contain it in plain text, and this output goes to logs of pipelines.
  if (last && "attribute" in last && secretNames.has(last.attribute)) return placeToPointAt(path.slice(0, -1));
  if (last && "key" in last && before && "attribute" in before && labelledInRoutes.has(before.attribute)) {
    return placeToPointAt(path.slice(0, -2));
  }
  // Terraform cannot show a labeled block, but an attribute in it.
  return last && "key" in last && pathText(path.slice(0, -1)) === ROUTE_BLOCK ? [...path, { attribute: "from" }] : path;
}

/** Terraform finds a route that is written there, but nothing in it; of an expression it prints all lines. */
function placeInRoutes(path: AttributePath): AttributePath {
  return path.some((step) => "attribute" in step && secretNames.has(step.attribute)) ? NOWHERE : path.slice(0, 2);
}

/** The resource as a whole. */
export const NOWHERE: AttributePath = [];

/** Blocks of a route without an attribute that could be shown. */
const labelledInRoutes: ReadonlySet<string> = new Set(
  routeFields.flatMap(({ name, kind }) => (kind === "labelled" ? [name] : [])),
);

const secretNames: ReadonlySet<string> = new Set([...namesOfSecrets(bundleFields), ...namesOfSecrets(routeFields)]);

/** Attributes that contain a secret in plain text. */
function namesOfSecrets(fields: readonly Field[]): string[] {
  return fields.flatMap(({ kind, name, fields: inner = [] }) =>
    kind === "secret" ? [name, secretAttributeNames(name).writeOnly] : namesOfSecrets(inner),
  );
}
