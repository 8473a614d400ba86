/**
 * The slices of Ingresses: one for each namespace, so that each is an owner like others, with rights, a last good slice
 * and a status of its own.
 */
import { isRecord } from "../../shared/is-record.ts";
import { HOST_CERTIFICATES, type HostCertificateDoc } from "../../features/listener/host-certificates.ts";
import type { RouteDoc } from "../../config/route.ts";
import type { Slice } from "../../config/slice.ts";
import type { IngressDraft } from "./draft.ts";
import { isNamespace } from "./objects.ts";

/** What the owners of all slices of a controller begin with, unless told otherwise. */
export const DEFAULT_OWNER = "kubernetes";

/** @param owner of the controller */
export function ownerOf(owner: string, namespace: string): string {
  return `${owner}.${namespace}`;
}

/** The namespace whose slice an owner's is; undefined for those that this controller does not publish. */
export function namespaceIn(owner: string, sliceOwner: string): string | undefined {
  const namespace = sliceOwner.startsWith(`${owner}.`) ? sliceOwner.slice(owner.length + 1) : undefined;
  return isNamespace(namespace) ? namespace : undefined;
}

/** Name of a published slice in messages, as gateways have it. */
export function fileOf(sliceOwner: string): string {
  return `published:${sliceOwner}`;
}

/** Namespace → host → certificate. */
export type NamespaceCertificates = ReadonlyMap<string, ReadonlyMap<string, HostCertificateDoc>>;

/** One slice for each namespace of the drafts, by owner. */
export function slicesOf(
  drafts: readonly IngressDraft[],
  owner: string,
  certificates: NamespaceCertificates = new Map(),
): readonly Slice[] {
  const byNamespace = Map.groupBy(drafts, ({ namespace }) => namespace);
  return [...byNamespace]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([namespace, some]) => {
      const routes = some.flatMap((draft) => draft.routes.map(({ name, doc }) => [name, doc as RouteDoc] as const));
      const own = certificates.get(namespace);
      const settings = own && { settings: { [HOST_CERTIFICATES]: Object.fromEntries(own) } };
      return { version: 1, owner: ownerOf(owner, namespace), ...settings, routes: Object.fromEntries(routes) };
    });
}

/**
 * Whether a controller of this owner made the slice: for a namespace, or (before namespaces were owners) the one slice
 * of all. Names of routes tell, so that somebody else's slice with such an owner is never taken away.
 */
export function isMadeHere(owner: string, sliceOwner: string, document: unknown): boolean {
  const namespace = namespaceIn(owner, sliceOwner);
  if (namespace === undefined && sliceOwner !== owner) return false;
  if (!isRecord(document) || !isRecord(document["routes"])) return false;
  const { settings = {} } = document;
  if (!isRecord(settings) || Object.keys(settings).some((name) => name !== HOST_CERTIFICATES)) return false;
  return Object.keys(document["routes"]).every((name) => {
    const from = /^([a-z0-9-]+)\.[^:]+:./.exec(name)?.[1];
    return from !== undefined && (namespace === undefined || from === namespace);
  });
}
