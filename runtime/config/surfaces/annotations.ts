/** Settings that Kubernetes objects may carry as annotations, read off the Field tree. */
import type { Field } from "../../settings/field.ts";
import { routeFields } from "../route.ts";

/** Annotations are `ingress.gateway.io/<name>`. @see test/requirements.ts, "Header settings (per route)" */
export const ANNOTATION_PREFIX = "ingress.gateway.io/";

export interface AnnotationField {
  /** Without prefix: "mcp_server_path". */
  readonly name: string;
  /** Where the value goes in a route: ["mcp", "server", "path"]. */
  readonly path: readonly string[];
  readonly field: Field;
}

/** Every route setting with an annotation, outer before inner. */
export const annotationFields: readonly AnnotationField[] = [...collect(routeFields, [])];

function* collect(fields: readonly Field[], above: readonly string[]): Iterable<AnnotationField> {
  for (const field of fields) {
    const path = [...above, field.name];
    if (field.annotation !== undefined) yield { name: field.annotation, path, field };
    // Items of lists have no annotation of their own: the whole list is one YAML text.
    if (field.kind === "block" && field.fields) yield* collect(field.fields, path);
  }
}
