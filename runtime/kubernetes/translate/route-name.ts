/**
 * Names of routes made from Ingresses and from routes of the Gateway API.
 *
 * A route's key must survive changes next to it (stored tokens depend on it), so its name derives from the route itself:
 * namespace, Ingress, host, path. Never from a position or a number of siblings.
 */
import { sha256 } from "../../shared/canonical-json.ts";

export interface RoutePlace {
  readonly namespace: string;
  readonly ingress: string;
  readonly host: string;
  /** "" is the whole host. */
  readonly path: string;
  readonly kind: "exact" | "prefix" | "regex";
  /** Kind of the object, if it is not an Ingress. */
  readonly variant?: string;
  /** Text of conditions besides the path; "" without. */
  readonly conditions?: string;
}

/** Longest allowed name of a route. */
const MAX_LENGTH = 100;
const DIGEST_LENGTH = 10;

/** "shop.web:app.example.com:api:v2", and "shop.web:app.example.com:login (exact)". */
export function routeName(place: RoutePlace): string {
  const { namespace, ingress, host, path, kind, variant, conditions = "" } = place;
  const segments = path.split("/").filter((segment) => segment !== "");
  // Invalid characters and the separator are replaced, so two paths may give the same name.
  const plain = segments.map((segment) => segment.replaceAll(/[^A-Za-z0-9._-]/g, "-"));
  const marks = [...(kind === "prefix" ? [] : [kind]), ...(variant === undefined ? [] : [variant])].join(" ");
  // Brackets of an IPv6 address are not allowed in names.
  const name =
    [`${namespace}.${ingress}`, host.replaceAll(/[[\]]/g, "-"), ...plain].join(":") +
    (marks === "" ? "" : ` (${marks})`);
  const isFaithful = path === segments.map((segment) => `/${segment}`).join("") && plain.join() === segments.join();
  const endsWell = marks !== "" || /[A-Za-z0-9.]$/.test(name);
  if (conditions === "" && isFaithful && endsWell && name.length <= MAX_LENGTH) return name;
  const rest = variant === undefined ? [] : [variant, conditions];
  const digest = sha256(JSON.stringify([namespace, ingress, host, path, kind, ...rest])).slice(0, DIGEST_LENGTH);
  return `${name.slice(0, MAX_LENGTH - DIGEST_LENGTH - 1)}:${digest}`;
}
