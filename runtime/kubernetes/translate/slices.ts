/**
 * The slices of Ingresses: one for each namespace, so that each is an owner like others, with its own permissions, previous
 * valid slice and status.
 */
import { isRecord } from "../../shared/is-record.ts";
import { HOST_CERTIFICATES, type HostCertificateDoc } from "../../features/listener/host-certificates.ts";
import type { RouteDoc } from "../../config/route.ts";
import type { Slice } from "../../config/slice.ts";
import type { IngressDraft } from "./draft.ts";
import { isNamespace } from "./objects.ts";

/** Default prefix of the owners of a controller's slices. */
export const DEFAULT_OWNER = "kubernetes";

/** @param owner of the controller */
export function ownerOf(owner: string, namespace: string): string {
  return `${owner}.${namespace}`;
}

/** The namespace of an owner's slice; undefined for slices that this controller does not publish. */
export function namespaceIn(owner: string, sliceOwner: string): string | undefined {
  const namespace = sliceOwner.startsWith(`${owner}.`) ? sliceOwner.slice(owner.length + 1) : undefined;
  return isNamespace(namespace) ? namespace : undefined;
}

/** Name of a published slice in messages, as in gateways. */
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
 * True if a controller of this owner made the slice: for a namespace, or (in earlier versions) for all of them. Checked by
 * the names of routes, so that another publisher's slice with such an owner is never removed.
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
