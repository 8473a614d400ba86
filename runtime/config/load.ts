/**
 * Loads configuration texts of any number of slices into one checked configuration, or reports every problem together.
 *
 * Untrusted input: the texts. Promises: pure and total (it never throws). The same slices in any order give the same
 * configuration, including its digest. A single error leaves `config` absent.
 */
import { type FileRules, fileRules } from "./rules/owners.ts";
import type { BootDoc, SettingsDoc } from "./settings.ts";
import type { UpstreamReach } from "../features/connection/compiled.ts";
import { findOwnerRights } from "../features/process/owners.ts";
import type { Problem } from "../settings/problem.ts";
import { findMembers, type FoundMembers } from "./find-members.ts";
import type { CanonicalRoute, RouteMemory } from "./read-route.ts";
import type { HostCertificateDoc } from "../features/listener/host-certificates.ts";
import type { ReadSlice, SliceSource, SliceValue } from "./read-slice.ts";
import { compare, readSlices, type ReadSlices } from "./read-slices.ts";
import type { RouteDoc } from "./route.ts";
import { canonicalJson, sha256 } from "../shared/canonical-json.ts";

export { formatProblem, type Problem } from "../settings/problem.ts";
export { createRouteMemory, type RouteMemory } from "./read-route.ts";
export type { SliceSource } from "./read-slice.ts";

export interface CheckedRoute {
  /** "<owner>/<name>". */
  readonly key: string;
  readonly owner: string;
  /** The owner, if `owners` of the main configuration file separates owners and the route is from another file. */
  readonly limitedTo?: string | undefined;
  /** Display name. */
  readonly name: string;
  /** Canonical, see canonical.ts. */
  readonly doc: RouteDoc;
  /** Canonical JSON of `doc`: equal text means an unchanged route. */
  readonly text: string;
  /** Networks that its upstreams may be in, by the rights of its owner; absent: any. */
  readonly reach?: UpstreamReach;
}

/** A slice's certificate for one host. */
export interface CheckedCertificate {
  /** "<owner>/<host>". */
  readonly key: string;
  readonly owner: string;
  readonly host: string;
  readonly doc: HostCertificateDoc;
  /** Canonical JSON of `doc`. */
  readonly text: string;
}

export interface CheckedConfig {
  readonly boot: BootDoc;
  /** Without `host_certificates`. */
  readonly settings: SettingsDoc;
  /** By host. */
  readonly certificates: readonly CheckedCertificate[];
  /** Sorted by key. */
  readonly routes: readonly CheckedRoute[];
  /** SHA-256 (hex) of the canonical JSON of settings, routes, and certificates where there are any. */
  readonly digest: string;
  readonly files: FileRules;
}

export interface LoadOutcome {
  /** By file and path. */
  readonly problems: readonly Problem[];
  /** File → owner, for files with a readable outline. */
  readonly owners: ReadonlyMap<string, string>;
  /** Absent if any problem is an error. */
  readonly config?: CheckedConfig;
}

/** @param memory results of earlier loads, not validated again; affects only the duration */
export function loadSlices(sources: readonly SliceSource[], memory?: RouteMemory): LoadOutcome {
  const read = readSlices(sources, memory);
  memory?.forgetOthers();
  const { problems } = read;
  const owners = new Map(read.slices.map(({ source, owner }) => [source.file, owner]));
  if (problems.some(({ severity }) => severity === "error")) return { problems, owners };
  return { problems, owners, config: checkedConfig(read) };
}

/** Only the problems, without building a configuration. Leaves `memory` complete. */
export function findProblems(sources: readonly (SliceSource | SliceValue)[], memory?: RouteMemory): readonly Problem[] {
  return readSlices(sources, memory).problems;
}

/** Builds the configuration of slices without errors. */
export function checkedConfig({ slices, boot, settings }: Omit<ReadSlices, "problems">): CheckedConfig {
  const routes: CheckedRoute[] = [];
  for (const { owner, source, routes: read } of slices) {
    const reach = source.boot ? undefined : upstreamReach(boot, owner);
    const limitedTo = boot.owners && !source.boot ? owner : undefined;
    for (const route of read) {
      const { name, canonical } = route;
      if (!route.doc) continue;
      const { doc, text } = withMembers(canonical(name), findMembers(route, boot, slices));
      const key = `${owner}/${name}`;
      routes.push({ key, owner, limitedTo, name: doc.name ?? name, doc, text, ...(reach && { reach }) });
    }
  }
  routes.sort((a, b) => compare(a.key, b.key));
  // Same text as canonicalJson({ routes: { <key>: doc }, settings }), but without serializing routes twice.
  const members = membersText(routes);
  const certificates = slices.flatMap(certificatesOf).toSorted((a, b) => compare(a.host, b.host));
  const own = certificates.length === 0 ? "" : `"certificates":{${membersText(certificates)}},`;
  const digest = sha256(`{${own}"routes":{${members}},"settings":${canonicalJson(settings)}}`);
  return { boot, settings, certificates, routes, digest, files: fileRules(slices, boot) };
}

/** Adds members by label to those by name, so that comparison and compilation need not know labels. */
function withMembers(route: CanonicalRoute, found: FoundMembers | undefined): CanonicalRoute {
  if (found === undefined) return route;
  const doc = { ...route.doc, mcp: { server: { ...route.doc.mcp?.server, members: found.members } } };
  return { doc, text: canonicalJson(doc) };
}

function certificatesOf({ owner, certificates }: ReadSlice): readonly CheckedCertificate[] {
  return certificates.map(({ host, doc }) => ({
    key: `${owner}/${host}`,
    owner,
    host,
    doc,
    text: canonicalJson(doc),
  }));
}

function membersText(items: readonly { readonly key: string; readonly text: string }[]): string {
  return items.map(({ key, text }) => `${JSON.stringify(key)}:${text}`).join(",");
}

/** Without `owners`, owners are trusted like the operator. */
function upstreamReach({ owners }: BootDoc, owner: string): UpstreamReach | undefined {
  if (!owners) return undefined;
  return findOwnerRights(owners, owner)?.rights.allow_local_upstreams === true ? "machine" : "network";
}
