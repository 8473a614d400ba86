/** Looks up a client by id: a client registered with this issuer, or a client ID metadata document. */
import type { Snapshot } from "../../../config/snapshot.ts";
import { matchesDomain } from "../../../settings/domains.ts";
import { randomSecret } from "../../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import type { Store } from "../../../store/store.ts";
import { isClientIdUrl, parseClientIdUrl } from "./client-document.ts";
import type { ClientDocuments } from "./client-documents.ts";
import { hashMetadata } from "./client-metadata.ts";
import type { Issuer } from "../find-issuer.ts";
import { CLIENT_UNUSED_SECONDS, clientKey, type ClientMetadata, type ClientRecord } from "../grant-records.ts";

export interface Client {
  readonly id: string;
  readonly metadata: ClientMetadata;
  readonly metadataHash: string;
  /** The client has no credentials: any caller may claim its id (RFC 6749 §2.1). */
  readonly isPublic: boolean;
  readonly secretHash: string | undefined;
  /** Host of the client's document, which verifies its metadata. Undefined for registrations, whose names are unverified. */
  readonly documentHost: string | undefined;
  /** Epoch seconds of the registration's last use; see `keepClient`. */
  readonly usedAt: number | undefined;
  /** Created by an administrator: never expires. */
  readonly preRegistered: boolean;
  /** Service account whose tokens the client may get. */
  readonly accountId: string | undefined;
}

export type ClientRefusal =
  /** Never registered here, or the registration has expired. */
  | { readonly reason: "unknown" }
  | { readonly reason: "malformed-url"; readonly detail: string }
  | { readonly reason: "domain-not-allowed"; readonly host: string }
  /** The host is allowed, but this gateway cannot read documents. */
  | { readonly reason: "documents-off" }
  | { readonly reason: "document-refused"; readonly description: string; readonly detail: string | undefined }
  /** Its host is unavailable, or our request limit is exhausted. */
  | { readonly reason: "document-unavailable"; readonly detail: string | undefined };

export type ClientLookup = { readonly ok: true; readonly client: Client } | ({ readonly ok: false } & ClientRefusal);

export interface ClientDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Absent: URL ids are off. */
  readonly documents: ClientDocuments | undefined;
}

/** Format of our ids: `gwc_` and 22 characters. Other ids are never looked up. */
const OWN_ID = /^gwc_[A-Za-z0-9_-]{22}$/;

export function newClientId(): string {
  return `gwc_${randomSecret(16)}`;
}

/** The prefix lets secret scanners find leaked secrets. */
export function newClientSecret(): string {
  return `gws_${randomSecret()}`;
}

/** @param peer address of the caller, whose budget is charged for a document */
export async function findClient(
  deps: ClientDeps,
  issuer: Issuer,
  snapshot: Snapshot,
  clientId: string,
  peer: string,
): Promise<ClientLookup> {
  return isClientIdUrl(clientId)
    ? findByDocument(deps, snapshot, clientId, peer)
    : findRegistered(deps, issuer, clientId);
}

async function findRegistered(deps: ClientDeps, issuer: Issuer, clientId: string): Promise<ClientLookup> {
  if (!OWN_ID.test(clientId)) return { ok: false, reason: "unknown" };
  const record = await deps.store.get<ClientRecord>(clientKey(clientId));
  // A registration belongs to its issuer (MCP 2026-07-28: credentials are bound to the issuer).
  if (!record || record.value.issuer !== issuer.origin) return { ok: false, reason: "unknown" };
  const { metadata, secretHash } = record.value;
  return {
    ok: true,
    client: {
      id: clientId,
      metadata,
      metadataHash: hashMetadata(metadata),
      isPublic: metadata.token_endpoint_auth_method === "none",
      secretHash,
      documentHost: undefined,
      usedAt: record.value.usedAt,
      preRegistered: record.value.preRegistered === true,
      accountId: record.value.accountId,
    },
  };
}

async function findByDocument(
  deps: ClientDeps,
  snapshot: Snapshot,
  clientId: string,
  peer: string,
): Promise<ClientLookup> {
  const url = parseClientIdUrl(clientId);
  if (!url.ok) return { ok: false, reason: "malformed-url", detail: url.reason };
  const { mcpAllowedClientIdDomains: documentDomains, mcpAllowedPrivateRedirectUris: allowedPrivateUris } =
    snapshot.settings;
  // Check the list first: nothing is fetched from other hosts.
  if (!matchesDomain(documentDomains, url.host)) return { ok: false, reason: "domain-not-allowed", host: url.host };
  if (!deps.documents) return { ok: false, reason: "documents-off" };
  const read = await deps.documents.read(clientId, { documentDomains, allowedPrivateUris }, peer);
  if (!read.ok) {
    const { error, description, detail } = read.refusal;
    if (error === "temporarily_unavailable") return { ok: false, reason: "document-unavailable", detail };
    return { ok: false, reason: "document-refused", description, detail };
  }
  return {
    ok: true,
    client: {
      id: clientId,
      metadata: read.value,
      metadataHash: hashMetadata(read.value),
      isPublic: read.value.token_endpoint_auth_method === "none",
      secretHash: undefined,
      documentHost: url.host,
      usedAt: undefined,
      preRegistered: false,
      accountId: undefined,
    },
  };
}

/** Extends the lifetime of a registration in use. Written at most once a day: the record only has to outlive its grants. */
export async function keepClient(
  deps: Pick<ClientDeps, "store" | "clock">,
  client: Client,
  refreshSeconds: number,
): Promise<void> {
  const now = epochSeconds(deps.clock);
  const usedLately = client.usedAt !== undefined && now - client.usedAt < 24 * 3600;
  if (client.documentHost !== undefined || client.preRegistered || usedLately) return;
  const record = await deps.store.get<ClientRecord>(clientKey(client.id));
  if (!record) return;
  // On conflict, another process wrote the same value.
  await deps.store.put(clientKey(client.id), { ...record.value, usedAt: now } satisfies ClientRecord, {
    ifVersion: record.version,
    expiresAt: now + refreshSeconds + CLIENT_UNUSED_SECONDS,
    tags: record.tags,
  });
}
