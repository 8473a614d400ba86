/**
 * Annotations in addition to those in the Field tree: how the upstream is reached, and which Secrets contain values.
 *
 * Their existence also follows from the Field tree: an annotation whose setting does not exist is unknown.
 */
import { annotationFields } from "../../../config/surfaces/annotations.ts";
import type { Field } from "../../../settings/field.ts";
import { routeFields } from "../../../config/route.ts";

/** A setting that takes its value from one key of a Secret. */
export interface SecretMember {
  /** Key in the Secret's data. */
  readonly key: string;
  /** Setting in the route. A secret setting is written sealed. */
  readonly path: readonly string[];
  readonly optional?: true;
}

export interface SecretAnnotation {
  readonly name: string;
  /** Fixed keys, or a labeled setting that takes every key of the Secret as a label. */
  readonly members: readonly SecretMember[] | { readonly labels: readonly string[]; readonly value: string };
}

/** Descriptions that other gateways show on their pages. They are ignored here, without a loss. */
export const DESCRIPTIVE_ANNOTATIONS: ReadonlySet<string> = new Set(["description", "logo_url"]);
/** Names from earlier versions of other gateways, for users who only change the prefix. */
export const FORMER_ANNOTATIONS: ReadonlyMap<string, string> = new Map([["lb_policy", "load_balancing_policy"]]);

/** Annotations about how a Service is reached. */
export const UPSTREAM_ANNOTATIONS = ["secure_upstream", "service_proxy_upstream"] as const;
/** ImplementationSpecific paths are regular expressions. */
export const PATH_REGEX = "path_regex";

const OAUTH = ["mcp", "server", "upstream_oauth2"];

const secretAnnotations: readonly SecretAnnotation[] = [
  {
    name: "mcp_server_upstream_oauth2_secret",
    members: [
      { key: "client_id", path: [...OAUTH, "client_id"] },
      { key: "client_secret", path: [...OAUTH, "client_secret"], optional: true },
      { key: "client_key", path: [...OAUTH, "client_key"], optional: true },
    ],
  },
  {
    name: "mcp_server_guardrail_secret",
    members: [{ key: "signing_key", path: ["mcp", "server", "guardrail", "secret"] }],
  },
  // Every key is the name of a header.
  { name: "set_request_headers_secret", members: { labels: ["set_request_headers_secret"], value: "secret" } },
  { name: "tls_custom_ca_secret", members: [{ key: "ca.crt", path: ["tls_custom_ca"] }] },
  {
    name: "tls_client_secret",
    members: [
      { key: "tls.crt", path: ["tls_client_cert"] },
      { key: "tls.key", path: ["tls_client_key"] },
    ],
  },
];

/** The annotations whose settings exist. */
export const knownSecretAnnotations: ReadonlyMap<string, SecretAnnotation> = new Map(
  secretAnnotations
    .filter(({ members }) => ("labels" in members ? [members.labels] : members.map(({ path }) => path)).every(fieldAt))
    .map((each) => [each.name, each]),
);

export const takesRegex = fieldAt(["regex"]) !== undefined;

/** Every annotation, without prefix. */
export const knownAnnotations: readonly string[] = [
  ...new Set([
    ...annotationFields.map(({ name }) => name),
    ...knownSecretAnnotations.keys(),
    ...UPSTREAM_ANNOTATIONS,
    ...(takesRegex ? [PATH_REGEX] : []),
  ]),
].sort();

/** The Field at a path of blocks. */
export function fieldAt(path: readonly string[]): Field | undefined {
  let fields: readonly Field[] = routeFields;
  let found: Field | undefined;
  for (const name of path) {
    found = fields.find((field) => field.name === name);
    if (!found) return undefined;
    fields = found.fields ?? [];
  }
  return found;
}
