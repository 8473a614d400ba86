/** Settings available as annotations of Kubernetes objects, derived from the Field tree. */
import type { Field } from "../../settings/field.ts";
import { eachField } from "../../settings/shapes.ts";
import { routeFields } from "../route.ts";

/** Annotations are `ingress.gateway.io/<name>`. @see test/requirements.ts, "Header settings (per route)" */
export const ANNOTATION_PREFIX = "ingress.gateway.io/";

export interface AnnotationField {
  /** Without prefix: "mcp_server_path". */
  readonly name: string;
  /** Path of the value in a route: ["mcp", "server", "path"]. */
  readonly path: readonly string[];
  readonly field: Field;
}

/**
 * Every route setting with an annotation, outer before inner. Members of lists have none: a whole list is one YAML
 * text.
 */
export const annotationFields: readonly AnnotationField[] = [...eachField(routeFields)].flatMap(({ path, field }) =>
  field.annotation === undefined ? [] : [{ name: field.annotation, path, field }],
);
