/**
 * Discovery documents for clients: authorization server metadata (RFC 8414, also under the OpenID name that some
 * clients use) and protected resource metadata (RFC 9728). Public, without information about users.
 */
import type { Snapshot } from "../../config/snapshot.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import type { Exchange } from "../../http/exchange.ts";
import { namesMessageAddress } from "../../shared/http/query.ts";
import { respondJson } from "../../http/respond.ts";
import { respondNotFound } from "./answer.ts";
import { SIGNING_ALGORITHMS } from "../../shared/key-set.ts";
import {
  bindsTokens,
  findIssuer,
  findResourceByPath,
  idJagIssuers,
  offersRuns,
  workloadIssuers,
  type Issuer,
  type McpServerRoute,
} from "./find-issuer.ts";
import { PROOF_ALGORITHMS } from "../../identity/dpop/proof.ts";
import { scopesSupported } from "./scope.ts";

const AUTHORIZATION_SERVER = "/.well-known/oauth-authorization-server";
const OPENID_CONFIGURATION = "/.well-known/openid-configuration";
const PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource";

export const AUTHORIZE_PATH = "/.gateway/mcp/authorize";
export const TOKEN_PATH = "/.gateway/mcp/token";
export const REGISTER_PATH = "/.gateway/mcp/register";
export const REVOKE_PATH = "/.gateway/mcp/revoke";
export const INTROSPECT_PATH = "/.gateway/mcp/introspect";
export const CONSENT_PATH = "/.gateway/mcp/consent";
export const RUNS_PATH = "/.gateway/mcp/runs";
/** On the host of sign-in pages. */
export const RUN_PAGE_PATH = "/.gateway/run";

/** RFC 7523 §2.1. */
export const JWT_BEARER_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/** RFC 8693 §2.1. */
export const TOKEN_EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
/** @see draft-ietf-oauth-identity-assertion-authz-grant, "Authorization Server Metadata" */
const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

/** Grant types of every issuer. A configured issuer may add `JWT_BEARER_GRANT` and `TOKEN_EXCHANGE_GRANT`. */
export const GRANT_TYPES_SUPPORTED: readonly string[] = ["authorization_code", "refresh_token", "client_credentials"];

/** Capabilities of this process, regardless of the configuration. */
export interface Abilities {
  /** Documents of URL client ids can be read. */
  readonly canFetchDocuments: boolean;
  /** Assertions of trusted issuers can be checked. */
  readonly canVerify: boolean;
}

export function metadataEndpoints(abilities: Abilities): readonly Endpoint[] {
  const document = (path: string, handle: Endpoint["handle"]): Endpoint => ({
    methods: ["GET"],
    path,
    cors: true,
    mcp: true,
    handle,
  });

  const serverMetadata =
    (prefix: string, complete: (issuer: Issuer, snapshot: Snapshot) => object) =>
    (exchange: Exchange, snapshot: Snapshot): void => {
      const issuer = findIssuer(snapshot, exchange.host);
      // A path that the client inserted or appended must be ours (RFC 8414 §3.1). Clients try all forms.
      const path =
        prefix === "" ? exchange.path.slice(0, -OPENID_CONFIGURATION.length) : exchange.path.slice(prefix.length);
      if (!issuer || !isKnownPath(issuer, path)) return respondNotFound(exchange);
      respondJson(exchange, 200, complete(issuer, snapshot));
    };

  const oauth = (issuer: Issuer, snapshot: Snapshot): object =>
    authorizationServerMetadata(issuer, snapshot, abilities);
  const openid = (issuer: Issuer, snapshot: Snapshot): object => ({
    ...oauth(issuer, snapshot),
    ...openidMembers(issuer),
  });

  return [
    document(`${AUTHORIZATION_SERVER}/*`, serverMetadata(AUTHORIZATION_SERVER, oauth)),
    document(`${OPENID_CONFIGURATION}/*`, serverMetadata(OPENID_CONFIGURATION, openid)),
    // Appended to a route's path, as in OpenID Connect Discovery §4.
    document(`*${OPENID_CONFIGURATION}`, serverMetadata("", openid)),
    document(`${PROTECTED_RESOURCE}/*`, protectedResource),
  ];
}

function isKnownPath(issuer: Issuer, path: string): boolean {
  return path === "" || path === "/" || findResourceByPath(issuer, path) !== undefined;
}

/** RFC 8414 §2. `issuer` is byte-equal for every form of the URL, since clients compare it with `iss`. */
export function authorizationServerMetadata(
  issuer: Issuer,
  snapshot: Snapshot,
  { canFetchDocuments, canVerify }: Abilities,
): object {
  const acceptsIdJag = canVerify && idJagIssuers(snapshot, issuer).length > 0;
  const acceptsAssertions = acceptsIdJag || (canVerify && workloadIssuers(snapshot, issuer).length > 0);
  const authMethods = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];
  return {
    issuer: issuer.origin,
    authorization_endpoint: issuer.origin + AUTHORIZE_PATH,
    token_endpoint: issuer.origin + TOKEN_PATH,
    ...(snapshot.settings.mcpDynamicRegistration ? { registration_endpoint: issuer.origin + REGISTER_PATH } : {}),
    revocation_endpoint: issuer.origin + REVOKE_PATH,
    introspection_endpoint: issuer.origin + INTROSPECT_PATH,
    scopes_supported: scopesSupported(issuer.routes),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [
      ...GRANT_TYPES_SUPPORTED,
      ...(acceptsAssertions ? [JWT_BEARER_GRANT] : []),
      ...(canVerify && offersRuns(snapshot, issuer) ? [TOKEN_EXCHANGE_GRANT] : []),
    ],
    // Without names of issuers: they would reveal which companies are customers.
    ...(acceptsIdJag ? { authorization_grant_profiles_supported: [ID_JAG_PROFILE] } : {}),
    token_endpoint_auth_methods_supported: authMethods,
    token_endpoint_auth_signing_alg_values_supported: SIGNING_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: SIGNING_ALGORITHMS,
    // Not for public clients.
    introspection_endpoint_auth_methods_supported: authMethods.filter((method) => method !== "none"),
    introspection_endpoint_auth_signing_alg_values_supported: SIGNING_ALGORITHMS,
    // Clients MUST refuse if it is absent (MCP authorization, PKCE).
    code_challenge_methods_supported: ["S256"],
    ...(bindsTokens(issuer) ? { dpop_signing_alg_values_supported: PROOF_ALGORITHMS } : {}),
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: canFetchDocuments && snapshot.settings.mcpAllowedClientIdDomains.length > 0,
  };
}

/**
 * Members that OpenID Connect Discovery §3 also requires. We issue no ID tokens, but clients reject a document without
 * these.
 */
function openidMembers(issuer: Issuer): object {
  return {
    jwks_uri: `${issuer.origin}/.well-known/gateway/jwks.json`,
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  };
}

/**
 * RFC 9728 §3: the path after the well-known name is the path of the resource, and `resource` "MUST be identical" to
 * the identifier in the URL (RFC 8414 §3.3).
 */
function protectedResource(exchange: Exchange, snapshot: Snapshot): void {
  const issuer = findIssuer(snapshot, exchange.host);
  const found = issuer && findResourceByPath(issuer, exchange.path.slice(PROTECTED_RESOURCE.length));
  if (!found) return respondNotFound(exchange);
  respondJson(exchange, 200, {
    // The sealed URL of an old client's messages is not a resource of its own.
    resource: namesMessageAddress(exchange.query) ? found.route.mcp.resource : found.resource,
    resource_name: found.route.name,
    authorization_servers: [issuer.origin],
    bearer_methods_supported: ["header"],
    ...bindingMembers(found.route),
    // Without offline_access: a resource does not use refresh tokens (MCP authorization, 2026-07-28). Clients start
    // with the scope in the challenge of a 401, which is only `mcp`.
    scopes_supported: scopesSupported([found.route]),
  });
}

/** RFC 9728 §2. */
function bindingMembers({ mcp: { dpop } }: McpServerRoute): object {
  if (dpop === undefined) return {};
  return {
    dpop_signing_alg_values_supported: PROOF_ALGORITHMS,
    ...(dpop === "required" ? { dpop_bound_access_tokens_required: true } : {}),
  };
}

/** URL of the metadata of a resource with this path. @param path "" or "/x" */
export function protectedResourceUrl(origin: string, path: string): string {
  return origin + PROTECTED_RESOURCE + path;
}
