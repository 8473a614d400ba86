/**
 * Configuration text of any number of slices → one checked configuration, or every problem at once.
 *
 * Untrusted input: the texts. Promises: pure and total (it never throws); the same slices in any order give the same
 * configuration, digest included; nothing bad comes through, since a single error leaves `config` out.
 */
import { type FileRules, fileRules } from "./rules/owners.ts";
import type { BootDoc, SettingsDoc } from "./settings.ts";
import type { UpstreamReach } from "../features/connection/compiled.ts";
import { findOwnerRights } from "../features/process/owners.ts";
import type { Problem } from "../settings/problem.ts";
import type { RouteMemory } from "./read-route.ts";
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
  /** The owner, where `owners` of the boot file holds owners apart and this route is not the boot file's. */
  readonly heldTo?: string | undefined;
  /** Display name. */
  readonly name: string;
  /** Canonical, see canonical.ts. */
  readonly doc: RouteDoc;
  /** Canonical JSON of `doc`: equal text means an unchanged route. */
  readonly text: string;
  /** Where its upstreams may be, by the rights of its owner; absent: anywhere. */
  readonly reach?: UpstreamReach;
}

/** A certificate that a slice brings for one host. */
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
  /** By file and place. */
  readonly problems: readonly Problem[];
  /** File → owner, of those whose outline could be read. */
  readonly owners: ReadonlyMap<string, string>;
  /** Absent when any problem is an error. */
  readonly config?: CheckedConfig;
}

/** @param memory of earlier loads: what it has is not validated again. It changes how long this takes, and nothing else */
export function loadSlices(sources: readonly SliceSource[], memory?: RouteMemory): LoadOutcome {
  const read = readSlices(sources, memory);
  memory?.forgetOthers();
  const { problems } = read;
  const owners = new Map(read.slices.map(({ source, owner }) => [source.file, owner]));
  if (problems.some(({ severity }) => severity === "error")) return { problems, owners };
  return { problems, owners, config: checkedConfig(read) };
}

/** The problems alone, for those who need no configuration made. Nothing in `memory` is forgotten. */
export function findProblems(sources: readonly (SliceSource | SliceValue)[], memory?: RouteMemory): readonly Problem[] {
  return readSlices(sources, memory).problems;
}

/** Of slices without errors. */
export function checkedConfig({ slices, boot, settings }: Omit<ReadSlices, "problems">): CheckedConfig {
  const routes: CheckedRoute[] = [];
  for (const { owner, source, routes: read } of slices) {
    const reach = source.boot ? undefined : upstreamReach(boot, owner);
    const heldTo = boot.owners && !source.boot ? owner : undefined;
    for (const { name, doc: written, canonical } of read) {
      if (!written) continue;
      const { doc, text } = canonical(name);
      const key = `${owner}/${name}`;
      routes.push({ key, owner, heldTo, name: doc.name ?? name, doc, text, ...(reach && { reach }) });
    }
  }
  routes.sort((a, b) => compare(a.key, b.key));
  // The same text as canonicalJson({ routes: { <key>: doc }, settings }), without writing every route twice.
  const members = membersText(routes);
  const certificates = slices.flatMap(certificatesOf).toSorted((a, b) => compare(a.host, b.host));
  const own = certificates.length === 0 ? "" : `"certificates":{${membersText(certificates)}},`;
  const digest = sha256(`{${own}"routes":{${members}},"settings":${canonicalJson(settings)}}`);
  return { boot, settings, certificates, routes, digest, files: fileRules(slices, boot) };
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

/** Without `owners` nobody is held apart from the operator. */
function upstreamReach({ owners }: BootDoc, owner: string): UpstreamReach | undefined {
  if (!owners) return undefined;
  return findOwnerRights(owners, owner)?.rights.allow_local_upstreams === true ? "machine" : "network";
}
