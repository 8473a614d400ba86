/**
 * Clients created by an administrator: applications with a fixed id, and services with their own tokens.
 *
 * They belong to one issuer like every registration, but do not expire, and their metadata is trusted.
 */
import type { JSONWebKeySet } from "jose";

import type { DomainPattern } from "../../../settings/domains.ts";
import { hashSecret } from "../../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { createServiceAccount } from "../../../identity/tokens/service-accounts.ts";
import type { Revocations } from "../../../identity/interfaces.ts";
import { pageOf, type PageOf, type PageRequest } from "../../../store/page-of.ts";
import type { Store, StoredRecord } from "../../../store/store.ts";
import { newClientId, newClientSecret } from "./client.ts";
import { isKeySetAddress } from "./client-keys.ts";
import { clientKey, clientTags, CLIENTS_TAG, type ClientMetadata, type ClientRecord } from "../grant-records.ts";
import { redirectUriProblem } from "./redirect-uri.ts";
import { JWT_BEARER_GRANT } from "../metadata.ts";
import { DEFAULT_SCOPE } from "../scope.ts";

export interface NewClient {
  readonly name: string;
  /** Origin of its MCP servers: "https://mcp.example.com". */
  readonly issuer: string;
  /** Redirect URIs of an application that signs users in. */
  readonly redirectUris?: readonly string[];
  /** Present for a client that gets tokens for itself, as the service account of the same name. */
  readonly machine?: { readonly email: string; readonly groups: readonly string[]; readonly owner?: string };
  /** Presents assertions of trusted issuers (ID-JAGs), so it needs no redirect URI. */
  readonly presentsIdJags?: boolean;
  /** An application that cannot keep a secret. */
  readonly isPublic?: boolean;
  /** Public keys for its signatures, instead of a secret. */
  readonly jwks?: JSONWebKeySet;
  readonly jwksUri?: string;
}

export interface PreRegistrationDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** `mcp_allowed_private_redirect_uris`. */
  readonly allowedPrivateUris?: readonly string[];
  /** `mcp_allowed_client_id_domains`. */
  readonly documentDomains?: readonly DomainPattern[];
}

export type CreateClient =
  | {
      readonly ok: true;
      readonly clientId: string;
      /** Shown once; only its hash is stored. */
      readonly secret?: string;
      readonly accountId?: string;
    }
  | { readonly ok: false; readonly problem: string };

export async function createClient(deps: PreRegistrationDeps, request: NewClient): Promise<CreateClient> {
  const problem = problemOf(deps, request);
  if (problem !== undefined) return { ok: false, problem };
  const { name, issuer, redirectUris = [], machine, jwks, jwksUri } = request;
  const clientId = newClientId();

  // The account first: without it the client is useless, and its name must be free.
  const account = machine && (await createServiceAccount(deps, { name, ...machine, clientId }));
  if (account?.ok === false) return { ok: false, problem: NAME_PROBLEMS[account.reason](name) };

  const signs = jwks !== undefined || jwksUri !== undefined;
  const secret = signs || request.isPublic === true ? undefined : newClientSecret();
  const metadata: ClientMetadata = {
    redirect_uris: redirectUris,
    token_endpoint_auth_method: signs ? "private_key_jwt" : secret === undefined ? "none" : "client_secret_basic",
    grant_types: [
      ...(redirectUris.length > 0 ? ["authorization_code", "refresh_token"] : []),
      ...(machine ? ["client_credentials"] : []),
      ...(request.presentsIdJags === true ? [JWT_BEARER_GRANT] : []),
    ],
    response_types: redirectUris.length > 0 ? ["code"] : [],
    scope: DEFAULT_SCOPE,
    client_name: name,
    ...(jwks === undefined ? {} : { jwks }),
    ...(jwksUri === undefined ? {} : { jwks_uri: jwksUri }),
  };
  const record: ClientRecord = {
    schema: 1,
    issuer,
    metadata,
    issuedAt: epochSeconds(deps.clock),
    preRegistered: true,
    ...(secret === undefined ? {} : { secretHash: hashSecret(secret) }),
    ...(account === undefined ? {} : { accountId: account.id }),
  };
  await deps.store.put(clientKey(clientId), record, { ifVersion: 0, tags: clientTags(clientId) });
  return {
    ok: true,
    clientId,
    ...(secret === undefined ? {} : { secret }),
    ...(account === undefined ? {} : { accountId: account.id }),
  };
}

function problemOf(deps: PreRegistrationDeps, request: NewClient): string | undefined {
  const { issuer, redirectUris = [], machine, presentsIdJags = false, isPublic = false, jwksUri } = request;
  if (!URL.canParse(issuer) || new URL(issuer).origin !== issuer)
    return `issuer is ${JSON.stringify(issuer)}, must be an origin such as "https://mcp.example.com"`;
  if (redirectUris.length === 0 && !machine && !presentsIdJags)
    return "the client needs a redirect URI, must be a machine, or come with ID-JAGs";
  // "The client credentials grant type MUST only be used by confidential clients" (OAuth 2.1 §4.2).
  if (isPublic && machine) return "a machine cannot be a public client";
  for (const uri of redirectUris) {
    const problem = redirectUriProblem(uri, deps.allowedPrivateUris ?? []);
    if (problem !== undefined) return `redirect URI ${JSON.stringify(uri)} cannot be used: ${problem}`;
  }
  if (jwksUri !== undefined && !isKeySetAddress(jwksUri, deps.documentDomains ?? []))
    return `jwks_uri is ${JSON.stringify(jwksUri)}, must be an https address on a domain of mcp_allowed_client_id_domains`;
  return undefined;
}

const NAME_PROBLEMS: Readonly<Record<"name" | "owner" | "taken", (name: string) => string>> = {
  name: (name) => `name is ${JSON.stringify(name)}, must be letters, digits, ".", "_" and "-"`,
  owner: () => "owner must be 1 to 100 printable characters",
  taken: (name) => `name ${JSON.stringify(name)} is taken by another service account`,
};

/** Revokes a client, registered or created by an administrator, with everything under it, in every process within 2 s. */
export async function endClient(
  deps: { readonly store: Store; readonly revocations: Pick<Revocations, "revoke"> },
  clientId: string,
): Promise<boolean> {
  // First, so that nothing new starts during the revocation.
  const existed = await deps.store.delete(clientKey(clientId));
  await deps.revocations.revoke(`client:${clientId}`);
  return existed;
}

export function listClients(store: Store): Promise<readonly StoredRecord<ClientRecord>[]> {
  return store.list<ClientRecord>(CLIENTS_TAG);
}

export function pageClients(store: Store, page: PageRequest): Promise<PageOf<StoredRecord<ClientRecord>>> {
  return pageOf<ClientRecord, StoredRecord<ClientRecord>>(
    store,
    { prefix: clientKey(""), tag: CLIENTS_TAG },
    page,
    (record) => record,
  );
}
