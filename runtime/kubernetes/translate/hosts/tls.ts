/**
 * `spec.tls` of Ingresses → the certificates of their namespaces' slices.
 *
 * Untrusted input: Ingresses and the Secrets that they name, all of one namespace. Promises: a certificate is used only for
 * hosts that its namespace serves, by an Ingress that names it; of two for one host the older Ingress's is used; an unusable
 * one is reported with its location and changes no route; a Secret that becomes invalid keeps its previous certificate. Keys
 * leave sealed. Pure, except for sealing.
 */
import { X509Certificate } from "node:crypto";

import { certificateProblem, checkPair, namesOf, wildcardAbove } from "../../../features/listener/certificate.ts";
import { type HostCertificateDoc, otherHosts } from "../../../features/listener/host-certificates.ts";
import { quote } from "../../../settings/problem.ts";
import { errorText } from "../../../shared/errors.ts";
import { canonicalPattern } from "./host-claims.ts";
import { type Ingress, isObjectName, namespaceOf, type Secret } from "../objects.ts";
import { type DraftProblem, ingressWarning, objectLabel } from "../ingress-problem.ts";
import { type Seal, valueOf } from "../secret-values.ts";
import { bytesOf, type SliceSizes } from "../slice-size.ts";
import { certificateTime } from "../../../features/listener/certificate-end.ts";

/** One entry of `spec.tls` that names a Secret. */
export interface TlsEntry {
  /** "namespace/name" of the Secret: in the Ingress's namespace, or in that of a Gateway to which the route attached. */
  readonly secret: string;
  /** Location in the Ingress. */
  readonly path: string;
  /** Host → its location in the Ingress. */
  readonly hosts: ReadonlyMap<string, string>;
}

/** Certificate and key from a Secret; both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** The parts of an Ingress that concern certificates. */
export interface TlsDraft {
  /** "namespace/name". */
  readonly key: string;
  readonly namespace: string;
  readonly tls: readonly TlsEntry[];
}

export interface TlsContext {
  /** By "namespace/name". */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Hosts of served Ingresses, canonical, by namespace. */
  readonly served: ReadonlyMap<string, ReadonlySet<string>>;
  readonly seal: Seal | undefined;
  /** Secret ("namespace/name") → its last valid certificate. */
  readonly before: ReadonlyMap<string, KeyPair>;
  /** Rejections by the gateway: Ingress → host → reason. */
  readonly refused: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Epoch milliseconds; absent: expiry is not reported. */
  readonly nowMs: number | undefined;
  /** Already includes the routes. */
  readonly sizes: SliceSizes;
}

export interface TlsReading {
  /** Namespace → host → certificate. */
  readonly certificates: ReadonlyMap<string, ReadonlyMap<string, HostCertificateDoc>>;
  /** Host → Ingress that provides its certificate. */
  readonly bringers: ReadonlyMap<string, string>;
  /** By Ingress. */
  readonly problems: ReadonlyMap<string, readonly DraftProblem[]>;
  /** Secret → its certificate, or its last valid one. */
  readonly pairs: ReadonlyMap<string, KeyPair>;
}

/** All hosts of the gateway, if the gateway rejects all certificates of an entry. */
export const EVERY_HOST = "*";

/** Limit of Secret and host pairs in one Ingress or route: each entry can name all hosts of its rules. */
export const MOST_PAIRS = 5_000;

/** @param ruleHosts hosts of the rules, for entries that name none */
export function readTls(ingress: Ingress, ruleHosts: ReadonlyMap<string, string>): readonly TlsEntry[] {
  const byWildcard = Map.groupBy(ruleHosts.keys(), wildcardAbove);
  const entries: TlsEntry[] = [];
  let left = MOST_PAIRS;
  for (const [index, { secretName, hosts = [] }] of (ingress.spec?.tls ?? []).entries()) {
    // Without a Secret the gateway's own certificate is used. An invalid name is ignored: the API server rejects it.
    if (!isObjectName(secretName)) continue;
    const path = `spec.tls[${index}]`;
    const found = new Map<string, string>();
    for (const [host, place] of hosts.length === 0 ? ruleHosts : placesOf(hosts, path)) {
      if (found.size >= left) break;
      // The entry has the names of the certificate: users write its wildcard for several hosts of their rules.
      const below = byWildcard.get(host) ?? [];
      const covered = below.length === 0 || ruleHosts.has(host) ? [host] : below;
      for (const each of covered) if (found.size < left) found.set(each, place);
    }
    left -= found.size;
    entries.push({ secret: `${namespaceOf(ingress)}/${secretName}`, path: `${path}.secretName`, hosts: found });
  }
  return entries;
}

/** Each host once, however often it is named: a wildcard covers all hosts below it. */
function placesOf(hosts: readonly string[], path: string): ReadonlyMap<string, string> {
  return new Map(hosts.map((host, at) => [host, `${path}.hosts[${at}]`]));
}

/** @param drafts in the order of their age */
export async function readCertificates(drafts: readonly TlsDraft[], context: TlsContext): Promise<TlsReading> {
  const certificates = new Map<string, Map<string, HostCertificateDoc>>();
  const problems = new Map<string, DraftProblem[]>();
  const pairs = new Map<string, KeyPair>();
  const readings = new Map<string, SecretReading>();
  const first = new Map<string, { readonly draft: TlsDraft; readonly secret: string; readonly certificate: string }>();

  for (const draft of drafts) {
    for (const entry of draft.tls) {
      const { secret } = entry;
      const reading = readings.get(secret) ?? readSecret(secret, context);
      readings.set(secret, reading);
      const reported = problems.get(draft.key) ?? [];
      problems.set(draft.key, reported);
      const report = (path: string, message: string): void => {
        if (reported.length < MOST_PROBLEMS) reported.push(ingressWarning({ path }, message));
      };
      if (reading.state !== undefined) report(entry.path, `is ${quote(nameIn(secret, draft))}, ${reading.state}`);
      const { pair } = reading;
      if (!pair) continue;
      pairs.set(secret, pair);
      if (!context.seal) {
        report(entry.path, "names a Secret, but the gateway's key is not known, to which its values must be sealed");
        continue;
      }
      const sealed = await context.seal(pair.key, {
        namespace: draft.namespace,
        name: nameIn(secret, draft),
        key: KEY,
      });
      for (const [written, path] of entry.hosts) {
        const host = canonicalPattern(written);
        const state = hostState(host, draft, secret, reading);
        if (state !== undefined) report(path, `is ${quote(written)}, ${state}`);
        else if (!first.has(host)) {
          const bytes = bytesOf([host, pair.certificate, sealed]);
          if (!context.sizes.take({ namespace: draft.namespace, bytes })) {
            report(path, `is ${quote(written)}, ${TOO_MANY}`);
            continue;
          }
          first.set(host, { draft, secret, certificate: pair.certificate });
          const own = certificates.get(draft.namespace) ?? new Map<string, HostCertificateDoc>();
          certificates.set(draft.namespace, own);
          own.set(host, { certificate: pair.certificate, certificate_key_sealed: sealed });
        }
      }
    }
  }
  const bringers = new Map([...first].map(([host, { draft }]) => [host, draft.key]));
  return { certificates, bringers, problems, pairs };

  /** Reason why a host gets no certificate from this Secret; undefined if it does, or has the same one already. */
  function hostState(
    host: string,
    draft: TlsDraft,
    secret: string,
    { pair, names }: SecretReading,
  ): string | undefined {
    const refusals = context.refused.get(draft.key);
    const refusal = refusals?.get(host) ?? refusals?.get(EVERY_HOST);
    if (refusal !== undefined) return `whose certificate the gateway rejects: ${refusal}`;
    if (context.served.get(draft.namespace)?.has(host) !== true) {
      return `which no Ingress of namespace ${draft.namespace} serves, so its certificate is not shown`;
    }
    const state = otherHosts(names, host);
    if (state !== undefined) return `but the certificate of Secret ${secret} ${state}`;
    const other = first.get(host);
    if (!other || other.certificate === pair?.certificate) return undefined;
    const holder =
      other.draft.namespace === draft.namespace ? `Secret ${other.secret}` : `namespace ${other.draft.namespace}`;
    return `which has the certificate of ${holder} already: ${objectLabel(other.draft.key)} is older`;
  }
}

/** The Secret's name, with its namespace if that is another one. */
function nameIn(secret: string, { namespace }: TlsDraft): string {
  return secret.startsWith(`${namespace}/`) ? secret.slice(namespace.length + 1) : secret;
}

/** Only the first problems are reported; the next ones follow once these are fixed. */
const MOST_PROBLEMS = 100;
const TOO_MANY = "whose certificate no longer fits into the configuration of its namespace";
const CERTIFICATE = "tls.crt";
const KEY = "tls.key";

interface SecretReading {
  /** Absent: no usable certificate. */
  readonly pair?: KeyPair;
  /** Names of the certificate. */
  readonly names: readonly string[];
  /** Problem, now or soon. */
  readonly state?: string;
}

function readSecret(name: string, { secrets, before, nowMs }: TlsContext): SecretReading {
  const secret = secrets.get(name);
  // The Secret was deleted on purpose, so its certificate is dropped.
  if (!secret) {
    const state = `but there is no Secret ${name}, or it cannot be read: the gateway's own certificate is used`;
    return { names: [], state };
  }
  const read = pairOf(secret);
  if (read.ok) {
    const warning = nowMs === undefined ? undefined : expiryWarning(read.leaf, nowMs);
    const state = warning === undefined ? {} : { state: `whose certificate ${warning}` };
    return { pair: read.pair, names: namesOf(read.leaf), ...state };
  }
  const previous = before.get(name);
  const shown = previous ? "the earlier certificate stays" : "the gateway's own certificate is used";
  const state = `but in Secret ${name} ${read.state}: ${shown}`;
  return previous
    ? { pair: previous, names: namesOf(new X509Certificate(previous.certificate)), state }
    : { names: [], state };
}

type PairReading =
  | { readonly ok: true; readonly pair: KeyPair; readonly leaf: X509Certificate }
  | { readonly ok: false; readonly state: string };

const known = new WeakMap<Secret, PairReading>();

/**
 * Remembered while the Secret does not change: reading a pair takes half a millisecond, Ingresses name it in each round, and each
 * listener of a Gateway can name it many times.
 */
function pairOf(secret: Secret): PairReading {
  let reading = known.get(secret);
  if (!reading) known.set(secret, (reading = readPair(secret)));
  return reading;
}

/** Reports problems without the Secret's content. */
function readPair(secret: Secret): PairReading {
  const values: string[] = [];
  for (const member of [CERTIFICATE, KEY]) {
    const value = valueOf(secret, member);
    if (value === undefined) return { ok: false, state: `${quote(member)} is missing` };
    if (!value.ok) return { ok: false, state: `${quote(member)} ${value.problem}` };
    values.push(value.text);
  }
  const [certificate = "", key = ""] = values;
  const problem = certificateProblem(certificate);
  if (problem !== undefined) return { ok: false, state: `${quote(CERTIFICATE)} ${problem}` };
  try {
    return { ok: true, pair: { certificate, key }, leaf: checkPair(certificate, key) };
  } catch (error) {
    return { ok: false, state: `${quote(KEY)} cannot be used: ${errorText(error)}` };
  }
}

/** Why a Secret has no usable certificate; undefined if it has. */
export function pairProblem(secret: Secret): string | undefined {
  const read = pairOf(secret);
  return read.ok ? undefined : `cannot be used: ${read.state}`;
}

/** Warns about expiry, in a text that stays the same until the state changes. @returns undefined while all is well */
function expiryWarning(leaf: X509Certificate, nowMs: number): string | undefined {
  const time = certificateTime(leaf, nowMs);
  const at = (text: string): string => new Date(text).toISOString();
  switch (time) {
    case "good":
      return undefined;
    case "ended":
      return `ended ${at(leaf.validTo)}`;
    case "not-yet":
      return `begins ${at(leaf.validFrom)}, which is not yet`;
    case "ending":
      return `ends ${at(leaf.validTo)}, and was not renewed yet`;
    default:
      return time satisfies never;
  }
}
