/** Settings that Kubernetes objects may carry as annotations, read off the Field tree. */
import type { Field } from "../../settings/field.ts";
import { eachField } from "../../settings/shapes.ts";
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

/** Every route setting with an annotation, outer before inner; in a list there is none, the whole of it is one YAML text. */
export const annotationFields: readonly AnnotationField[] = [...eachField(routeFields)].flatMap(({ path, field }) =>
  field.annotation === undefined ? [] : [{ name: field.annotation, path, field }],
);
