/**
 * Rights of each owner by the main configuration file.
 *
 * Untrusted input: slices, each written by one team. Promise: everything that reaches beyond an owner's own routes is
 * rejected unless the main configuration file permits it for this owner: global settings, secrets, tokens with which an
 * application acts for its users elsewhere. Without `owners`, only secret references are restricted.
 */
import { normalize } from "node:path/posix";

import { isRecord } from "../../shared/is-record.ts";
import { type BootDoc } from "../settings.ts";
import { coversHosts, parseDomainPattern } from "../../settings/domains.ts";
import { hostCertificateFields } from "../../features/listener/host-certificates.ts";
import { findOwnerRights } from "../../features/process/owners.ts";
import { below, warningAt, errorAt, type UnplacedProblem, quote, type ValuePath } from "../../settings/problem.ts";
import type { ReadSlice } from "../read-slice.ts";
import { routeFields } from "../route.ts";
import { type SecretUse, secretUses } from "../../settings/secret-forms.ts";
import { settingsFields } from "../settings.ts";
import { parseTemplate } from "../../features/headers/template.ts";
import { isLoopbackHost } from "../../settings/values.ts";
import { isVaultReference, withoutVersion } from "../../settings/vault-reference.ts";

type Rights = NonNullable<BootDoc["owners"]>[string];

interface OwnerPermissions {
  readonly owner: string;
  /** Whether `owners` is set. */
  readonly isRestricted: boolean;
  readonly rights: Rights;
  /** The setting of the main configuration file that could permit more, for messages. */
  readonly setting: (name: keyof Rights) => string;
}

/** @param slices all slices, including the main configuration file */
export function* ownerProblems(
  slice: ReadSlice,
  boot: BootDoc,
  slices: readonly ReadSlice[],
): Iterable<UnplacedProblem> {
  const { owner } = slice;
  const found = boot.owners && findOwnerRights(boot.owners, owner);
  if (boot.owners && !found) {
    yield errorAt(["owner"], `is ${quote(owner)}, which is not in "owners" of the main configuration file`);
    return;
  }
  const { entry, rights } = found ?? { entry: owner, rights: {} };
  const permissions: OwnerPermissions = {
    owner,
    isRestricted: found !== undefined,
    rights,
    setting: (name) => `"owners.${entry}.${name}" of the main configuration file`,
  };
  yield* referenceProblems(slice, permissions, slices);
  if (!permissions.isRestricted) return;
  yield* settingProblems(slice, permissions);
  for (const route of slice.routes) {
    const own = [
      ...hostProblems(route, permissions),
      ...upstreamProblems(route, permissions),
      ...tokenProblems(route.valid, permissions),
    ];
    yield* own.map((each) => below(route.path, each));
  }
}

function* settingProblems(
  { settings, settingsPath }: ReadSlice,
  { owner, rights, setting }: OwnerPermissions,
): Iterable<UnplacedProblem> {
  const allowed = new Set(rights.allowed_settings);
  for (const name of Object.keys(settings)) {
    if (allowed.has(name) || allowed.has("*")) continue;
    const expected = `it holds for the routes of all owners, so it must be in ${setting("allowed_settings")}`;
    yield errorAt([...settingsPath, name], `is a setting that owner "${owner}" may not write; ${expected}`);
  }
}

function* hostProblems(
  { from, valid }: ReadSlice["routes"][number],
  { owner, rights }: OwnerPermissions,
): Iterable<UnplacedProblem> {
  const hosts = rights.allowed_from?.map((text) => parseDomainPattern(text));
  if (hosts && from && !coversHosts(hosts, from.hostname)) {
    yield errorAt(["from"], `is ${quote(valid.from)}, which owner "${owner}" may not serve`);
  }
}

/** Host names are validated at connection time (upstreams/reach.ts). */
function* upstreamProblems(
  { upstreams }: ReadSlice["routes"][number],
  { rights, setting }: OwnerPermissions,
): Iterable<UnplacedProblem> {
  if (rights.allow_local_upstreams === true) return;
  for (const { hostname, path } of upstreams) {
    if (!isLoopbackHost(hostname)) continue;
    const expected = `must be allowed by ${setting("allow_local_upstreams")}`;
    const message = `has the host ${quote(hostname)}, the gateway's own machine, to which no connection is made: ${expected}`;
    yield warningAt(path, message);
  }
}

/** User tokens that are valid beyond the route on which an application receives them. */
function* tokenProblems(
  route: ReadSlice["routes"][number]["valid"],
  { owner, rights, setting }: OwnerPermissions,
): Iterable<UnplacedProblem> {
  const allowed = new Set(rights.allowed_tokens);
  const refused = (what: string, name: string): string =>
    `${what}, which owner "${owner}" may not; "${name}" must be in ${setting("allowed_tokens")}`;
  if (route.mcp?.client && !allowed.has("external")) {
    yield errorAt(["mcp", "client"], refused("passes External Tokens of its users to the application", "external"));
  }
  if (route.mcp?.server?.upstream_oauth2?.id_jag && !allowed.has("id_jag")) {
    const what = "exchanges ID tokens of its users for access to its upstream";
    yield errorAt(["mcp", "server", "upstream_oauth2", "id_jag"], refused(what, "id_jag"));
  }
  if (allowed.has("provider")) return;
  for (const [name, value] of Object.entries(route.set_request_headers ?? {})) {
    if (!passesProviderToken(value)) continue;
    const what = "passes the identity provider's tokens of its users to the application";
    yield errorAt(["set_request_headers", name], refused(what, "provider"));
  }
}

function passesProviderToken(value: string): boolean {
  const { needs } = parseTemplate(value);
  return needs.has("access_token") || needs.has("id_token");
}

/**
 * The pod's service account token, at its Kubernetes path and the links to it. `vault` logs in with it and
 * `kubernetes:///` queries with it, without naming it. Permission for a directory above does not include it.
 */
export const POD_TOKEN = /^file:\/(?:var\/)?run\/secrets\/kubernetes\.io\/serviceaccount\/(?:.*\/)?token$/;

function* referenceProblems(
  slice: ReadSlice,
  { rights, setting }: OwnerPermissions,
  slices: readonly ReadSlice[],
): Iterable<UnplacedProblem> {
  const main = slices.filter((each) => each.source.boot);
  const reserved = namesOf(main.flatMap((each) => writtenReferences(each)));
  const ofRoutes = namesOf(main.flatMap((each) => routeReferences(each)));
  const problem = (path: ValuePath, value: string): UnplacedProblem | undefined => {
    // The reference is a name, not a secret, so it may be quoted.
    const name = withoutVersion(value);
    if (reserved.has(name)) return errorAt(path, `is ${quote(value)}, a secret of the main configuration file`);
    const { allowed_refs: patterns = [] } = rights;
    const isOfRoutes = ofRoutes.has(name);
    if (isOfRoutes ? patterns.includes(value) : patterns.some((pattern) => matchesReference(pattern, value)))
      return undefined;
    const inFull = isOfRoutes
      ? "a secret of routes of the main configuration file"
      : POD_TOKEN.test(value)
        ? "the gateway's own token"
        : undefined;
    const how = inFull === undefined ? "must be allowed by" : `${inFull}, must be named in full in`;
    return errorAt(path, `is ${quote(value)}, ${how} ${setting("allowed_refs")}`);
  };
  for (const { form, path, values } of sliceUses(slice)) {
    if (form === "ref") yield* values.flatMap((value) => problem(path, value) ?? []);
  }
}

/** Each costs the server a request every few minutes and delays the others. */
const MAX_VAULT_ENTRIES = 1_000;

/** References to a server that the main configuration file does not locate, or more than one owner's share of it. */
export function* vaultReferenceProblems(slice: ReadSlice, { vault }: BootDoc): Iterable<UnplacedProblem> {
  if (vault) {
    if (!slice.source.boot) yield* vaultShareProblems(slice);
    return;
  }
  const uses = [...secretUses(settingsFields, slice.boot), ...sliceUses(slice)];
  for (const { form, path, values } of uses) {
    for (const value of form === "ref" ? values.filter(isVaultReference) : [])
      yield errorAt(path, `is ${quote(value)}, which requires "vault" in the main configuration file`);
  }
}

function* vaultShareProblems(slice: ReadSlice): Iterable<UnplacedProblem> {
  const entries = new Set<string>();
  for (const { form, path, values } of sliceUses(slice)) {
    for (const value of form === "ref" ? values.filter(isVaultReference) : []) {
      // All fields of an entry are read in one request.
      entries.add(value.replace(/#[^@]*/, "#"));
      if (entries.size <= MAX_VAULT_ENTRIES) continue;
      yield errorAt(path, `is beyond ${MAX_VAULT_ENTRIES} entries of the server in one slice, must be one of fewer`);
      return;
    }
  }
}

function sliceUses(slice: ReadSlice): readonly SecretUse[] {
  return [...settingUses(slice), ...slice.routes.flatMap((route) => secretUses(routeFields, route.valid, route.path))];
}

function settingUses({ settings, certificates, settingsPath }: ReadSlice): readonly SecretUse[] {
  return [
    ...secretUses(settingsFields, settings, settingsPath),
    ...certificates.flatMap(({ doc, path }) => secretUses(hostCertificateFields, doc, path)),
  ];
}

function namesOf(references: readonly string[]): ReadonlySet<string> {
  return new Set(references.map((value) => withoutVersion(plainPath(value))));
}

function writtenReferences(slice: ReadSlice): readonly string[] {
  const uses = [...secretUses(settingsFields, slice.boot), ...settingUses(slice)];
  return [...referencesOf(uses), ...keyFiles([slice.boot, slice.settings])];
}

/**
 * Routes of the main configuration file share no secret with an owner's routes, unless the owner's rights name it in
 * full.
 */
function routeReferences(slice: ReadSlice): readonly string[] {
  return referencesOf(slice.routes.flatMap(({ valid, path }) => secretUses(routeFields, valid, path)));
}

function referencesOf(uses: readonly SecretUse[]): readonly string[] {
  return uses.filter(({ form }) => form === "ref").flatMap(({ values }) => values);
}

/** File rules of the configuration. For the files that references lead to, see bundle/files/secret-files.ts. */
export interface FileRules {
  /** Secrets of the main configuration file itself, as `file:/path`. */
  readonly reserved: readonly string[];
  /** Secrets of its routes, in the same form. */
  readonly ofRoutes: readonly string[];
  /** Reference in settings → owners of the slices with that reference. */
  readonly inSettings: ReadonlyMap<string, readonly string[]>;
  readonly owners: BootDoc["owners"];
}

export function fileRules(slices: readonly ReadSlice[], { owners }: BootDoc): FileRules {
  const main = slices.filter(({ source }) => source.boot);
  const reserved = filesOf(main.flatMap(writtenReferences));
  const ofRoutes = filesOf(main.flatMap(routeReferences));
  const ofSlices = slices.filter(({ source }) => !source.boot);
  const uses = ofSlices.flatMap(({ owner, settings }) =>
    secretUses(settingsFields, settings).flatMap(({ values }) => values.map((value) => ({ owner, value }))),
  );
  const inSettings = new Map(
    [...Map.groupBy(uses, ({ value }) => value)].map(([value, all]) => [value, all.map(({ owner }) => owner)]),
  );
  return { reserved, ofRoutes, inSettings, owners };
}

function filesOf(references: readonly string[]): readonly string[] {
  return [...new Set(references.filter((value) => value.startsWith("file:/")))];
}

/** Private keys of listeners and sinks, which are given only as a path. */
function keyFiles(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(keyFiles);
  return Object.entries(isRecord(value) ? value : {}).flatMap(([name, member]) =>
    name === "certificate_key_file" && typeof member === "string" ? [`file:${member}`] : keyFiles(member),
  );
}

/** Normalizes a path of the main configuration file to the form of references. */
function plainPath(reference: string): string {
  return reference.startsWith("file:/") ? `file:${normalize(reference.slice("file:".length))}` : reference;
}

function matchesReference(pattern: string, reference: string): boolean {
  if (!pattern.endsWith("*")) return reference === pattern;
  return reference.startsWith(pattern.slice(0, -1)) && !POD_TOKEN.test(reference);
}
