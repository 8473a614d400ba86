/**
 * BackendTLSPolicies → how the gateway verifies Services over TLS, and the status of the policies.
 *
 * Promise: a Service with a policy is never reached without TLS; if its policy cannot be used, its requests fail.
 */
import { append } from "../../../shared/linear/append.ts";
import { certificateProblem } from "../../../features/listener/certificate.ts";
import { byAge, keyOf, namespaceOf, type Service } from "../objects.ts";
import { type BackendTlsPolicy, condition, type Condition, type ConfigMap, type PolicyTarget } from "./objects.ts";

/** Settings of the route. */
export interface BackendTls {
  readonly tls_server_name: string;
  /** PEM; absent: the authorities that Node.js trusts. */
  readonly tls_custom_ca?: string;
}

export type FoundBackendTls =
  | { readonly ok: true; readonly tls: BackendTls }
  | { readonly ok: false; readonly tls?: undefined; readonly message: string };

export interface BackendTlsReading {
  /** @param service "namespace/name" @param port name of its port @returns undefined without a policy */
  find(service: string, port: string | undefined): FoundBackendTls | undefined;
  /** By "namespace/name". */
  readonly conditions: ReadonlyMap<string, readonly Condition[]>;
  /** "namespace/name" of ConfigMaps that policies name. */
  readonly configMaps: readonly string[];
  /** Policy ("namespace/name") → Services that it targets. */
  readonly targets: ReadonlyMap<string, readonly string[]>;
}

export function readBackendTls(
  policies: readonly BackendTlsPolicy[],
  configMaps: readonly ConfigMap[],
  services: ReadonlyMap<string, Service>,
): BackendTlsReading {
  const maps = new Map(configMaps.map((each) => [keyOf(each), each]));
  const byTarget = new Map<string, FoundBackendTls>();
  const conditions = new Map<string, readonly Condition[]>();
  const targets = new Map<string, string[]>();
  const named = new Set<string>();
  for (const policy of policies.toSorted(byAge)) {
    const key = keyOf(policy);
    const reading = readPolicy(policy, maps, named);
    let isTaken = false;
    for (const target of policy.spec?.targetRefs ?? []) {
      if ((target.group ?? "") !== "" || target.kind !== "Service") continue;
      const service = `${namespaceOf(policy)}/${target.name}`;
      append(targets, key, service);
      if (!services.has(service)) continue;
      const id = targetKey(service, target);
      if (byTarget.has(id)) isTaken = true;
      else byTarget.set(id, reading.found);
    }
    conditions.set(
      key,
      isTaken
        ? [condition("Accepted", false, "Conflicted", "an older policy has the same target"), reading.resolved]
        : [reading.accepted, reading.resolved],
    );
  }
  return {
    find: (service, port) =>
      (port === undefined ? undefined : byTarget.get(`${service} ${port}`)) ?? byTarget.get(`${service} `),
    conditions,
    configMaps: [...named],
    targets,
  };
}

function targetKey(service: string, { sectionName = "" }: PolicyTarget): string {
  return `${service} ${sectionName}`;
}

interface PolicyReading {
  readonly found: FoundBackendTls;
  readonly accepted: Condition;
  readonly resolved: Condition;
}

/** @param named gets ConfigMaps that it names */
function readPolicy(policy: BackendTlsPolicy, maps: ReadonlyMap<string, ConfigMap>, named: Set<string>): PolicyReading {
  const { validation = {} } = policy.spec ?? {};
  const { caCertificateRefs: refs = [], hostname = "", wellKnownCACertificates: known } = validation;
  const resolved = condition("ResolvedRefs", true, "ResolvedRefs");
  const fail = (reason: string, message: string, about = resolved): PolicyReading => ({
    found: { ok: false, message: `BackendTLSPolicy ${keyOf(policy)}: ${message}` },
    accepted: condition("Accepted", false, reason, message),
    resolved: about,
  });
  if ((validation.subjectAltNames ?? []).length > 0)
    return fail("Invalid", "subjectAltNames are not served, the certificate must be for hostname");
  if (known !== undefined && known !== "" && known !== "System")
    return fail("Invalid", `wellKnownCACertificates is ${known}, must be System`);
  const texts: string[] = [];
  let problem: Condition | undefined;
  for (const { group = "", kind, name } of refs) {
    const key = `${namespaceOf(policy)}/${name}`;
    if (group !== "" || kind !== "ConfigMap") {
      problem ??= condition("ResolvedRefs", false, "InvalidKind", `refers to ${kind} ${key}, must be a ConfigMap`);
      continue;
    }
    named.add(key);
    const text = maps.get(key)?.data?.["ca.crt"];
    if (text !== undefined && certificateProblem(text) === undefined) texts.push(text.trim());
    else {
      const state = text === undefined ? 'does not exist, or has no "ca.crt"' : 'has no certificates in "ca.crt"';
      problem ??= condition("ResolvedRefs", false, "InvalidCACertificateRef", `ConfigMap ${key} ${state}`);
    }
  }
  if (refs.length > 0 && texts.length === 0)
    return fail("NoValidCACertificate", "no reference has CA certificates", problem ?? resolved);
  const tls = { tls_server_name: hostname, ...(texts.length > 0 && { tls_custom_ca: `${texts.join("\n")}\n` }) };
  return { found: { ok: true, tls }, accepted: condition("Accepted", true, "Accepted"), resolved: problem ?? resolved };
}
