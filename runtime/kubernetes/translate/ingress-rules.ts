/** The rules of an Ingress → places (host and path) with their backends. */
import { quote } from "../../settings/problem.ts";
import type { Ingress, IngressBackend, IngressPath } from "./objects.ts";
import { type DraftProblem, ingressWarning, ingressError } from "./ingress-problem.ts";

export interface IngressPlace {
  readonly host: string;
  /** Location of the host, for messages. */
  readonly hostPath: string;
  readonly match:
    | { readonly kind: "exact" | "regex"; readonly path: string }
    /** "" is the whole host. */
    | { readonly kind: "prefix"; readonly path: string };
  readonly matchPath: string;
  readonly backend: IngressBackend | undefined;
  readonly backendPath: string;
}

export interface RulesReading {
  readonly places: readonly IngressPlace[];
  /** Every host that the Ingress names, served or not → its location. */
  readonly hosts: ReadonlyMap<string, string>;
  readonly problems: readonly DraftProblem[];
}

/**
 * `Prefix` matches whole segments and ignores a trailing slash, `Exact` takes the path unchanged, `ImplementationSpecific` is
 * a prefix, or with `path_regex` a regular expression. The default backend takes the rest of the hosts that the Ingress
 * names: other hosts have no route.
 *
 * @see https://kubernetes.io/docs/concepts/services-networking/ingress/#path-types
 */
export function readRules({ spec }: Ingress, { pathRegex }: { readonly pathRegex: boolean }): RulesReading {
  const places: IngressPlace[] = [];
  const problems: DraftProblem[] = [];
  const hosts = new Map<string, string>();

  for (const [ruleIndex, rule] of (spec?.rules ?? []).entries()) {
    const rulePath = `spec.rules[${ruleIndex}]`;
    if (rule.host === undefined || rule.host === "") {
      problems.push(ingressError({ path: `${rulePath}.host` }, "is missing, must be a host: a route belongs to one"));
      continue;
    }
    const host = rule.host;
    if (!hosts.has(host)) hosts.set(host, `${rulePath}.host`);
    if (host.startsWith("*.")) problems.push(ingressWarning({ path: `${rulePath}.host` }, anyDepth(host)));
    for (const [index, path] of (rule.http?.paths ?? []).entries()) {
      const pathPath = `${rulePath}.http.paths[${index}]`;
      const match = readMatch(path, pathPath);
      if (match === undefined) continue;
      places.push({
        host,
        hostPath: `${rulePath}.host`,
        match,
        matchPath: `${pathPath}.path`,
        backend: path.backend,
        backendPath: `${pathPath}.backend`,
      });
    }
  }
  addDefault();
  if (places.length === 0 && problems.length === 0) {
    problems.push(
      ingressError({ path: "spec" }, "has neither rules with paths nor a default backend, so nothing is served"),
    );
  }
  return { places, hosts, problems };

  function readMatch({ path = "/", pathType }: IngressPath, at: string): IngressPlace["match"] | undefined {
    switch (pathType) {
      case "Exact":
        return { kind: "exact", path };
      case "ImplementationSpecific":
        return pathRegex ? { kind: "regex", path } : { kind: "prefix", path: path.replace(/\/$/, "") };
      case "Prefix":
        return { kind: "prefix", path: path.replace(/\/$/, "") };
      default: {
        const state = pathType === undefined ? "is missing" : `is ${quote(pathType)}`;
        problems.push(
          ingressError({ path: `${at}.pathType` }, `${state}, must be "Exact", "Prefix" or "ImplementationSpecific"`),
        );
        return undefined;
      }
    }
  }

  function addDefault(): void {
    if (spec?.defaultBackend === undefined) return;
    for (const [index, { hosts: names = [] }] of (spec.tls ?? []).entries()) {
      for (const [at, host] of names.entries()) {
        if (!hosts.has(host)) hosts.set(host, `spec.tls[${index}].hosts[${at}]`);
      }
    }
    const at = "spec.defaultBackend";
    if (hosts.size === 0 && problems.length === 0) {
      problems.push(ingressError({ path: at }, "needs a host in a rule or in spec.tls, since a route belongs to one"));
    }
    const whole = places.filter(({ match }) => match.kind === "prefix" && match.path === "");
    const taken = new Set(whole.map(({ host }) => host));
    for (const [host, hostPath] of hosts) {
      if (taken.has(host)) continue;
      const match = { kind: "prefix", path: "" } as const;
      places.push({ host, hostPath, match, matchPath: at, backend: spec.defaultBackend, backendPath: at });
    }
  }
}

/** A wildcard matches one label in an Ingress, and any number of them in a route. */
function anyDepth(host: string): string {
  return `is ${quote(host)}, which takes hosts at any depth here, and one label more by the Ingress standard`;
}
