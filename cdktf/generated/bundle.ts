// @ts-nocheck
// Made by generate.ts, do not edit.
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktf from 'cdktf';

// Configuration

export interface BundleConfig extends cdktf.TerraformMetaArguments {
  /**
  * Name of the slice that this bundle publishes, one per team or state. At most 127 lower-case letters, digits, dashes, underscores and dots. A change replaces the resource.
  *
  */
  readonly owner: string;
  /**
  * Public key of the gateway as JWK JSON. Required for `_wo` settings, whose values are encrypted to it.
  *
  */
  readonly sealKey?: string;
  /**
  * Routes by name, for modules: each an object with the settings of a `route` block, and its blocks as objects. Can be combined with `route` blocks. Secrets by reference or sealed only.
  *
  */
  readonly routes?: { [key: string]: any };
  /**
  * Domains allowed for URL-based MCP client IDs; `known-clients` includes Claude, ChatGPT, VS Code and others. Without it, URL-based client IDs are rejected.
  *
  */
  readonly mcpAllowedClientIdDomains?: string[];
  /**
  * Domains allowed for upstream OAuth discovery, including the hosts of `to`. Without it, discovery is disabled.
  *
  */
  readonly mcpAllowedAsMetadataDomains?: string[];
  /**
  * Additional browser origins that can call MCP routes. The route's own origin and loopback are always allowed.
  *
  */
  readonly mcpAllowedOrigins?: string[];
  /**
  * Exact redirect URIs with private-use schemes for MCP clients, such as "com.example.app:/callback".
  *
  */
  readonly mcpAllowedPrivateRedirectUris?: string[];
  /**
  * Dynamic registration of MCP clients (RFC 7591). If disabled, clients use a client ID metadata document or are created by an administrator. Default: `true`.
  *
  */
  readonly mcpDynamicRegistration?: boolean | cdktf.IResolvable;
  /**
  * Readers of the catalog of MCP servers, which clients find at `/.gateway/registry`: callers with a token of a service account or a programmatic login, or also callers without a token. The latter see routes with `catalog: public`. One of `users`, `public`. Default: no catalog.
  *
  */
  readonly mcpCatalog?: string;
  /**
  * Fields of authorization records: request-id, trace-id, bundle-digest, route, method, path, host, ip, user, email, session-id, grant-id, client-id, actor, run, issuer, issuer-rules, auth-method, mcp-method, mcp-tool, mcp-tool-parameters, replay. Default: `request-id, user, email, mcp-method, mcp-tool`.
  *
  */
  readonly authorizeLogFields?: string[];
  /**
  * Origin of the sign-in, consent and user pages; its host serves no routes. Without it, scripts of upstreams could consent for users. Default: each route's own host.
  *
  */
  readonly authenticateServiceUrl?: string;
  /**
  * URL to open after sign-out. Default: the signed-out page.
  *
  */
  readonly signoutRedirectUrl?: string;
  /**
  * Help page (`https://`) or address (`mailto:`), linked on error pages.
  *
  */
  readonly supportUrl?: string;
  /**
  * Issuer URL of the OpenID Connect identity provider; its claim `sub` is the user ID. Without it, users sign in with `identity_issuers` only.
  *
  */
  readonly idpProviderUrl?: string;
  /**
  * Provider name on the page where users select one, if `identity_issuers` has others. Default: host of `idp_provider_url`.
  *
  */
  readonly idpLabel?: string;
  /**
  * Client ID at the identity provider. Required with `idp_provider_url`.
  *
  */
  readonly idpClientId?: string;
  /**
  * Client secret at the identity provider. Stored in plain text in Terraform state and bundle; prefer `idp_client_secret_ref`.
  *
  */
  readonly idpClientSecret?: string;
  /**
  * Reference to `idp_client_secret`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly idpClientSecretRef?: string;
  /**
  * `idp_client_secret`, encrypted to the gateway's public key (compact JWE). Computed from `idp_client_secret_wo`.
  *
  */
  readonly idpClientSecretSealed?: string;
  /**
  * `idp_client_secret` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `idp_client_secret_wo_version`.
  *
  */
  readonly idpClientSecretWo?: string;
  /**
  * Version of `idp_client_secret_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly idpClientSecretWoVersion?: number;
  /**
  * Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA of at least 2048 bits, or Ed25519. Stored in plain text in Terraform state and bundle; prefer `idp_client_key_ref`.
  *
  */
  readonly idpClientKey?: string;
  /**
  * Reference to `idp_client_key`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly idpClientKeyRef?: string;
  /**
  * `idp_client_key`, encrypted to the gateway's public key (compact JWE). Computed from `idp_client_key_wo`.
  *
  */
  readonly idpClientKeySealed?: string;
  /**
  * `idp_client_key` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `idp_client_key_wo_version`.
  *
  */
  readonly idpClientKeyWo?: string;
  /**
  * Version of `idp_client_key_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly idpClientKeyWoVersion?: number;
  /**
  * Key ID (`kid`) of the private key. Required if the provider has several public keys of the gateway.
  *
  */
  readonly idpClientKeyId?: string;
  /**
  * Client secret authentication method. Required if the provider accepts only one for this client. One of `client_secret_basic`, `client_secret_post`, `client_secret_jwt`. Default: first supported method in the provider's metadata.
  *
  */
  readonly idpClientAuth?: string;
  /**
  * Audience of the signed client assertion: the provider's issuer or its token endpoint. One of `issuer`, `token_endpoint`. Default: `issuer`.
  *
  */
  readonly idpClientProofAudience?: string;
  /**
  * Push authorization requests (RFC 9126), even if the provider's metadata does not require it. Default: `false`.
  *
  */
  readonly idpPushRequests?: boolean | cdktf.IResolvable;
  /**
  * Exact scopes to request at sign-in. Without `offline_access` most providers issue no refresh token. Default: `openid, profile, email`, and `offline_access` unless the provider's metadata lists scopes without it.
  *
  */
  readonly idpScopes?: string[];
  /**
  * Claim with the user's groups: a name, or a path with dots. Quote names that contain dots: `access."my.client".roles`. Default: `groups`.
  *
  */
  readonly idpGroupsClaim?: string;
  /**
  * Use an email address only if the provider verified it. Otherwise only addresses marked as unverified are ignored. Default: `false`.
  *
  */
  readonly idpRequireEmailVerified?: boolean | cdktf.IResolvable;
  /**
  * Additional query parameters of the provider's authorization URL, such as `access_type: offline`.
  *
  */
  readonly idpRequestParams?: { [key: string]: string };
  /**
  * Tokens accepted in `Authorization: Bearer` besides the gateway's own: none, tokens of the identity provider, or of workloads (`jwt`). One of `default`, `idp_access_token`, `idp_identity_token`, `jwt`. Default: `default`.
  *
  */
  readonly bearerTokenFormat?: string;
  /**
  * Accepted audiences of the identity provider's access tokens. One must match. Default: `idp_client_id`.
  *
  */
  readonly idpAccessTokenAllowedAudiences?: string[];
  /**
  * Hosts that may receive the token of a programmatic login. HTTPS is required, except on loopback. Default: localhost, 127.0.0.1 and [::1].
  *
  */
  readonly programmaticRedirectDomainWhitelist?: string[];
  /**
  * Session cookie name. `__Host-` is added with HTTPS. Default: `gateway_session`.
  *
  */
  readonly cookieName?: string;
  /**
  * Maximum lifetime of a browser session. Default: `14h`.
  *
  */
  readonly cookieExpiration?: string;
  /**
  * Maximum time for which a user keeps access if the identity provider does not confirm the user but confirms others. Default: `1h`.
  *
  */
  readonly unconfirmedUserLimit?: string;
  /**
  * SameSite attribute of the session cookie. One of `lax`, `strict`, `none`. Default: `lax`.
  *
  */
  readonly cookieSameSite?: string;
  /**
  * Lifetime of External Tokens for MCP clients. Default: `15m`.
  *
  */
  readonly accessTokenLifetime?: string;
  /**
  * Lifetime of External Tokens for applications of MCP client routes. At least 5 minutes. Default: `5m`.
  *
  */
  readonly clientRouteTokenLifetime?: string;
  /**
  * Lifetime of MCP refresh tokens since their last use. Default: `90d`.
  *
  */
  readonly refreshTokenLifetime?: string;
  /**
  * Maximum lifetime of an MCP authorization, including all refreshes. Then the client must ask the user again.
  *
  */
  readonly refreshTokenAbsoluteLifetime?: string;
  /**
  * Lifetime of MCP authorization codes. Default: `60s`.
  *
  */
  readonly authorizationCodeLifetime?: string;
  /**
  * Send the signed identity header and claim headers to upstreams. Default: `true`.
  *
  */
  readonly passIdentityHeaders?: boolean | cdktf.IResolvable;
  /**
  * Additional identity headers: header name to claim. Lists are joined by commas.
  *
  */
  readonly jwtClaimsHeaders?: { [key: string]: string };
  /**
  * Static response headers of all routes. Those of a route take precedence.
  *
  */
  readonly setResponseHeaders?: { [key: string]: string };
  /**
  * Maximum open WebSocket connections and event streams per user and process. Further ones get 429. Default: `250`.
  *
  */
  readonly maxStreamsPerUser?: number;
  /**
  * Maximum time for which an accepted request continues after its access token or session expires. "0s" ends all requests at expiry. Default: `1h`.
  *
  */
  readonly expiryGrace?: string;
  /**
  * Default `timeout` of routes. "0s" disables it. Default: `30s`.
  *
  */
  readonly defaultUpstreamTimeout?: string;
  /**
  * Publishes to a directory that a gateway watches, as `<owner>.json`, replaced atomically. Without `file` or `http` the bundle is only validated and rendered.
  *
  */
  readonly file?: BundleFile;
  /**
  * Publishes to a running gateway. It validates the bundle with all other slices, and responds when every process serves it.
  *
  */
  readonly http?: BundleHttp;
  /**
  * Experimental features.
  *
  */
  readonly runtimeFlags?: BundleRuntimeFlags;
  /**
  * Source for groups that the provider omits because there are too many (Entra: more than 200).
  *
  */
  readonly idpGroupsResolver?: BundleIdpGroupsResolver;
  /**
  * Issuers whose signed tokens about users and workloads are accepted, by name (lower-case letters, digits and dashes), which becomes part of user IDs.
  *
  */
  readonly identityIssuers?: { [key: string]: BundleIdentityIssuers } | cdktf.IResolvable;
  /**
  * Company directories (SCIM 2.0), by a name of lower-case letters, digits and dashes.
  *
  */
  readonly directories?: { [key: string]: BundleDirectories } | cdktf.IResolvable;
  /**
  * Certificates of the public listener for hosts of the owner's own routes, by host as in `from`. Requires `certificates` or `acme`.
  *
  */
  readonly hostCertificates?: { [key: string]: BundleHostCertificates } | cdktf.IResolvable;
  /**
  * A route. The label is its name, unique within the owner. Less common settings are in blocks, which keeps plans of many routes fast.
  *
  */
  readonly route?: { [key: string]: BundleRoute } | cdktf.IResolvable;
}
export interface BundleFile {
  /**
  * Directory, created if it does not exist.
  *
  */
  readonly directory: string;
  /**
  * Permission bits in octal, such as "0640". Default: `0644`.
  *
  */
  readonly mode?: string;
}

export function bundleFileToTerraform(struct?: BundleFile | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    directory: cdktf.stringToTerraform(struct!.directory),
    mode: cdktf.stringToTerraform(struct!.mode),
  }
}


export function bundleFileToHclTerraform(struct?: BundleFile | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    directory: {
      value: cdktf.stringToHclTerraform(struct!.directory),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    mode: {
      value: cdktf.stringToHclTerraform(struct!.mode),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleFileOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleFile | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._directory !== undefined) {
      hasAnyValues = true;
      internalValueResult.directory = this._directory;
    }
    if (this._mode !== undefined) {
      hasAnyValues = true;
      internalValueResult.mode = this._mode;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleFile | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._directory = undefined;
      this._mode = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._directory = value.directory;
      this._mode = value.mode;
    }
  }

  // directory - computed: false, optional: false, required: true
  private _directory?: string; 
  public get directory() {
    return this.getStringAttribute('directory');
  }
  public set directory(value: string) {
    this._directory = value;
  }
  // Temporarily expose input value. Use with caution.
  public get directoryInput() {
    return this._directory;
  }

  // mode - computed: false, optional: true, required: false
  private _mode?: string; 
  public get mode() {
    return this.getStringAttribute('mode');
  }
  public set mode(value: string) {
    this._mode = value;
  }
  public resetMode() {
    this._mode = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get modeInput() {
    return this._mode;
  }
}
export interface BundleHttp {
  /**
  * URL of the admin listener (`admin_address`), such as `http://127.0.0.1:9901`, or of a proxy in front of it.
  *
  */
  readonly url: string;
  /**
  * Where Terraform reads the admin token, or the owner's publish token, on the machine where it runs: `env:NAME` or `file:/path`; for `gateway_publish_token` also the token that a platform gives the job (`publish_workloads` of the owner), of GitHub Actions by `github:AUDIENCE`. Default: `admin_token` of the provider, else the environment variable `GATEWAY_ADMIN_TOKEN`.
  *
  */
  readonly tokenRef?: string;
}

export function bundleHttpToTerraform(struct?: BundleHttp | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    url: cdktf.stringToTerraform(struct!.url),
    token_ref: cdktf.stringToTerraform(struct!.tokenRef),
  }
}


export function bundleHttpToHclTerraform(struct?: BundleHttp | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    url: {
      value: cdktf.stringToHclTerraform(struct!.url),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token_ref: {
      value: cdktf.stringToHclTerraform(struct!.tokenRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleHttpOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleHttp | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._url !== undefined) {
      hasAnyValues = true;
      internalValueResult.url = this._url;
    }
    if (this._tokenRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.tokenRef = this._tokenRef;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleHttp | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._url = undefined;
      this._tokenRef = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._url = value.url;
      this._tokenRef = value.tokenRef;
    }
  }

  // url - computed: false, optional: false, required: true
  private _url?: string; 
  public get url() {
    return this.getStringAttribute('url');
  }
  public set url(value: string) {
    this._url = value;
  }
  // Temporarily expose input value. Use with caution.
  public get urlInput() {
    return this._url;
  }

  // token_ref - computed: false, optional: true, required: false
  private _tokenRef?: string; 
  public get tokenRef() {
    return this.getStringAttribute('token_ref');
  }
  public set tokenRef(value: string) {
    this._tokenRef = value;
  }
  public resetTokenRef() {
    this._tokenRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenRefInput() {
    return this._tokenRef;
  }
}
export interface BundleRuntimeFlags {
  /**
  * Enable MCP. Otherwise MCP routes get 503. Default: `false`.
  *
  */
  readonly mcp?: boolean | cdktf.IResolvable;
}

export function bundleRuntimeFlagsToTerraform(struct?: BundleRuntimeFlags | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    mcp: cdktf.booleanToTerraform(struct!.mcp),
  }
}


export function bundleRuntimeFlagsToHclTerraform(struct?: BundleRuntimeFlags | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    mcp: {
      value: cdktf.booleanToHclTerraform(struct!.mcp),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRuntimeFlagsOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRuntimeFlags | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._mcp !== undefined) {
      hasAnyValues = true;
      internalValueResult.mcp = this._mcp;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRuntimeFlags | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._mcp = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._mcp = value.mcp;
    }
  }

  // mcp - computed: false, optional: true, required: false
  private _mcp?: boolean | cdktf.IResolvable; 
  public get mcp() {
    return this.getBooleanAttribute('mcp');
  }
  public set mcp(value: boolean | cdktf.IResolvable) {
    this._mcp = value;
  }
  public resetMcp() {
    this._mcp = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpInput() {
    return this._mcp;
  }
}
export interface BundleIdpGroupsResolverEntra {
  /**
  * Directory (tenant) ID.
  *
  */
  readonly tenant: string;
  /**
  * Application (client) ID with the permissions `User.Read.All` and `GroupMember.Read.All` of Microsoft Graph and admin consent.
  *
  */
  readonly clientId: string;
  /**
  * Client secret of that application. Stored in plain text in Terraform state and bundle; prefer `client_secret_ref`.
  *
  */
  readonly clientSecret?: string;
  /**
  * Reference to `client_secret`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly clientSecretRef?: string;
  /**
  * `client_secret`, encrypted to the gateway's public key (compact JWE). Computed from `client_secret_wo`.
  *
  */
  readonly clientSecretSealed?: string;
  /**
  * `client_secret` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `client_secret_wo_version`.
  *
  */
  readonly clientSecretWo?: string;
  /**
  * Version of `client_secret_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly clientSecretWoVersion?: number;
  /**
  * Security groups only. With `false` also distribution groups, administrative units and directory roles. Default: `true`.
  *
  */
  readonly securityEnabledOnly?: boolean | cdktf.IResolvable;
  /**
  * Token service origin of a sovereign cloud. Requires `graph_url`. Default: `https://login.microsoftonline.com`.
  *
  */
  readonly loginUrl?: string;
  /**
  * Microsoft Graph origin of a sovereign cloud. Requires `login_url`. Default: `https://graph.microsoft.com`.
  *
  */
  readonly graphUrl?: string;
}

export function bundleIdpGroupsResolverEntraToTerraform(struct?: BundleIdpGroupsResolverEntra | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    tenant: cdktf.stringToTerraform(struct!.tenant),
    client_id: cdktf.stringToTerraform(struct!.clientId),
    client_secret: cdktf.stringToTerraform(struct!.clientSecret),
    client_secret_ref: cdktf.stringToTerraform(struct!.clientSecretRef),
    client_secret_sealed: cdktf.stringToTerraform(struct!.clientSecretSealed),
    client_secret_wo: cdktf.stringToTerraform(struct!.clientSecretWo),
    client_secret_wo_version: cdktf.numberToTerraform(struct!.clientSecretWoVersion),
    security_enabled_only: cdktf.booleanToTerraform(struct!.securityEnabledOnly),
    login_url: cdktf.stringToTerraform(struct!.loginUrl),
    graph_url: cdktf.stringToTerraform(struct!.graphUrl),
  }
}


export function bundleIdpGroupsResolverEntraToHclTerraform(struct?: BundleIdpGroupsResolverEntra | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    tenant: {
      value: cdktf.stringToHclTerraform(struct!.tenant),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_id: {
      value: cdktf.stringToHclTerraform(struct!.clientId),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret: {
      value: cdktf.stringToHclTerraform(struct!.clientSecret),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_ref: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_sealed: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.clientSecretWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    security_enabled_only: {
      value: cdktf.booleanToHclTerraform(struct!.securityEnabledOnly),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    login_url: {
      value: cdktf.stringToHclTerraform(struct!.loginUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    graph_url: {
      value: cdktf.stringToHclTerraform(struct!.graphUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdpGroupsResolverEntraOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleIdpGroupsResolverEntra | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._tenant !== undefined) {
      hasAnyValues = true;
      internalValueResult.tenant = this._tenant;
    }
    if (this._clientId !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientId = this._clientId;
    }
    if (this._clientSecret !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecret = this._clientSecret;
    }
    if (this._clientSecretRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretRef = this._clientSecretRef;
    }
    if (this._clientSecretSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretSealed = this._clientSecretSealed;
    }
    if (this._clientSecretWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWo = this._clientSecretWo;
    }
    if (this._clientSecretWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWoVersion = this._clientSecretWoVersion;
    }
    if (this._securityEnabledOnly !== undefined) {
      hasAnyValues = true;
      internalValueResult.securityEnabledOnly = this._securityEnabledOnly;
    }
    if (this._loginUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.loginUrl = this._loginUrl;
    }
    if (this._graphUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.graphUrl = this._graphUrl;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdpGroupsResolverEntra | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._tenant = undefined;
      this._clientId = undefined;
      this._clientSecret = undefined;
      this._clientSecretRef = undefined;
      this._clientSecretSealed = undefined;
      this._clientSecretWo = undefined;
      this._clientSecretWoVersion = undefined;
      this._securityEnabledOnly = undefined;
      this._loginUrl = undefined;
      this._graphUrl = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._tenant = value.tenant;
      this._clientId = value.clientId;
      this._clientSecret = value.clientSecret;
      this._clientSecretRef = value.clientSecretRef;
      this._clientSecretSealed = value.clientSecretSealed;
      this._clientSecretWo = value.clientSecretWo;
      this._clientSecretWoVersion = value.clientSecretWoVersion;
      this._securityEnabledOnly = value.securityEnabledOnly;
      this._loginUrl = value.loginUrl;
      this._graphUrl = value.graphUrl;
    }
  }

  // tenant - computed: false, optional: false, required: true
  private _tenant?: string; 
  public get tenant() {
    return this.getStringAttribute('tenant');
  }
  public set tenant(value: string) {
    this._tenant = value;
  }
  // Temporarily expose input value. Use with caution.
  public get tenantInput() {
    return this._tenant;
  }

  // client_id - computed: false, optional: false, required: true
  private _clientId?: string; 
  public get clientId() {
    return this.getStringAttribute('client_id');
  }
  public set clientId(value: string) {
    this._clientId = value;
  }
  // Temporarily expose input value. Use with caution.
  public get clientIdInput() {
    return this._clientId;
  }

  // client_secret - computed: false, optional: true, required: false
  private _clientSecret?: string; 
  public get clientSecret() {
    return this.getStringAttribute('client_secret');
  }
  public set clientSecret(value: string) {
    this._clientSecret = value;
  }
  public resetClientSecret() {
    this._clientSecret = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretInput() {
    return this._clientSecret;
  }

  // client_secret_ref - computed: false, optional: true, required: false
  private _clientSecretRef?: string; 
  public get clientSecretRef() {
    return this.getStringAttribute('client_secret_ref');
  }
  public set clientSecretRef(value: string) {
    this._clientSecretRef = value;
  }
  public resetClientSecretRef() {
    this._clientSecretRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretRefInput() {
    return this._clientSecretRef;
  }

  // client_secret_sealed - computed: true, optional: true, required: false
  private _clientSecretSealed?: string; 
  public get clientSecretSealed() {
    return this.getStringAttribute('client_secret_sealed');
  }
  public set clientSecretSealed(value: string) {
    this._clientSecretSealed = value;
  }
  public resetClientSecretSealed() {
    this._clientSecretSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretSealedInput() {
    return this._clientSecretSealed;
  }

  // client_secret_wo - computed: false, optional: true, required: false
  private _clientSecretWo?: string; 
  public get clientSecretWo() {
    return this.getStringAttribute('client_secret_wo');
  }
  public set clientSecretWo(value: string) {
    this._clientSecretWo = value;
  }
  public resetClientSecretWo() {
    this._clientSecretWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoInput() {
    return this._clientSecretWo;
  }

  // client_secret_wo_version - computed: false, optional: true, required: false
  private _clientSecretWoVersion?: number; 
  public get clientSecretWoVersion() {
    return this.getNumberAttribute('client_secret_wo_version');
  }
  public set clientSecretWoVersion(value: number) {
    this._clientSecretWoVersion = value;
  }
  public resetClientSecretWoVersion() {
    this._clientSecretWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoVersionInput() {
    return this._clientSecretWoVersion;
  }

  // security_enabled_only - computed: false, optional: true, required: false
  private _securityEnabledOnly?: boolean | cdktf.IResolvable; 
  public get securityEnabledOnly() {
    return this.getBooleanAttribute('security_enabled_only');
  }
  public set securityEnabledOnly(value: boolean | cdktf.IResolvable) {
    this._securityEnabledOnly = value;
  }
  public resetSecurityEnabledOnly() {
    this._securityEnabledOnly = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get securityEnabledOnlyInput() {
    return this._securityEnabledOnly;
  }

  // login_url - computed: false, optional: true, required: false
  private _loginUrl?: string; 
  public get loginUrl() {
    return this.getStringAttribute('login_url');
  }
  public set loginUrl(value: string) {
    this._loginUrl = value;
  }
  public resetLoginUrl() {
    this._loginUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get loginUrlInput() {
    return this._loginUrl;
  }

  // graph_url - computed: false, optional: true, required: false
  private _graphUrl?: string; 
  public get graphUrl() {
    return this.getStringAttribute('graph_url');
  }
  public set graphUrl(value: string) {
    this._graphUrl = value;
  }
  public resetGraphUrl() {
    this._graphUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get graphUrlInput() {
    return this._graphUrl;
  }
}
export interface BundleIdpGroupsResolver {
  /**
  * Microsoft Graph (`getMemberObjects`), queried at sign-in and each refresh.
  *
  */
  readonly entra?: BundleIdpGroupsResolverEntra;
}

export function bundleIdpGroupsResolverToTerraform(struct?: BundleIdpGroupsResolver | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    entra: bundleIdpGroupsResolverEntraToTerraform(struct!.entra),
  }
}


export function bundleIdpGroupsResolverToHclTerraform(struct?: BundleIdpGroupsResolver | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    entra: {
      value: bundleIdpGroupsResolverEntraToHclTerraform(struct!.entra),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleIdpGroupsResolverEntra",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdpGroupsResolverOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleIdpGroupsResolver | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._entra?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.entra = this._entra?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdpGroupsResolver | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._entra.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._entra.internalValue = value.entra;
    }
  }

  // entra - computed: false, optional: true, required: false
  private _entra = new BundleIdpGroupsResolverEntraOutputReference(this, "entra");
  public get entra() {
    return this._entra;
  }
  public putEntra(value: BundleIdpGroupsResolverEntra) {
    this._entra.internalValue = value;
  }
  public resetEntra() {
    this._entra.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get entraInput() {
    return this._entra.internalValue;
  }
}
export interface BundleIdentityIssuersWorkloadRulesAgentRuns {
  /**
  * Claims that only the tokens of one run share, by name or JSON Pointer: `run_id`, `/kubernetes.io/pod/uid`. Tokens must have all of them.
  *
  */
  readonly identifiedBy: string[];
  /**
  * Groups of which the approver must have one. Default: any user.
  *
  */
  readonly approverGroups?: string[];
  /**
  * Maximum duration, up to `720h`. Default: `8h`.
  *
  */
  readonly maxDuration?: string;
}

export function bundleIdentityIssuersWorkloadRulesAgentRunsToTerraform(struct?: BundleIdentityIssuersWorkloadRulesAgentRuns | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    identified_by: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.identifiedBy),
    approver_groups: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.approverGroups),
    max_duration: cdktf.stringToTerraform(struct!.maxDuration),
  }
}


export function bundleIdentityIssuersWorkloadRulesAgentRunsToHclTerraform(struct?: BundleIdentityIssuersWorkloadRulesAgentRuns | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    identified_by: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.identifiedBy),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    approver_groups: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.approverGroups),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    max_duration: {
      value: cdktf.stringToHclTerraform(struct!.maxDuration),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdentityIssuersWorkloadRulesAgentRunsOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleIdentityIssuersWorkloadRulesAgentRuns | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._identifiedBy !== undefined) {
      hasAnyValues = true;
      internalValueResult.identifiedBy = this._identifiedBy;
    }
    if (this._approverGroups !== undefined) {
      hasAnyValues = true;
      internalValueResult.approverGroups = this._approverGroups;
    }
    if (this._maxDuration !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxDuration = this._maxDuration;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdentityIssuersWorkloadRulesAgentRuns | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._identifiedBy = undefined;
      this._approverGroups = undefined;
      this._maxDuration = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._identifiedBy = value.identifiedBy;
      this._approverGroups = value.approverGroups;
      this._maxDuration = value.maxDuration;
    }
  }

  // identified_by - computed: false, optional: false, required: true
  private _identifiedBy?: string[]; 
  public get identifiedBy() {
    return this.getListAttribute('identified_by');
  }
  public set identifiedBy(value: string[]) {
    this._identifiedBy = value;
  }
  // Temporarily expose input value. Use with caution.
  public get identifiedByInput() {
    return this._identifiedBy;
  }

  // approver_groups - computed: false, optional: true, required: false
  private _approverGroups?: string[]; 
  public get approverGroups() {
    return this.getListAttribute('approver_groups');
  }
  public set approverGroups(value: string[]) {
    this._approverGroups = value;
  }
  public resetApproverGroups() {
    this._approverGroups = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get approverGroupsInput() {
    return this._approverGroups;
  }

  // max_duration - computed: false, optional: true, required: false
  private _maxDuration?: string; 
  public get maxDuration() {
    return this.getStringAttribute('max_duration');
  }
  public set maxDuration(value: string) {
    this._maxDuration = value;
  }
  public resetMaxDuration() {
    this._maxDuration = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxDurationInput() {
    return this._maxDuration;
  }
}
export interface BundleIdentityIssuersWorkloadRules {
  /**
  * Required claims of the token: name, or JSON Pointer to a nested claim, to values. Every claim must have one of its values.
  *
  */
  readonly claims: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * URLs of MCP servers as clients use them; for routes with `bearer_token_format: jwt`, the origin, or origin and prefix.
  *
  */
  readonly resources: string[];
  /**
  * Groups of its workloads, for policies.
  *
  */
  readonly groups?: string[];
  /**
  * Lets the workloads request agent runs, in which they act for a user who approves it.
  *
  */
  readonly agentRuns?: BundleIdentityIssuersWorkloadRulesAgentRuns;
}

export function bundleIdentityIssuersWorkloadRulesToTerraform(struct?: BundleIdentityIssuersWorkloadRules | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    claims: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.claims),
    resources: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.resources),
    groups: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.groups),
    agent_runs: bundleIdentityIssuersWorkloadRulesAgentRunsToTerraform(struct!.agentRuns),
  }
}


export function bundleIdentityIssuersWorkloadRulesToHclTerraform(struct?: BundleIdentityIssuersWorkloadRules | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    claims: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.claims),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    resources: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.resources),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    groups: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.groups),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    agent_runs: {
      value: bundleIdentityIssuersWorkloadRulesAgentRunsToHclTerraform(struct!.agentRuns),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleIdentityIssuersWorkloadRulesAgentRuns",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdentityIssuersWorkloadRulesOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectKey the key of this item in the map
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectKey: string) {
    super(terraformResource, terraformAttribute, false, complexObjectKey);
  }

  public get internalValue(): BundleIdentityIssuersWorkloadRules | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._claims !== undefined) {
      hasAnyValues = true;
      internalValueResult.claims = this._claims;
    }
    if (this._resources !== undefined) {
      hasAnyValues = true;
      internalValueResult.resources = this._resources;
    }
    if (this._groups !== undefined) {
      hasAnyValues = true;
      internalValueResult.groups = this._groups;
    }
    if (this._agentRuns?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.agentRuns = this._agentRuns?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdentityIssuersWorkloadRules | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._claims = undefined;
      this._resources = undefined;
      this._groups = undefined;
      this._agentRuns.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._claims = value.claims;
      this._resources = value.resources;
      this._groups = value.groups;
      this._agentRuns.internalValue = value.agentRuns;
    }
  }

  // claims - computed: false, optional: false, required: true
  private _claims?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get claims() {
    return this.interpolationForAttribute('claims');
  }
  public set claims(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._claims = value;
  }
  // Temporarily expose input value. Use with caution.
  public get claimsInput() {
    return this._claims;
  }

  // resources - computed: false, optional: false, required: true
  private _resources?: string[]; 
  public get resources() {
    return this.getListAttribute('resources');
  }
  public set resources(value: string[]) {
    this._resources = value;
  }
  // Temporarily expose input value. Use with caution.
  public get resourcesInput() {
    return this._resources;
  }

  // groups - computed: false, optional: true, required: false
  private _groups?: string[]; 
  public get groups() {
    return this.getListAttribute('groups');
  }
  public set groups(value: string[]) {
    this._groups = value;
  }
  public resetGroups() {
    this._groups = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get groupsInput() {
    return this._groups;
  }

  // agent_runs - computed: false, optional: true, required: false
  private _agentRuns = new BundleIdentityIssuersWorkloadRulesAgentRunsOutputReference(this, "agent_runs");
  public get agentRuns() {
    return this._agentRuns;
  }
  public putAgentRuns(value: BundleIdentityIssuersWorkloadRulesAgentRuns) {
    this._agentRuns.internalValue = value;
  }
  public resetAgentRuns() {
    this._agentRuns.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get agentRunsInput() {
    return this._agentRuns.internalValue;
  }
}

export class BundleIdentityIssuersWorkloadRulesMap extends cdktf.ComplexMap {
  public internalValue? : { [key: string]: BundleIdentityIssuersWorkloadRules } | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute)
  }

  /**
  * @param key the key of the item to return
  */
  public get(key: string): BundleIdentityIssuersWorkloadRulesOutputReference {
    return new BundleIdentityIssuersWorkloadRulesOutputReference(this.terraformResource, this.terraformAttribute, key);
  }
}
export interface BundleIdentityIssuersSignInGroupsResolverEntra {
  /**
  * Directory (tenant) ID.
  *
  */
  readonly tenant: string;
  /**
  * Application (client) ID with the permissions `User.Read.All` and `GroupMember.Read.All` of Microsoft Graph and admin consent.
  *
  */
  readonly clientId: string;
  /**
  * Client secret of that application. Stored in plain text in Terraform state and bundle; prefer `client_secret_ref`.
  *
  */
  readonly clientSecret?: string;
  /**
  * Reference to `client_secret`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly clientSecretRef?: string;
  /**
  * `client_secret`, encrypted to the gateway's public key (compact JWE). Computed from `client_secret_wo`.
  *
  */
  readonly clientSecretSealed?: string;
  /**
  * `client_secret` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `client_secret_wo_version`.
  *
  */
  readonly clientSecretWo?: string;
  /**
  * Version of `client_secret_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly clientSecretWoVersion?: number;
  /**
  * Security groups only. With `false` also distribution groups, administrative units and directory roles. Default: `true`.
  *
  */
  readonly securityEnabledOnly?: boolean | cdktf.IResolvable;
  /**
  * Token service origin of a sovereign cloud. Requires `graph_url`. Default: `https://login.microsoftonline.com`.
  *
  */
  readonly loginUrl?: string;
  /**
  * Microsoft Graph origin of a sovereign cloud. Requires `login_url`. Default: `https://graph.microsoft.com`.
  *
  */
  readonly graphUrl?: string;
}

export function bundleIdentityIssuersSignInGroupsResolverEntraToTerraform(struct?: BundleIdentityIssuersSignInGroupsResolverEntra | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    tenant: cdktf.stringToTerraform(struct!.tenant),
    client_id: cdktf.stringToTerraform(struct!.clientId),
    client_secret: cdktf.stringToTerraform(struct!.clientSecret),
    client_secret_ref: cdktf.stringToTerraform(struct!.clientSecretRef),
    client_secret_sealed: cdktf.stringToTerraform(struct!.clientSecretSealed),
    client_secret_wo: cdktf.stringToTerraform(struct!.clientSecretWo),
    client_secret_wo_version: cdktf.numberToTerraform(struct!.clientSecretWoVersion),
    security_enabled_only: cdktf.booleanToTerraform(struct!.securityEnabledOnly),
    login_url: cdktf.stringToTerraform(struct!.loginUrl),
    graph_url: cdktf.stringToTerraform(struct!.graphUrl),
  }
}


export function bundleIdentityIssuersSignInGroupsResolverEntraToHclTerraform(struct?: BundleIdentityIssuersSignInGroupsResolverEntra | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    tenant: {
      value: cdktf.stringToHclTerraform(struct!.tenant),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_id: {
      value: cdktf.stringToHclTerraform(struct!.clientId),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret: {
      value: cdktf.stringToHclTerraform(struct!.clientSecret),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_ref: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_sealed: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.clientSecretWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    security_enabled_only: {
      value: cdktf.booleanToHclTerraform(struct!.securityEnabledOnly),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    login_url: {
      value: cdktf.stringToHclTerraform(struct!.loginUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    graph_url: {
      value: cdktf.stringToHclTerraform(struct!.graphUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdentityIssuersSignInGroupsResolverEntraOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleIdentityIssuersSignInGroupsResolverEntra | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._tenant !== undefined) {
      hasAnyValues = true;
      internalValueResult.tenant = this._tenant;
    }
    if (this._clientId !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientId = this._clientId;
    }
    if (this._clientSecret !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecret = this._clientSecret;
    }
    if (this._clientSecretRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretRef = this._clientSecretRef;
    }
    if (this._clientSecretSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretSealed = this._clientSecretSealed;
    }
    if (this._clientSecretWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWo = this._clientSecretWo;
    }
    if (this._clientSecretWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWoVersion = this._clientSecretWoVersion;
    }
    if (this._securityEnabledOnly !== undefined) {
      hasAnyValues = true;
      internalValueResult.securityEnabledOnly = this._securityEnabledOnly;
    }
    if (this._loginUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.loginUrl = this._loginUrl;
    }
    if (this._graphUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.graphUrl = this._graphUrl;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdentityIssuersSignInGroupsResolverEntra | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._tenant = undefined;
      this._clientId = undefined;
      this._clientSecret = undefined;
      this._clientSecretRef = undefined;
      this._clientSecretSealed = undefined;
      this._clientSecretWo = undefined;
      this._clientSecretWoVersion = undefined;
      this._securityEnabledOnly = undefined;
      this._loginUrl = undefined;
      this._graphUrl = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._tenant = value.tenant;
      this._clientId = value.clientId;
      this._clientSecret = value.clientSecret;
      this._clientSecretRef = value.clientSecretRef;
      this._clientSecretSealed = value.clientSecretSealed;
      this._clientSecretWo = value.clientSecretWo;
      this._clientSecretWoVersion = value.clientSecretWoVersion;
      this._securityEnabledOnly = value.securityEnabledOnly;
      this._loginUrl = value.loginUrl;
      this._graphUrl = value.graphUrl;
    }
  }

  // tenant - computed: false, optional: false, required: true
  private _tenant?: string; 
  public get tenant() {
    return this.getStringAttribute('tenant');
  }
  public set tenant(value: string) {
    this._tenant = value;
  }
  // Temporarily expose input value. Use with caution.
  public get tenantInput() {
    return this._tenant;
  }

  // client_id - computed: false, optional: false, required: true
  private _clientId?: string; 
  public get clientId() {
    return this.getStringAttribute('client_id');
  }
  public set clientId(value: string) {
    this._clientId = value;
  }
  // Temporarily expose input value. Use with caution.
  public get clientIdInput() {
    return this._clientId;
  }

  // client_secret - computed: false, optional: true, required: false
  private _clientSecret?: string; 
  public get clientSecret() {
    return this.getStringAttribute('client_secret');
  }
  public set clientSecret(value: string) {
    this._clientSecret = value;
  }
  public resetClientSecret() {
    this._clientSecret = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretInput() {
    return this._clientSecret;
  }

  // client_secret_ref - computed: false, optional: true, required: false
  private _clientSecretRef?: string; 
  public get clientSecretRef() {
    return this.getStringAttribute('client_secret_ref');
  }
  public set clientSecretRef(value: string) {
    this._clientSecretRef = value;
  }
  public resetClientSecretRef() {
    this._clientSecretRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretRefInput() {
    return this._clientSecretRef;
  }

  // client_secret_sealed - computed: true, optional: true, required: false
  private _clientSecretSealed?: string; 
  public get clientSecretSealed() {
    return this.getStringAttribute('client_secret_sealed');
  }
  public set clientSecretSealed(value: string) {
    this._clientSecretSealed = value;
  }
  public resetClientSecretSealed() {
    this._clientSecretSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretSealedInput() {
    return this._clientSecretSealed;
  }

  // client_secret_wo - computed: false, optional: true, required: false
  private _clientSecretWo?: string; 
  public get clientSecretWo() {
    return this.getStringAttribute('client_secret_wo');
  }
  public set clientSecretWo(value: string) {
    this._clientSecretWo = value;
  }
  public resetClientSecretWo() {
    this._clientSecretWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoInput() {
    return this._clientSecretWo;
  }

  // client_secret_wo_version - computed: false, optional: true, required: false
  private _clientSecretWoVersion?: number; 
  public get clientSecretWoVersion() {
    return this.getNumberAttribute('client_secret_wo_version');
  }
  public set clientSecretWoVersion(value: number) {
    this._clientSecretWoVersion = value;
  }
  public resetClientSecretWoVersion() {
    this._clientSecretWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoVersionInput() {
    return this._clientSecretWoVersion;
  }

  // security_enabled_only - computed: false, optional: true, required: false
  private _securityEnabledOnly?: boolean | cdktf.IResolvable; 
  public get securityEnabledOnly() {
    return this.getBooleanAttribute('security_enabled_only');
  }
  public set securityEnabledOnly(value: boolean | cdktf.IResolvable) {
    this._securityEnabledOnly = value;
  }
  public resetSecurityEnabledOnly() {
    this._securityEnabledOnly = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get securityEnabledOnlyInput() {
    return this._securityEnabledOnly;
  }

  // login_url - computed: false, optional: true, required: false
  private _loginUrl?: string; 
  public get loginUrl() {
    return this.getStringAttribute('login_url');
  }
  public set loginUrl(value: string) {
    this._loginUrl = value;
  }
  public resetLoginUrl() {
    this._loginUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get loginUrlInput() {
    return this._loginUrl;
  }

  // graph_url - computed: false, optional: true, required: false
  private _graphUrl?: string; 
  public get graphUrl() {
    return this.getStringAttribute('graph_url');
  }
  public set graphUrl(value: string) {
    this._graphUrl = value;
  }
  public resetGraphUrl() {
    this._graphUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get graphUrlInput() {
    return this._graphUrl;
  }
}
export interface BundleIdentityIssuersSignInGroupsResolver {
  /**
  * Microsoft Graph (`getMemberObjects`), queried at sign-in and each refresh.
  *
  */
  readonly entra?: BundleIdentityIssuersSignInGroupsResolverEntra;
}

export function bundleIdentityIssuersSignInGroupsResolverToTerraform(struct?: BundleIdentityIssuersSignInGroupsResolver | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    entra: bundleIdentityIssuersSignInGroupsResolverEntraToTerraform(struct!.entra),
  }
}


export function bundleIdentityIssuersSignInGroupsResolverToHclTerraform(struct?: BundleIdentityIssuersSignInGroupsResolver | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    entra: {
      value: bundleIdentityIssuersSignInGroupsResolverEntraToHclTerraform(struct!.entra),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleIdentityIssuersSignInGroupsResolverEntra",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdentityIssuersSignInGroupsResolverOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleIdentityIssuersSignInGroupsResolver | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._entra?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.entra = this._entra?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdentityIssuersSignInGroupsResolver | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._entra.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._entra.internalValue = value.entra;
    }
  }

  // entra - computed: false, optional: true, required: false
  private _entra = new BundleIdentityIssuersSignInGroupsResolverEntraOutputReference(this, "entra");
  public get entra() {
    return this._entra;
  }
  public putEntra(value: BundleIdentityIssuersSignInGroupsResolverEntra) {
    this._entra.internalValue = value;
  }
  public resetEntra() {
    this._entra.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get entraInput() {
    return this._entra.internalValue;
  }
}
export interface BundleIdentityIssuersSignIn {
  /**
  * Client ID at this provider.
  *
  */
  readonly clientId: string;
  /**
  * Client secret at the identity provider. Stored in plain text in Terraform state and bundle; prefer `client_secret_ref`.
  *
  */
  readonly clientSecret?: string;
  /**
  * Reference to `client_secret`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly clientSecretRef?: string;
  /**
  * `client_secret`, encrypted to the gateway's public key (compact JWE). Computed from `client_secret_wo`.
  *
  */
  readonly clientSecretSealed?: string;
  /**
  * `client_secret` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `client_secret_wo_version`.
  *
  */
  readonly clientSecretWo?: string;
  /**
  * Version of `client_secret_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly clientSecretWoVersion?: number;
  /**
  * Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA of at least 2048 bits, or Ed25519. Stored in plain text in Terraform state and bundle; prefer `client_key_ref`.
  *
  */
  readonly clientKey?: string;
  /**
  * Reference to `client_key`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly clientKeyRef?: string;
  /**
  * `client_key`, encrypted to the gateway's public key (compact JWE). Computed from `client_key_wo`.
  *
  */
  readonly clientKeySealed?: string;
  /**
  * `client_key` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `client_key_wo_version`.
  *
  */
  readonly clientKeyWo?: string;
  /**
  * Version of `client_key_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly clientKeyWoVersion?: number;
  /**
  * Key ID (`kid`) of the private key. Required if the provider has several public keys of the gateway.
  *
  */
  readonly clientKeyId?: string;
  /**
  * Client secret authentication method. Required if the provider accepts only one for this client. One of `client_secret_basic`, `client_secret_post`, `client_secret_jwt`. Default: first supported method in the provider's metadata.
  *
  */
  readonly clientAuth?: string;
  /**
  * Audience of the signed client assertion: the provider's issuer or its token endpoint. One of `issuer`, `token_endpoint`. Default: `issuer`.
  *
  */
  readonly clientProofAudience?: string;
  /**
  * Push authorization requests (RFC 9126), even if the provider's metadata does not require it. Default: `false`.
  *
  */
  readonly pushRequests?: boolean | cdktf.IResolvable;
  /**
  * Name on the page where users select a provider. Default: name of the entry.
  *
  */
  readonly label?: string;
  /**
  * Exact scopes to request at sign-in. Without `offline_access` most providers issue no refresh token. Default: `openid, profile, email`, and `offline_access` unless the provider's metadata lists scopes without it.
  *
  */
  readonly scopes?: string[];
  /**
  * Claim with the user's groups: a name, or a path with dots. Quote names that contain dots: `access."my.client".roles`. Default: `groups`.
  *
  */
  readonly groupsClaim?: string;
  /**
  * Use an email address only if the provider verified it. Otherwise only addresses marked as unverified are ignored. Default: `false`.
  *
  */
  readonly requireEmailVerified?: boolean | cdktf.IResolvable;
  /**
  * Additional query parameters of the provider's authorization URL, such as `access_type: offline`.
  *
  */
  readonly requestParams?: { [key: string]: string };
  /**
  * Required claims of the ID token and their exact values, such as `hd: example.com` for Google or `tid` for Entra.
  *
  */
  readonly requiredClaims?: { [key: string]: string };
  /**
  * Source for groups that the provider omits because there are too many (Entra: more than 200).
  *
  */
  readonly groupsResolver?: BundleIdentityIssuersSignInGroupsResolver;
}

export function bundleIdentityIssuersSignInToTerraform(struct?: BundleIdentityIssuersSignIn | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    client_id: cdktf.stringToTerraform(struct!.clientId),
    client_secret: cdktf.stringToTerraform(struct!.clientSecret),
    client_secret_ref: cdktf.stringToTerraform(struct!.clientSecretRef),
    client_secret_sealed: cdktf.stringToTerraform(struct!.clientSecretSealed),
    client_secret_wo: cdktf.stringToTerraform(struct!.clientSecretWo),
    client_secret_wo_version: cdktf.numberToTerraform(struct!.clientSecretWoVersion),
    client_key: cdktf.stringToTerraform(struct!.clientKey),
    client_key_ref: cdktf.stringToTerraform(struct!.clientKeyRef),
    client_key_sealed: cdktf.stringToTerraform(struct!.clientKeySealed),
    client_key_wo: cdktf.stringToTerraform(struct!.clientKeyWo),
    client_key_wo_version: cdktf.numberToTerraform(struct!.clientKeyWoVersion),
    client_key_id: cdktf.stringToTerraform(struct!.clientKeyId),
    client_auth: cdktf.stringToTerraform(struct!.clientAuth),
    client_proof_audience: cdktf.stringToTerraform(struct!.clientProofAudience),
    push_requests: cdktf.booleanToTerraform(struct!.pushRequests),
    label: cdktf.stringToTerraform(struct!.label),
    scopes: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.scopes),
    groups_claim: cdktf.stringToTerraform(struct!.groupsClaim),
    require_email_verified: cdktf.booleanToTerraform(struct!.requireEmailVerified),
    request_params: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.requestParams),
    required_claims: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.requiredClaims),
    groups_resolver: bundleIdentityIssuersSignInGroupsResolverToTerraform(struct!.groupsResolver),
  }
}


export function bundleIdentityIssuersSignInToHclTerraform(struct?: BundleIdentityIssuersSignIn | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    client_id: {
      value: cdktf.stringToHclTerraform(struct!.clientId),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret: {
      value: cdktf.stringToHclTerraform(struct!.clientSecret),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_ref: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_sealed: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.clientSecretWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    client_key: {
      value: cdktf.stringToHclTerraform(struct!.clientKey),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_ref: {
      value: cdktf.stringToHclTerraform(struct!.clientKeyRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_sealed: {
      value: cdktf.stringToHclTerraform(struct!.clientKeySealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_wo: {
      value: cdktf.stringToHclTerraform(struct!.clientKeyWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.clientKeyWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    client_key_id: {
      value: cdktf.stringToHclTerraform(struct!.clientKeyId),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_auth: {
      value: cdktf.stringToHclTerraform(struct!.clientAuth),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_proof_audience: {
      value: cdktf.stringToHclTerraform(struct!.clientProofAudience),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    push_requests: {
      value: cdktf.booleanToHclTerraform(struct!.pushRequests),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    label: {
      value: cdktf.stringToHclTerraform(struct!.label),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    scopes: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.scopes),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    groups_claim: {
      value: cdktf.stringToHclTerraform(struct!.groupsClaim),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    require_email_verified: {
      value: cdktf.booleanToHclTerraform(struct!.requireEmailVerified),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    request_params: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.requestParams),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    required_claims: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.requiredClaims),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    groups_resolver: {
      value: bundleIdentityIssuersSignInGroupsResolverToHclTerraform(struct!.groupsResolver),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleIdentityIssuersSignInGroupsResolver",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdentityIssuersSignInOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleIdentityIssuersSignIn | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._clientId !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientId = this._clientId;
    }
    if (this._clientSecret !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecret = this._clientSecret;
    }
    if (this._clientSecretRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretRef = this._clientSecretRef;
    }
    if (this._clientSecretSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretSealed = this._clientSecretSealed;
    }
    if (this._clientSecretWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWo = this._clientSecretWo;
    }
    if (this._clientSecretWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWoVersion = this._clientSecretWoVersion;
    }
    if (this._clientKey !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKey = this._clientKey;
    }
    if (this._clientKeyRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeyRef = this._clientKeyRef;
    }
    if (this._clientKeySealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeySealed = this._clientKeySealed;
    }
    if (this._clientKeyWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeyWo = this._clientKeyWo;
    }
    if (this._clientKeyWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeyWoVersion = this._clientKeyWoVersion;
    }
    if (this._clientKeyId !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeyId = this._clientKeyId;
    }
    if (this._clientAuth !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientAuth = this._clientAuth;
    }
    if (this._clientProofAudience !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientProofAudience = this._clientProofAudience;
    }
    if (this._pushRequests !== undefined) {
      hasAnyValues = true;
      internalValueResult.pushRequests = this._pushRequests;
    }
    if (this._label !== undefined) {
      hasAnyValues = true;
      internalValueResult.label = this._label;
    }
    if (this._scopes !== undefined) {
      hasAnyValues = true;
      internalValueResult.scopes = this._scopes;
    }
    if (this._groupsClaim !== undefined) {
      hasAnyValues = true;
      internalValueResult.groupsClaim = this._groupsClaim;
    }
    if (this._requireEmailVerified !== undefined) {
      hasAnyValues = true;
      internalValueResult.requireEmailVerified = this._requireEmailVerified;
    }
    if (this._requestParams !== undefined) {
      hasAnyValues = true;
      internalValueResult.requestParams = this._requestParams;
    }
    if (this._requiredClaims !== undefined) {
      hasAnyValues = true;
      internalValueResult.requiredClaims = this._requiredClaims;
    }
    if (this._groupsResolver?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.groupsResolver = this._groupsResolver?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdentityIssuersSignIn | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._clientId = undefined;
      this._clientSecret = undefined;
      this._clientSecretRef = undefined;
      this._clientSecretSealed = undefined;
      this._clientSecretWo = undefined;
      this._clientSecretWoVersion = undefined;
      this._clientKey = undefined;
      this._clientKeyRef = undefined;
      this._clientKeySealed = undefined;
      this._clientKeyWo = undefined;
      this._clientKeyWoVersion = undefined;
      this._clientKeyId = undefined;
      this._clientAuth = undefined;
      this._clientProofAudience = undefined;
      this._pushRequests = undefined;
      this._label = undefined;
      this._scopes = undefined;
      this._groupsClaim = undefined;
      this._requireEmailVerified = undefined;
      this._requestParams = undefined;
      this._requiredClaims = undefined;
      this._groupsResolver.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._clientId = value.clientId;
      this._clientSecret = value.clientSecret;
      this._clientSecretRef = value.clientSecretRef;
      this._clientSecretSealed = value.clientSecretSealed;
      this._clientSecretWo = value.clientSecretWo;
      this._clientSecretWoVersion = value.clientSecretWoVersion;
      this._clientKey = value.clientKey;
      this._clientKeyRef = value.clientKeyRef;
      this._clientKeySealed = value.clientKeySealed;
      this._clientKeyWo = value.clientKeyWo;
      this._clientKeyWoVersion = value.clientKeyWoVersion;
      this._clientKeyId = value.clientKeyId;
      this._clientAuth = value.clientAuth;
      this._clientProofAudience = value.clientProofAudience;
      this._pushRequests = value.pushRequests;
      this._label = value.label;
      this._scopes = value.scopes;
      this._groupsClaim = value.groupsClaim;
      this._requireEmailVerified = value.requireEmailVerified;
      this._requestParams = value.requestParams;
      this._requiredClaims = value.requiredClaims;
      this._groupsResolver.internalValue = value.groupsResolver;
    }
  }

  // client_id - computed: false, optional: false, required: true
  private _clientId?: string; 
  public get clientId() {
    return this.getStringAttribute('client_id');
  }
  public set clientId(value: string) {
    this._clientId = value;
  }
  // Temporarily expose input value. Use with caution.
  public get clientIdInput() {
    return this._clientId;
  }

  // client_secret - computed: false, optional: true, required: false
  private _clientSecret?: string; 
  public get clientSecret() {
    return this.getStringAttribute('client_secret');
  }
  public set clientSecret(value: string) {
    this._clientSecret = value;
  }
  public resetClientSecret() {
    this._clientSecret = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretInput() {
    return this._clientSecret;
  }

  // client_secret_ref - computed: false, optional: true, required: false
  private _clientSecretRef?: string; 
  public get clientSecretRef() {
    return this.getStringAttribute('client_secret_ref');
  }
  public set clientSecretRef(value: string) {
    this._clientSecretRef = value;
  }
  public resetClientSecretRef() {
    this._clientSecretRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretRefInput() {
    return this._clientSecretRef;
  }

  // client_secret_sealed - computed: true, optional: true, required: false
  private _clientSecretSealed?: string; 
  public get clientSecretSealed() {
    return this.getStringAttribute('client_secret_sealed');
  }
  public set clientSecretSealed(value: string) {
    this._clientSecretSealed = value;
  }
  public resetClientSecretSealed() {
    this._clientSecretSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretSealedInput() {
    return this._clientSecretSealed;
  }

  // client_secret_wo - computed: false, optional: true, required: false
  private _clientSecretWo?: string; 
  public get clientSecretWo() {
    return this.getStringAttribute('client_secret_wo');
  }
  public set clientSecretWo(value: string) {
    this._clientSecretWo = value;
  }
  public resetClientSecretWo() {
    this._clientSecretWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoInput() {
    return this._clientSecretWo;
  }

  // client_secret_wo_version - computed: false, optional: true, required: false
  private _clientSecretWoVersion?: number; 
  public get clientSecretWoVersion() {
    return this.getNumberAttribute('client_secret_wo_version');
  }
  public set clientSecretWoVersion(value: number) {
    this._clientSecretWoVersion = value;
  }
  public resetClientSecretWoVersion() {
    this._clientSecretWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoVersionInput() {
    return this._clientSecretWoVersion;
  }

  // client_key - computed: false, optional: true, required: false
  private _clientKey?: string; 
  public get clientKey() {
    return this.getStringAttribute('client_key');
  }
  public set clientKey(value: string) {
    this._clientKey = value;
  }
  public resetClientKey() {
    this._clientKey = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyInput() {
    return this._clientKey;
  }

  // client_key_ref - computed: false, optional: true, required: false
  private _clientKeyRef?: string; 
  public get clientKeyRef() {
    return this.getStringAttribute('client_key_ref');
  }
  public set clientKeyRef(value: string) {
    this._clientKeyRef = value;
  }
  public resetClientKeyRef() {
    this._clientKeyRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyRefInput() {
    return this._clientKeyRef;
  }

  // client_key_sealed - computed: true, optional: true, required: false
  private _clientKeySealed?: string; 
  public get clientKeySealed() {
    return this.getStringAttribute('client_key_sealed');
  }
  public set clientKeySealed(value: string) {
    this._clientKeySealed = value;
  }
  public resetClientKeySealed() {
    this._clientKeySealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeySealedInput() {
    return this._clientKeySealed;
  }

  // client_key_wo - computed: false, optional: true, required: false
  private _clientKeyWo?: string; 
  public get clientKeyWo() {
    return this.getStringAttribute('client_key_wo');
  }
  public set clientKeyWo(value: string) {
    this._clientKeyWo = value;
  }
  public resetClientKeyWo() {
    this._clientKeyWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyWoInput() {
    return this._clientKeyWo;
  }

  // client_key_wo_version - computed: false, optional: true, required: false
  private _clientKeyWoVersion?: number; 
  public get clientKeyWoVersion() {
    return this.getNumberAttribute('client_key_wo_version');
  }
  public set clientKeyWoVersion(value: number) {
    this._clientKeyWoVersion = value;
  }
  public resetClientKeyWoVersion() {
    this._clientKeyWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyWoVersionInput() {
    return this._clientKeyWoVersion;
  }

  // client_key_id - computed: false, optional: true, required: false
  private _clientKeyId?: string; 
  public get clientKeyId() {
    return this.getStringAttribute('client_key_id');
  }
  public set clientKeyId(value: string) {
    this._clientKeyId = value;
  }
  public resetClientKeyId() {
    this._clientKeyId = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyIdInput() {
    return this._clientKeyId;
  }

  // client_auth - computed: false, optional: true, required: false
  private _clientAuth?: string; 
  public get clientAuth() {
    return this.getStringAttribute('client_auth');
  }
  public set clientAuth(value: string) {
    this._clientAuth = value;
  }
  public resetClientAuth() {
    this._clientAuth = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientAuthInput() {
    return this._clientAuth;
  }

  // client_proof_audience - computed: false, optional: true, required: false
  private _clientProofAudience?: string; 
  public get clientProofAudience() {
    return this.getStringAttribute('client_proof_audience');
  }
  public set clientProofAudience(value: string) {
    this._clientProofAudience = value;
  }
  public resetClientProofAudience() {
    this._clientProofAudience = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientProofAudienceInput() {
    return this._clientProofAudience;
  }

  // push_requests - computed: false, optional: true, required: false
  private _pushRequests?: boolean | cdktf.IResolvable; 
  public get pushRequests() {
    return this.getBooleanAttribute('push_requests');
  }
  public set pushRequests(value: boolean | cdktf.IResolvable) {
    this._pushRequests = value;
  }
  public resetPushRequests() {
    this._pushRequests = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get pushRequestsInput() {
    return this._pushRequests;
  }

  // label - computed: false, optional: true, required: false
  private _label?: string; 
  public get label() {
    return this.getStringAttribute('label');
  }
  public set label(value: string) {
    this._label = value;
  }
  public resetLabel() {
    this._label = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get labelInput() {
    return this._label;
  }

  // scopes - computed: false, optional: true, required: false
  private _scopes?: string[]; 
  public get scopes() {
    return this.getListAttribute('scopes');
  }
  public set scopes(value: string[]) {
    this._scopes = value;
  }
  public resetScopes() {
    this._scopes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get scopesInput() {
    return this._scopes;
  }

  // groups_claim - computed: false, optional: true, required: false
  private _groupsClaim?: string; 
  public get groupsClaim() {
    return this.getStringAttribute('groups_claim');
  }
  public set groupsClaim(value: string) {
    this._groupsClaim = value;
  }
  public resetGroupsClaim() {
    this._groupsClaim = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get groupsClaimInput() {
    return this._groupsClaim;
  }

  // require_email_verified - computed: false, optional: true, required: false
  private _requireEmailVerified?: boolean | cdktf.IResolvable; 
  public get requireEmailVerified() {
    return this.getBooleanAttribute('require_email_verified');
  }
  public set requireEmailVerified(value: boolean | cdktf.IResolvable) {
    this._requireEmailVerified = value;
  }
  public resetRequireEmailVerified() {
    this._requireEmailVerified = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get requireEmailVerifiedInput() {
    return this._requireEmailVerified;
  }

  // request_params - computed: false, optional: true, required: false
  private _requestParams?: { [key: string]: string }; 
  public get requestParams() {
    return this.getStringMapAttribute('request_params');
  }
  public set requestParams(value: { [key: string]: string }) {
    this._requestParams = value;
  }
  public resetRequestParams() {
    this._requestParams = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get requestParamsInput() {
    return this._requestParams;
  }

  // required_claims - computed: false, optional: true, required: false
  private _requiredClaims?: { [key: string]: string }; 
  public get requiredClaims() {
    return this.getStringMapAttribute('required_claims');
  }
  public set requiredClaims(value: { [key: string]: string }) {
    this._requiredClaims = value;
  }
  public resetRequiredClaims() {
    this._requiredClaims = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get requiredClaimsInput() {
    return this._requiredClaims;
  }

  // groups_resolver - computed: false, optional: true, required: false
  private _groupsResolver = new BundleIdentityIssuersSignInGroupsResolverOutputReference(this, "groups_resolver");
  public get groupsResolver() {
    return this._groupsResolver;
  }
  public putGroupsResolver(value: BundleIdentityIssuersSignInGroupsResolver) {
    this._groupsResolver.internalValue = value;
  }
  public resetGroupsResolver() {
    this._groupsResolver.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get groupsResolverInput() {
    return this._groupsResolver.internalValue;
  }
}
export interface BundleIdentityIssuers {
  /**
  * Issuer identifier, exactly as in `iss`. Its users are `issuer:<name>/<sub>`, unless it equals `idp_provider_url`.
  *
  */
  readonly issuer: string;
  /**
  * What its tokens are accepted for: identity assertions of MCP clients, tokens of workloads, revoking access, or sign-in.
  *
  */
  readonly uses: string[];
  /**
  * URL of its public keys: `https://`, or `http://` on loopback. Default: discovered from `issuer`, on its own origin or a public address.
  *
  */
  readonly jwksUrl?: string;
  /**
  * Public keys as JSON (JWK set), instead of `jwks_url` and discovery.
  *
  */
  readonly jwks?: string;
  /**
  * Accepted signature algorithms. Default: `ES256, ES384, EdDSA, PS256, RS256`.
  *
  */
  readonly algorithms?: string[];
  /**
  * Hosts on which its assertions and tokens are accepted (`id_jag`, `workload`). Default: all hosts.
  *
  */
  readonly hosts?: string[];
  /**
  * Client IDs that can present its assertions. Default: every client named in an assertion.
  *
  */
  readonly allowedClients?: string[];
  /**
  * Accept clients without authentication. Anyone who has an assertion can then use it once, as its client. Default: `false`.
  *
  */
  readonly allowPublicClients?: boolean | cdktf.IResolvable;
  /**
  * Maximum lifetime of an assertion (up to `1h` with `id_jag`, else `24h`), or age of a logout token. Default: `5m` with `id_jag` and `logout`, `1h` with `workload`.
  *
  */
  readonly maxAssertionAge?: string;
  /**
  * Maximum lifetime of tokens issued for its assertions. Default: `access_token_lifetime`.
  *
  */
  readonly maxTokenLifetime?: string;
  /**
  * Email domains for which it is trusted. Other addresses, and those marked as unverified, are ignored.
  *
  */
  readonly emailDomains?: string[];
  /**
  * With `workload`: accepted audiences (`aud`). Tokens with any other audience are rejected. Default: origin of the requested host, with or without a trailing slash, and its token endpoint.
  *
  */
  readonly audiences?: string[];
  /**
  * With `workload`: whether a token can be exchanged once or repeatedly. One of `once`, `allowed`. Default: `once`.
  *
  */
  readonly replay?: string;
  /**
  * With `workload`: ignore a `client_id` sent without authentication. Default: `false`.
  *
  */
  readonly ignoreClientId?: boolean | cdktf.IResolvable;
  /**
  * Additional client IDs accepted as audience of back-channel logout tokens.
  *
  */
  readonly logoutAudiences?: string[];
  /**
  * Back-channel logout also revokes grants of MCP clients and earlier assertions. Default: `false`.
  *
  */
  readonly logoutEndsGrants?: boolean | cdktf.IResolvable;
  /**
  * Workloads to accept, by rule name. All matching rules apply. Required with `workload`.
  *
  */
  readonly workloadRules?: { [key: string]: BundleIdentityIssuersWorkloadRules } | cdktf.IResolvable;
  /**
  * Sign-in of its users. Register the redirect URI `/.gateway/callback/<name>` on the host of the sign-in pages.
  *
  */
  readonly signIn?: BundleIdentityIssuersSignIn;
}

export function bundleIdentityIssuersToTerraform(struct?: BundleIdentityIssuers | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    issuer: cdktf.stringToTerraform(struct!.issuer),
    uses: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.uses),
    jwks_url: cdktf.stringToTerraform(struct!.jwksUrl),
    jwks: cdktf.stringToTerraform(struct!.jwks),
    algorithms: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.algorithms),
    hosts: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.hosts),
    allowed_clients: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.allowedClients),
    allow_public_clients: cdktf.booleanToTerraform(struct!.allowPublicClients),
    max_assertion_age: cdktf.stringToTerraform(struct!.maxAssertionAge),
    max_token_lifetime: cdktf.stringToTerraform(struct!.maxTokenLifetime),
    email_domains: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.emailDomains),
    audiences: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.audiences),
    replay: cdktf.stringToTerraform(struct!.replay),
    ignore_client_id: cdktf.booleanToTerraform(struct!.ignoreClientId),
    logout_audiences: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.logoutAudiences),
    logout_ends_grants: cdktf.booleanToTerraform(struct!.logoutEndsGrants),
    workload_rules: cdktf.hashMapper(bundleIdentityIssuersWorkloadRulesToTerraform)(struct!.workloadRules),
    sign_in: bundleIdentityIssuersSignInToTerraform(struct!.signIn),
  }
}


export function bundleIdentityIssuersToHclTerraform(struct?: BundleIdentityIssuers | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    issuer: {
      value: cdktf.stringToHclTerraform(struct!.issuer),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    uses: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.uses),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    jwks_url: {
      value: cdktf.stringToHclTerraform(struct!.jwksUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    jwks: {
      value: cdktf.stringToHclTerraform(struct!.jwks),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    algorithms: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.algorithms),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    hosts: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.hosts),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    allowed_clients: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.allowedClients),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    allow_public_clients: {
      value: cdktf.booleanToHclTerraform(struct!.allowPublicClients),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    max_assertion_age: {
      value: cdktf.stringToHclTerraform(struct!.maxAssertionAge),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    max_token_lifetime: {
      value: cdktf.stringToHclTerraform(struct!.maxTokenLifetime),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    email_domains: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.emailDomains),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    audiences: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.audiences),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    replay: {
      value: cdktf.stringToHclTerraform(struct!.replay),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    ignore_client_id: {
      value: cdktf.booleanToHclTerraform(struct!.ignoreClientId),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    logout_audiences: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.logoutAudiences),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    logout_ends_grants: {
      value: cdktf.booleanToHclTerraform(struct!.logoutEndsGrants),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    workload_rules: {
      value: cdktf.hashMapperHcl(bundleIdentityIssuersWorkloadRulesToHclTerraform)(struct!.workloadRules),
      isBlock: true,
      type: "map",
      storageClassType: "BundleIdentityIssuersWorkloadRulesMap",
    },
    sign_in: {
      value: bundleIdentityIssuersSignInToHclTerraform(struct!.signIn),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleIdentityIssuersSignIn",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleIdentityIssuersOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectKey the key of this item in the map
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectKey: string) {
    super(terraformResource, terraformAttribute, false, complexObjectKey);
  }

  public get internalValue(): BundleIdentityIssuers | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._issuer !== undefined) {
      hasAnyValues = true;
      internalValueResult.issuer = this._issuer;
    }
    if (this._uses !== undefined) {
      hasAnyValues = true;
      internalValueResult.uses = this._uses;
    }
    if (this._jwksUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.jwksUrl = this._jwksUrl;
    }
    if (this._jwks !== undefined) {
      hasAnyValues = true;
      internalValueResult.jwks = this._jwks;
    }
    if (this._algorithms !== undefined) {
      hasAnyValues = true;
      internalValueResult.algorithms = this._algorithms;
    }
    if (this._hosts !== undefined) {
      hasAnyValues = true;
      internalValueResult.hosts = this._hosts;
    }
    if (this._allowedClients !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowedClients = this._allowedClients;
    }
    if (this._allowPublicClients !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowPublicClients = this._allowPublicClients;
    }
    if (this._maxAssertionAge !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxAssertionAge = this._maxAssertionAge;
    }
    if (this._maxTokenLifetime !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxTokenLifetime = this._maxTokenLifetime;
    }
    if (this._emailDomains !== undefined) {
      hasAnyValues = true;
      internalValueResult.emailDomains = this._emailDomains;
    }
    if (this._audiences !== undefined) {
      hasAnyValues = true;
      internalValueResult.audiences = this._audiences;
    }
    if (this._replay !== undefined) {
      hasAnyValues = true;
      internalValueResult.replay = this._replay;
    }
    if (this._ignoreClientId !== undefined) {
      hasAnyValues = true;
      internalValueResult.ignoreClientId = this._ignoreClientId;
    }
    if (this._logoutAudiences !== undefined) {
      hasAnyValues = true;
      internalValueResult.logoutAudiences = this._logoutAudiences;
    }
    if (this._logoutEndsGrants !== undefined) {
      hasAnyValues = true;
      internalValueResult.logoutEndsGrants = this._logoutEndsGrants;
    }
    if (this._workloadRules?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.workloadRules = this._workloadRules?.internalValue;
    }
    if (this._signIn?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.signIn = this._signIn?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleIdentityIssuers | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._issuer = undefined;
      this._uses = undefined;
      this._jwksUrl = undefined;
      this._jwks = undefined;
      this._algorithms = undefined;
      this._hosts = undefined;
      this._allowedClients = undefined;
      this._allowPublicClients = undefined;
      this._maxAssertionAge = undefined;
      this._maxTokenLifetime = undefined;
      this._emailDomains = undefined;
      this._audiences = undefined;
      this._replay = undefined;
      this._ignoreClientId = undefined;
      this._logoutAudiences = undefined;
      this._logoutEndsGrants = undefined;
      this._workloadRules.internalValue = undefined;
      this._signIn.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._issuer = value.issuer;
      this._uses = value.uses;
      this._jwksUrl = value.jwksUrl;
      this._jwks = value.jwks;
      this._algorithms = value.algorithms;
      this._hosts = value.hosts;
      this._allowedClients = value.allowedClients;
      this._allowPublicClients = value.allowPublicClients;
      this._maxAssertionAge = value.maxAssertionAge;
      this._maxTokenLifetime = value.maxTokenLifetime;
      this._emailDomains = value.emailDomains;
      this._audiences = value.audiences;
      this._replay = value.replay;
      this._ignoreClientId = value.ignoreClientId;
      this._logoutAudiences = value.logoutAudiences;
      this._logoutEndsGrants = value.logoutEndsGrants;
      this._workloadRules.internalValue = value.workloadRules;
      this._signIn.internalValue = value.signIn;
    }
  }

  // issuer - computed: false, optional: false, required: true
  private _issuer?: string; 
  public get issuer() {
    return this.getStringAttribute('issuer');
  }
  public set issuer(value: string) {
    this._issuer = value;
  }
  // Temporarily expose input value. Use with caution.
  public get issuerInput() {
    return this._issuer;
  }

  // uses - computed: false, optional: false, required: true
  private _uses?: string[]; 
  public get uses() {
    return this.getListAttribute('uses');
  }
  public set uses(value: string[]) {
    this._uses = value;
  }
  // Temporarily expose input value. Use with caution.
  public get usesInput() {
    return this._uses;
  }

  // jwks_url - computed: false, optional: true, required: false
  private _jwksUrl?: string; 
  public get jwksUrl() {
    return this.getStringAttribute('jwks_url');
  }
  public set jwksUrl(value: string) {
    this._jwksUrl = value;
  }
  public resetJwksUrl() {
    this._jwksUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get jwksUrlInput() {
    return this._jwksUrl;
  }

  // jwks - computed: false, optional: true, required: false
  private _jwks?: string; 
  public get jwks() {
    return this.getStringAttribute('jwks');
  }
  public set jwks(value: string) {
    this._jwks = value;
  }
  public resetJwks() {
    this._jwks = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get jwksInput() {
    return this._jwks;
  }

  // algorithms - computed: false, optional: true, required: false
  private _algorithms?: string[]; 
  public get algorithms() {
    return this.getListAttribute('algorithms');
  }
  public set algorithms(value: string[]) {
    this._algorithms = value;
  }
  public resetAlgorithms() {
    this._algorithms = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get algorithmsInput() {
    return this._algorithms;
  }

  // hosts - computed: false, optional: true, required: false
  private _hosts?: string[]; 
  public get hosts() {
    return this.getListAttribute('hosts');
  }
  public set hosts(value: string[]) {
    this._hosts = value;
  }
  public resetHosts() {
    this._hosts = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostsInput() {
    return this._hosts;
  }

  // allowed_clients - computed: false, optional: true, required: false
  private _allowedClients?: string[]; 
  public get allowedClients() {
    return this.getListAttribute('allowed_clients');
  }
  public set allowedClients(value: string[]) {
    this._allowedClients = value;
  }
  public resetAllowedClients() {
    this._allowedClients = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowedClientsInput() {
    return this._allowedClients;
  }

  // allow_public_clients - computed: false, optional: true, required: false
  private _allowPublicClients?: boolean | cdktf.IResolvable; 
  public get allowPublicClients() {
    return this.getBooleanAttribute('allow_public_clients');
  }
  public set allowPublicClients(value: boolean | cdktf.IResolvable) {
    this._allowPublicClients = value;
  }
  public resetAllowPublicClients() {
    this._allowPublicClients = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowPublicClientsInput() {
    return this._allowPublicClients;
  }

  // max_assertion_age - computed: false, optional: true, required: false
  private _maxAssertionAge?: string; 
  public get maxAssertionAge() {
    return this.getStringAttribute('max_assertion_age');
  }
  public set maxAssertionAge(value: string) {
    this._maxAssertionAge = value;
  }
  public resetMaxAssertionAge() {
    this._maxAssertionAge = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxAssertionAgeInput() {
    return this._maxAssertionAge;
  }

  // max_token_lifetime - computed: false, optional: true, required: false
  private _maxTokenLifetime?: string; 
  public get maxTokenLifetime() {
    return this.getStringAttribute('max_token_lifetime');
  }
  public set maxTokenLifetime(value: string) {
    this._maxTokenLifetime = value;
  }
  public resetMaxTokenLifetime() {
    this._maxTokenLifetime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxTokenLifetimeInput() {
    return this._maxTokenLifetime;
  }

  // email_domains - computed: false, optional: true, required: false
  private _emailDomains?: string[]; 
  public get emailDomains() {
    return this.getListAttribute('email_domains');
  }
  public set emailDomains(value: string[]) {
    this._emailDomains = value;
  }
  public resetEmailDomains() {
    this._emailDomains = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get emailDomainsInput() {
    return this._emailDomains;
  }

  // audiences - computed: false, optional: true, required: false
  private _audiences?: string[]; 
  public get audiences() {
    return this.getListAttribute('audiences');
  }
  public set audiences(value: string[]) {
    this._audiences = value;
  }
  public resetAudiences() {
    this._audiences = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get audiencesInput() {
    return this._audiences;
  }

  // replay - computed: false, optional: true, required: false
  private _replay?: string; 
  public get replay() {
    return this.getStringAttribute('replay');
  }
  public set replay(value: string) {
    this._replay = value;
  }
  public resetReplay() {
    this._replay = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get replayInput() {
    return this._replay;
  }

  // ignore_client_id - computed: false, optional: true, required: false
  private _ignoreClientId?: boolean | cdktf.IResolvable; 
  public get ignoreClientId() {
    return this.getBooleanAttribute('ignore_client_id');
  }
  public set ignoreClientId(value: boolean | cdktf.IResolvable) {
    this._ignoreClientId = value;
  }
  public resetIgnoreClientId() {
    this._ignoreClientId = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get ignoreClientIdInput() {
    return this._ignoreClientId;
  }

  // logout_audiences - computed: false, optional: true, required: false
  private _logoutAudiences?: string[]; 
  public get logoutAudiences() {
    return this.getListAttribute('logout_audiences');
  }
  public set logoutAudiences(value: string[]) {
    this._logoutAudiences = value;
  }
  public resetLogoutAudiences() {
    this._logoutAudiences = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get logoutAudiencesInput() {
    return this._logoutAudiences;
  }

  // logout_ends_grants - computed: false, optional: true, required: false
  private _logoutEndsGrants?: boolean | cdktf.IResolvable; 
  public get logoutEndsGrants() {
    return this.getBooleanAttribute('logout_ends_grants');
  }
  public set logoutEndsGrants(value: boolean | cdktf.IResolvable) {
    this._logoutEndsGrants = value;
  }
  public resetLogoutEndsGrants() {
    this._logoutEndsGrants = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get logoutEndsGrantsInput() {
    return this._logoutEndsGrants;
  }

  // workload_rules - computed: false, optional: true, required: false
  private _workloadRules = new BundleIdentityIssuersWorkloadRulesMap(this, "workload_rules");
  public get workloadRules() {
    return this._workloadRules;
  }
  public putWorkloadRules(value: { [key: string]: BundleIdentityIssuersWorkloadRules } | cdktf.IResolvable) {
    this._workloadRules.internalValue = value;
  }
  public resetWorkloadRules() {
    this._workloadRules.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get workloadRulesInput() {
    return this._workloadRules.internalValue;
  }

  // sign_in - computed: false, optional: true, required: false
  private _signIn = new BundleIdentityIssuersSignInOutputReference(this, "sign_in");
  public get signIn() {
    return this._signIn;
  }
  public putSignIn(value: BundleIdentityIssuersSignIn) {
    this._signIn.internalValue = value;
  }
  public resetSignIn() {
    this._signIn.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get signInInput() {
    return this._signIn.internalValue;
  }
}

export class BundleIdentityIssuersMap extends cdktf.ComplexMap {
  public internalValue? : { [key: string]: BundleIdentityIssuers } | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute)
  }

  /**
  * @param key the key of the item to return
  */
  public get(key: string): BundleIdentityIssuersOutputReference {
    return new BundleIdentityIssuersOutputReference(this.terraformResource, this.terraformAttribute, key);
  }
}
export interface BundleDirectories {
  /**
  * Identity provider of its users: `default` for `idp_provider_url`, or a name in `identity_issuers`. Default: `default`.
  *
  */
  readonly provider?: string;
  /**
  * Bearer token of the provider's SCIM client. At least 20 characters. Stored in plain text in Terraform state and bundle; prefer `token_ref`.
  *
  */
  readonly token?: string;
  /**
  * Reference to `token`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly tokenRef?: string;
  /**
  * `token`, encrypted to the gateway's public key (compact JWE). Computed from `token_wo`.
  *
  */
  readonly tokenSealed?: string;
  /**
  * `token` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `token_wo_version`.
  *
  */
  readonly tokenWo?: string;
  /**
  * Version of `token_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly tokenWoVersion?: number;
  /**
  * Previous token, also accepted during rotation. Stored in plain text in Terraform state and bundle; prefer `previous_token_ref`.
  *
  */
  readonly previousToken?: string;
  /**
  * Reference to `previous_token`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly previousTokenRef?: string;
  /**
  * `previous_token`, encrypted to the gateway's public key (compact JWE). Computed from `previous_token_wo`.
  *
  */
  readonly previousTokenSealed?: string;
  /**
  * `previous_token` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `previous_token_wo_version`.
  *
  */
  readonly previousTokenWo?: string;
  /**
  * Version of `previous_token_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly previousTokenWoVersion?: number;
  /**
  * SCIM attribute that identifies the user. One of `externalId`, `userName`. Default: `externalId`.
  *
  */
  readonly subjectAttribute?: string;
  /**
  * Claim that `subject_attribute` must equal exactly. For Entra use `oid` and map `objectId` to `externalId`. One of `sub`, `oid`. Default: `sub`.
  *
  */
  readonly subjectClaim?: string;
  /**
  * Source of user groups: this directory, also the sign-in, or only the sign-in. One of `directory`, `both`, `claims`. Default: `directory`.
  *
  */
  readonly groups?: string;
  /**
  * Attribute that names groups in policies. One of `displayName`, `externalId`. Default: `displayName`.
  *
  */
  readonly groupAttribute?: string;
  /**
  * Treatment of users of the provider who are not in the directory. One of `allowed`, `refused`. Default: `allowed`.
  *
  */
  readonly unlistedUsers?: string;
  /**
  * Maximum number of users. Further ones are rejected. Default: `250000`.
  *
  */
  readonly maxUsers?: number;
  /**
  * Maximum number of groups. Default: `50000`.
  *
  */
  readonly maxGroups?: number;
}

export function bundleDirectoriesToTerraform(struct?: BundleDirectories | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    provider: cdktf.stringToTerraform(struct!.provider),
    token: cdktf.stringToTerraform(struct!.token),
    token_ref: cdktf.stringToTerraform(struct!.tokenRef),
    token_sealed: cdktf.stringToTerraform(struct!.tokenSealed),
    token_wo: cdktf.stringToTerraform(struct!.tokenWo),
    token_wo_version: cdktf.numberToTerraform(struct!.tokenWoVersion),
    previous_token: cdktf.stringToTerraform(struct!.previousToken),
    previous_token_ref: cdktf.stringToTerraform(struct!.previousTokenRef),
    previous_token_sealed: cdktf.stringToTerraform(struct!.previousTokenSealed),
    previous_token_wo: cdktf.stringToTerraform(struct!.previousTokenWo),
    previous_token_wo_version: cdktf.numberToTerraform(struct!.previousTokenWoVersion),
    subject_attribute: cdktf.stringToTerraform(struct!.subjectAttribute),
    subject_claim: cdktf.stringToTerraform(struct!.subjectClaim),
    groups: cdktf.stringToTerraform(struct!.groups),
    group_attribute: cdktf.stringToTerraform(struct!.groupAttribute),
    unlisted_users: cdktf.stringToTerraform(struct!.unlistedUsers),
    max_users: cdktf.numberToTerraform(struct!.maxUsers),
    max_groups: cdktf.numberToTerraform(struct!.maxGroups),
  }
}


export function bundleDirectoriesToHclTerraform(struct?: BundleDirectories | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    provider: {
      value: cdktf.stringToHclTerraform(struct!.provider),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token: {
      value: cdktf.stringToHclTerraform(struct!.token),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token_ref: {
      value: cdktf.stringToHclTerraform(struct!.tokenRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token_sealed: {
      value: cdktf.stringToHclTerraform(struct!.tokenSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token_wo: {
      value: cdktf.stringToHclTerraform(struct!.tokenWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.tokenWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    previous_token: {
      value: cdktf.stringToHclTerraform(struct!.previousToken),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    previous_token_ref: {
      value: cdktf.stringToHclTerraform(struct!.previousTokenRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    previous_token_sealed: {
      value: cdktf.stringToHclTerraform(struct!.previousTokenSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    previous_token_wo: {
      value: cdktf.stringToHclTerraform(struct!.previousTokenWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    previous_token_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.previousTokenWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    subject_attribute: {
      value: cdktf.stringToHclTerraform(struct!.subjectAttribute),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    subject_claim: {
      value: cdktf.stringToHclTerraform(struct!.subjectClaim),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    groups: {
      value: cdktf.stringToHclTerraform(struct!.groups),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    group_attribute: {
      value: cdktf.stringToHclTerraform(struct!.groupAttribute),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    unlisted_users: {
      value: cdktf.stringToHclTerraform(struct!.unlistedUsers),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    max_users: {
      value: cdktf.numberToHclTerraform(struct!.maxUsers),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    max_groups: {
      value: cdktf.numberToHclTerraform(struct!.maxGroups),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleDirectoriesOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectKey the key of this item in the map
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectKey: string) {
    super(terraformResource, terraformAttribute, false, complexObjectKey);
  }

  public get internalValue(): BundleDirectories | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._provider !== undefined) {
      hasAnyValues = true;
      internalValueResult.provider = this._provider;
    }
    if (this._token !== undefined) {
      hasAnyValues = true;
      internalValueResult.token = this._token;
    }
    if (this._tokenRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.tokenRef = this._tokenRef;
    }
    if (this._tokenSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.tokenSealed = this._tokenSealed;
    }
    if (this._tokenWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.tokenWo = this._tokenWo;
    }
    if (this._tokenWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.tokenWoVersion = this._tokenWoVersion;
    }
    if (this._previousToken !== undefined) {
      hasAnyValues = true;
      internalValueResult.previousToken = this._previousToken;
    }
    if (this._previousTokenRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.previousTokenRef = this._previousTokenRef;
    }
    if (this._previousTokenSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.previousTokenSealed = this._previousTokenSealed;
    }
    if (this._previousTokenWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.previousTokenWo = this._previousTokenWo;
    }
    if (this._previousTokenWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.previousTokenWoVersion = this._previousTokenWoVersion;
    }
    if (this._subjectAttribute !== undefined) {
      hasAnyValues = true;
      internalValueResult.subjectAttribute = this._subjectAttribute;
    }
    if (this._subjectClaim !== undefined) {
      hasAnyValues = true;
      internalValueResult.subjectClaim = this._subjectClaim;
    }
    if (this._groups !== undefined) {
      hasAnyValues = true;
      internalValueResult.groups = this._groups;
    }
    if (this._groupAttribute !== undefined) {
      hasAnyValues = true;
      internalValueResult.groupAttribute = this._groupAttribute;
    }
    if (this._unlistedUsers !== undefined) {
      hasAnyValues = true;
      internalValueResult.unlistedUsers = this._unlistedUsers;
    }
    if (this._maxUsers !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxUsers = this._maxUsers;
    }
    if (this._maxGroups !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxGroups = this._maxGroups;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleDirectories | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._provider = undefined;
      this._token = undefined;
      this._tokenRef = undefined;
      this._tokenSealed = undefined;
      this._tokenWo = undefined;
      this._tokenWoVersion = undefined;
      this._previousToken = undefined;
      this._previousTokenRef = undefined;
      this._previousTokenSealed = undefined;
      this._previousTokenWo = undefined;
      this._previousTokenWoVersion = undefined;
      this._subjectAttribute = undefined;
      this._subjectClaim = undefined;
      this._groups = undefined;
      this._groupAttribute = undefined;
      this._unlistedUsers = undefined;
      this._maxUsers = undefined;
      this._maxGroups = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._provider = value.provider;
      this._token = value.token;
      this._tokenRef = value.tokenRef;
      this._tokenSealed = value.tokenSealed;
      this._tokenWo = value.tokenWo;
      this._tokenWoVersion = value.tokenWoVersion;
      this._previousToken = value.previousToken;
      this._previousTokenRef = value.previousTokenRef;
      this._previousTokenSealed = value.previousTokenSealed;
      this._previousTokenWo = value.previousTokenWo;
      this._previousTokenWoVersion = value.previousTokenWoVersion;
      this._subjectAttribute = value.subjectAttribute;
      this._subjectClaim = value.subjectClaim;
      this._groups = value.groups;
      this._groupAttribute = value.groupAttribute;
      this._unlistedUsers = value.unlistedUsers;
      this._maxUsers = value.maxUsers;
      this._maxGroups = value.maxGroups;
    }
  }

  // provider - computed: false, optional: true, required: false
  private _provider?: string; 
  public get provider() {
    return this.getStringAttribute('provider');
  }
  public set provider(value: string) {
    this._provider = value;
  }
  public resetProvider() {
    this._provider = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get providerInput() {
    return this._provider;
  }

  // token - computed: false, optional: true, required: false
  private _token?: string; 
  public get token() {
    return this.getStringAttribute('token');
  }
  public set token(value: string) {
    this._token = value;
  }
  public resetToken() {
    this._token = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenInput() {
    return this._token;
  }

  // token_ref - computed: false, optional: true, required: false
  private _tokenRef?: string; 
  public get tokenRef() {
    return this.getStringAttribute('token_ref');
  }
  public set tokenRef(value: string) {
    this._tokenRef = value;
  }
  public resetTokenRef() {
    this._tokenRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenRefInput() {
    return this._tokenRef;
  }

  // token_sealed - computed: true, optional: true, required: false
  private _tokenSealed?: string; 
  public get tokenSealed() {
    return this.getStringAttribute('token_sealed');
  }
  public set tokenSealed(value: string) {
    this._tokenSealed = value;
  }
  public resetTokenSealed() {
    this._tokenSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenSealedInput() {
    return this._tokenSealed;
  }

  // token_wo - computed: false, optional: true, required: false
  private _tokenWo?: string; 
  public get tokenWo() {
    return this.getStringAttribute('token_wo');
  }
  public set tokenWo(value: string) {
    this._tokenWo = value;
  }
  public resetTokenWo() {
    this._tokenWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenWoInput() {
    return this._tokenWo;
  }

  // token_wo_version - computed: false, optional: true, required: false
  private _tokenWoVersion?: number; 
  public get tokenWoVersion() {
    return this.getNumberAttribute('token_wo_version');
  }
  public set tokenWoVersion(value: number) {
    this._tokenWoVersion = value;
  }
  public resetTokenWoVersion() {
    this._tokenWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenWoVersionInput() {
    return this._tokenWoVersion;
  }

  // previous_token - computed: false, optional: true, required: false
  private _previousToken?: string; 
  public get previousToken() {
    return this.getStringAttribute('previous_token');
  }
  public set previousToken(value: string) {
    this._previousToken = value;
  }
  public resetPreviousToken() {
    this._previousToken = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get previousTokenInput() {
    return this._previousToken;
  }

  // previous_token_ref - computed: false, optional: true, required: false
  private _previousTokenRef?: string; 
  public get previousTokenRef() {
    return this.getStringAttribute('previous_token_ref');
  }
  public set previousTokenRef(value: string) {
    this._previousTokenRef = value;
  }
  public resetPreviousTokenRef() {
    this._previousTokenRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get previousTokenRefInput() {
    return this._previousTokenRef;
  }

  // previous_token_sealed - computed: true, optional: true, required: false
  private _previousTokenSealed?: string; 
  public get previousTokenSealed() {
    return this.getStringAttribute('previous_token_sealed');
  }
  public set previousTokenSealed(value: string) {
    this._previousTokenSealed = value;
  }
  public resetPreviousTokenSealed() {
    this._previousTokenSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get previousTokenSealedInput() {
    return this._previousTokenSealed;
  }

  // previous_token_wo - computed: false, optional: true, required: false
  private _previousTokenWo?: string; 
  public get previousTokenWo() {
    return this.getStringAttribute('previous_token_wo');
  }
  public set previousTokenWo(value: string) {
    this._previousTokenWo = value;
  }
  public resetPreviousTokenWo() {
    this._previousTokenWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get previousTokenWoInput() {
    return this._previousTokenWo;
  }

  // previous_token_wo_version - computed: false, optional: true, required: false
  private _previousTokenWoVersion?: number; 
  public get previousTokenWoVersion() {
    return this.getNumberAttribute('previous_token_wo_version');
  }
  public set previousTokenWoVersion(value: number) {
    this._previousTokenWoVersion = value;
  }
  public resetPreviousTokenWoVersion() {
    this._previousTokenWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get previousTokenWoVersionInput() {
    return this._previousTokenWoVersion;
  }

  // subject_attribute - computed: false, optional: true, required: false
  private _subjectAttribute?: string; 
  public get subjectAttribute() {
    return this.getStringAttribute('subject_attribute');
  }
  public set subjectAttribute(value: string) {
    this._subjectAttribute = value;
  }
  public resetSubjectAttribute() {
    this._subjectAttribute = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get subjectAttributeInput() {
    return this._subjectAttribute;
  }

  // subject_claim - computed: false, optional: true, required: false
  private _subjectClaim?: string; 
  public get subjectClaim() {
    return this.getStringAttribute('subject_claim');
  }
  public set subjectClaim(value: string) {
    this._subjectClaim = value;
  }
  public resetSubjectClaim() {
    this._subjectClaim = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get subjectClaimInput() {
    return this._subjectClaim;
  }

  // groups - computed: false, optional: true, required: false
  private _groups?: string; 
  public get groups() {
    return this.getStringAttribute('groups');
  }
  public set groups(value: string) {
    this._groups = value;
  }
  public resetGroups() {
    this._groups = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get groupsInput() {
    return this._groups;
  }

  // group_attribute - computed: false, optional: true, required: false
  private _groupAttribute?: string; 
  public get groupAttribute() {
    return this.getStringAttribute('group_attribute');
  }
  public set groupAttribute(value: string) {
    this._groupAttribute = value;
  }
  public resetGroupAttribute() {
    this._groupAttribute = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get groupAttributeInput() {
    return this._groupAttribute;
  }

  // unlisted_users - computed: false, optional: true, required: false
  private _unlistedUsers?: string; 
  public get unlistedUsers() {
    return this.getStringAttribute('unlisted_users');
  }
  public set unlistedUsers(value: string) {
    this._unlistedUsers = value;
  }
  public resetUnlistedUsers() {
    this._unlistedUsers = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get unlistedUsersInput() {
    return this._unlistedUsers;
  }

  // max_users - computed: false, optional: true, required: false
  private _maxUsers?: number; 
  public get maxUsers() {
    return this.getNumberAttribute('max_users');
  }
  public set maxUsers(value: number) {
    this._maxUsers = value;
  }
  public resetMaxUsers() {
    this._maxUsers = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxUsersInput() {
    return this._maxUsers;
  }

  // max_groups - computed: false, optional: true, required: false
  private _maxGroups?: number; 
  public get maxGroups() {
    return this.getNumberAttribute('max_groups');
  }
  public set maxGroups(value: number) {
    this._maxGroups = value;
  }
  public resetMaxGroups() {
    this._maxGroups = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxGroupsInput() {
    return this._maxGroups;
  }
}

export class BundleDirectoriesMap extends cdktf.ComplexMap {
  public internalValue? : { [key: string]: BundleDirectories } | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute)
  }

  /**
  * @param key the key of the item to return
  */
  public get(key: string): BundleDirectoriesOutputReference {
    return new BundleDirectoriesOutputReference(this.terraformResource, this.terraformAttribute, key);
  }
}
export interface BundleHostCertificates {
  /**
  * Certificate chain (PEM), leaf first, without the root. Must match the host and be valid when published.
  *
  */
  readonly certificate: string;
  /**
  * Private key (PEM) without passphrase: RSA up to 4096 bits, P-256, P-384, P-521 or EdDSA. Stored in plain text in Terraform state and bundle; prefer `certificate_key_ref`.
  *
  */
  readonly certificateKey?: string;
  /**
  * Reference to `certificate_key`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly certificateKeyRef?: string;
  /**
  * `certificate_key`, encrypted to the gateway's public key (compact JWE). Computed from `certificate_key_wo`.
  *
  */
  readonly certificateKeySealed?: string;
  /**
  * `certificate_key` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `certificate_key_wo_version`.
  *
  */
  readonly certificateKeyWo?: string;
  /**
  * Version of `certificate_key_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly certificateKeyWoVersion?: number;
}

export function bundleHostCertificatesToTerraform(struct?: BundleHostCertificates | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    certificate: cdktf.stringToTerraform(struct!.certificate),
    certificate_key: cdktf.stringToTerraform(struct!.certificateKey),
    certificate_key_ref: cdktf.stringToTerraform(struct!.certificateKeyRef),
    certificate_key_sealed: cdktf.stringToTerraform(struct!.certificateKeySealed),
    certificate_key_wo: cdktf.stringToTerraform(struct!.certificateKeyWo),
    certificate_key_wo_version: cdktf.numberToTerraform(struct!.certificateKeyWoVersion),
  }
}


export function bundleHostCertificatesToHclTerraform(struct?: BundleHostCertificates | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    certificate: {
      value: cdktf.stringToHclTerraform(struct!.certificate),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    certificate_key: {
      value: cdktf.stringToHclTerraform(struct!.certificateKey),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    certificate_key_ref: {
      value: cdktf.stringToHclTerraform(struct!.certificateKeyRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    certificate_key_sealed: {
      value: cdktf.stringToHclTerraform(struct!.certificateKeySealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    certificate_key_wo: {
      value: cdktf.stringToHclTerraform(struct!.certificateKeyWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    certificate_key_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.certificateKeyWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleHostCertificatesOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectKey the key of this item in the map
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectKey: string) {
    super(terraformResource, terraformAttribute, false, complexObjectKey);
  }

  public get internalValue(): BundleHostCertificates | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._certificate !== undefined) {
      hasAnyValues = true;
      internalValueResult.certificate = this._certificate;
    }
    if (this._certificateKey !== undefined) {
      hasAnyValues = true;
      internalValueResult.certificateKey = this._certificateKey;
    }
    if (this._certificateKeyRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.certificateKeyRef = this._certificateKeyRef;
    }
    if (this._certificateKeySealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.certificateKeySealed = this._certificateKeySealed;
    }
    if (this._certificateKeyWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.certificateKeyWo = this._certificateKeyWo;
    }
    if (this._certificateKeyWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.certificateKeyWoVersion = this._certificateKeyWoVersion;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleHostCertificates | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._certificate = undefined;
      this._certificateKey = undefined;
      this._certificateKeyRef = undefined;
      this._certificateKeySealed = undefined;
      this._certificateKeyWo = undefined;
      this._certificateKeyWoVersion = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._certificate = value.certificate;
      this._certificateKey = value.certificateKey;
      this._certificateKeyRef = value.certificateKeyRef;
      this._certificateKeySealed = value.certificateKeySealed;
      this._certificateKeyWo = value.certificateKeyWo;
      this._certificateKeyWoVersion = value.certificateKeyWoVersion;
    }
  }

  // certificate - computed: false, optional: false, required: true
  private _certificate?: string; 
  public get certificate() {
    return this.getStringAttribute('certificate');
  }
  public set certificate(value: string) {
    this._certificate = value;
  }
  // Temporarily expose input value. Use with caution.
  public get certificateInput() {
    return this._certificate;
  }

  // certificate_key - computed: false, optional: true, required: false
  private _certificateKey?: string; 
  public get certificateKey() {
    return this.getStringAttribute('certificate_key');
  }
  public set certificateKey(value: string) {
    this._certificateKey = value;
  }
  public resetCertificateKey() {
    this._certificateKey = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get certificateKeyInput() {
    return this._certificateKey;
  }

  // certificate_key_ref - computed: false, optional: true, required: false
  private _certificateKeyRef?: string; 
  public get certificateKeyRef() {
    return this.getStringAttribute('certificate_key_ref');
  }
  public set certificateKeyRef(value: string) {
    this._certificateKeyRef = value;
  }
  public resetCertificateKeyRef() {
    this._certificateKeyRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get certificateKeyRefInput() {
    return this._certificateKeyRef;
  }

  // certificate_key_sealed - computed: true, optional: true, required: false
  private _certificateKeySealed?: string; 
  public get certificateKeySealed() {
    return this.getStringAttribute('certificate_key_sealed');
  }
  public set certificateKeySealed(value: string) {
    this._certificateKeySealed = value;
  }
  public resetCertificateKeySealed() {
    this._certificateKeySealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get certificateKeySealedInput() {
    return this._certificateKeySealed;
  }

  // certificate_key_wo - computed: false, optional: true, required: false
  private _certificateKeyWo?: string; 
  public get certificateKeyWo() {
    return this.getStringAttribute('certificate_key_wo');
  }
  public set certificateKeyWo(value: string) {
    this._certificateKeyWo = value;
  }
  public resetCertificateKeyWo() {
    this._certificateKeyWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get certificateKeyWoInput() {
    return this._certificateKeyWo;
  }

  // certificate_key_wo_version - computed: false, optional: true, required: false
  private _certificateKeyWoVersion?: number; 
  public get certificateKeyWoVersion() {
    return this.getNumberAttribute('certificate_key_wo_version');
  }
  public set certificateKeyWoVersion(value: number) {
    this._certificateKeyWoVersion = value;
  }
  public resetCertificateKeyWoVersion() {
    this._certificateKeyWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get certificateKeyWoVersionInput() {
    return this._certificateKeyWoVersion;
  }
}

export class BundleHostCertificatesMap extends cdktf.ComplexMap {
  public internalValue? : { [key: string]: BundleHostCertificates } | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute)
  }

  /**
  * @param key the key of the item to return
  */
  public get(key: string): BundleHostCertificatesOutputReference {
    return new BundleHostCertificatesOutputReference(this.terraformResource, this.terraformAttribute, key);
  }
}
export interface BundleRouteRoutingRedirect {
  /**
  * Redirect to https, and from port 80 to 443. Not with `scheme_redirect`. Default: `false`.
  *
  */
  readonly httpsRedirect?: boolean | cdktf.IResolvable;
  /**
  * Scheme of the target. One of `http`, `https`. Default: scheme of the route.
  *
  */
  readonly schemeRedirect?: string;
  /**
  * Host of the target, without port. Default: host of the request.
  *
  */
  readonly hostRedirect?: string;
  /**
  * Port of the target. Default: port of the request; the scheme's default port if host or scheme changes.
  *
  */
  readonly portRedirect?: number;
  /**
  * Path of the target. A query in it replaces the request's. Default: path of the request.
  *
  */
  readonly pathRedirect?: string;
  /**
  * Replacement for the route's `prefix`, by whole segments.
  *
  */
  readonly prefixRewrite?: string;
  /**
  * Response status: 301, 302, 303, 307 or 308. Default: `301`.
  *
  */
  readonly responseCode?: number;
  /**
  * Remove the query of the request. Default: `false`.
  *
  */
  readonly stripQuery?: boolean | cdktf.IResolvable;
}

export function bundleRouteRoutingRedirectToTerraform(struct?: BundleRouteRoutingRedirect | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    https_redirect: cdktf.booleanToTerraform(struct!.httpsRedirect),
    scheme_redirect: cdktf.stringToTerraform(struct!.schemeRedirect),
    host_redirect: cdktf.stringToTerraform(struct!.hostRedirect),
    port_redirect: cdktf.numberToTerraform(struct!.portRedirect),
    path_redirect: cdktf.stringToTerraform(struct!.pathRedirect),
    prefix_rewrite: cdktf.stringToTerraform(struct!.prefixRewrite),
    response_code: cdktf.numberToTerraform(struct!.responseCode),
    strip_query: cdktf.booleanToTerraform(struct!.stripQuery),
  }
}


export function bundleRouteRoutingRedirectToHclTerraform(struct?: BundleRouteRoutingRedirect | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    https_redirect: {
      value: cdktf.booleanToHclTerraform(struct!.httpsRedirect),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    scheme_redirect: {
      value: cdktf.stringToHclTerraform(struct!.schemeRedirect),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    host_redirect: {
      value: cdktf.stringToHclTerraform(struct!.hostRedirect),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    port_redirect: {
      value: cdktf.numberToHclTerraform(struct!.portRedirect),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    path_redirect: {
      value: cdktf.stringToHclTerraform(struct!.pathRedirect),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    prefix_rewrite: {
      value: cdktf.stringToHclTerraform(struct!.prefixRewrite),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    response_code: {
      value: cdktf.numberToHclTerraform(struct!.responseCode),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    strip_query: {
      value: cdktf.booleanToHclTerraform(struct!.stripQuery),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteRoutingRedirectOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteRoutingRedirect | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._httpsRedirect !== undefined) {
      hasAnyValues = true;
      internalValueResult.httpsRedirect = this._httpsRedirect;
    }
    if (this._schemeRedirect !== undefined) {
      hasAnyValues = true;
      internalValueResult.schemeRedirect = this._schemeRedirect;
    }
    if (this._hostRedirect !== undefined) {
      hasAnyValues = true;
      internalValueResult.hostRedirect = this._hostRedirect;
    }
    if (this._portRedirect !== undefined) {
      hasAnyValues = true;
      internalValueResult.portRedirect = this._portRedirect;
    }
    if (this._pathRedirect !== undefined) {
      hasAnyValues = true;
      internalValueResult.pathRedirect = this._pathRedirect;
    }
    if (this._prefixRewrite !== undefined) {
      hasAnyValues = true;
      internalValueResult.prefixRewrite = this._prefixRewrite;
    }
    if (this._responseCode !== undefined) {
      hasAnyValues = true;
      internalValueResult.responseCode = this._responseCode;
    }
    if (this._stripQuery !== undefined) {
      hasAnyValues = true;
      internalValueResult.stripQuery = this._stripQuery;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteRoutingRedirect | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._httpsRedirect = undefined;
      this._schemeRedirect = undefined;
      this._hostRedirect = undefined;
      this._portRedirect = undefined;
      this._pathRedirect = undefined;
      this._prefixRewrite = undefined;
      this._responseCode = undefined;
      this._stripQuery = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._httpsRedirect = value.httpsRedirect;
      this._schemeRedirect = value.schemeRedirect;
      this._hostRedirect = value.hostRedirect;
      this._portRedirect = value.portRedirect;
      this._pathRedirect = value.pathRedirect;
      this._prefixRewrite = value.prefixRewrite;
      this._responseCode = value.responseCode;
      this._stripQuery = value.stripQuery;
    }
  }

  // https_redirect - computed: false, optional: true, required: false
  private _httpsRedirect?: boolean | cdktf.IResolvable; 
  public get httpsRedirect() {
    return this.getBooleanAttribute('https_redirect');
  }
  public set httpsRedirect(value: boolean | cdktf.IResolvable) {
    this._httpsRedirect = value;
  }
  public resetHttpsRedirect() {
    this._httpsRedirect = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get httpsRedirectInput() {
    return this._httpsRedirect;
  }

  // scheme_redirect - computed: false, optional: true, required: false
  private _schemeRedirect?: string; 
  public get schemeRedirect() {
    return this.getStringAttribute('scheme_redirect');
  }
  public set schemeRedirect(value: string) {
    this._schemeRedirect = value;
  }
  public resetSchemeRedirect() {
    this._schemeRedirect = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get schemeRedirectInput() {
    return this._schemeRedirect;
  }

  // host_redirect - computed: false, optional: true, required: false
  private _hostRedirect?: string; 
  public get hostRedirect() {
    return this.getStringAttribute('host_redirect');
  }
  public set hostRedirect(value: string) {
    this._hostRedirect = value;
  }
  public resetHostRedirect() {
    this._hostRedirect = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostRedirectInput() {
    return this._hostRedirect;
  }

  // port_redirect - computed: false, optional: true, required: false
  private _portRedirect?: number; 
  public get portRedirect() {
    return this.getNumberAttribute('port_redirect');
  }
  public set portRedirect(value: number) {
    this._portRedirect = value;
  }
  public resetPortRedirect() {
    this._portRedirect = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get portRedirectInput() {
    return this._portRedirect;
  }

  // path_redirect - computed: false, optional: true, required: false
  private _pathRedirect?: string; 
  public get pathRedirect() {
    return this.getStringAttribute('path_redirect');
  }
  public set pathRedirect(value: string) {
    this._pathRedirect = value;
  }
  public resetPathRedirect() {
    this._pathRedirect = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get pathRedirectInput() {
    return this._pathRedirect;
  }

  // prefix_rewrite - computed: false, optional: true, required: false
  private _prefixRewrite?: string; 
  public get prefixRewrite() {
    return this.getStringAttribute('prefix_rewrite');
  }
  public set prefixRewrite(value: string) {
    this._prefixRewrite = value;
  }
  public resetPrefixRewrite() {
    this._prefixRewrite = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get prefixRewriteInput() {
    return this._prefixRewrite;
  }

  // response_code - computed: false, optional: true, required: false
  private _responseCode?: number; 
  public get responseCode() {
    return this.getNumberAttribute('response_code');
  }
  public set responseCode(value: number) {
    this._responseCode = value;
  }
  public resetResponseCode() {
    this._responseCode = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get responseCodeInput() {
    return this._responseCode;
  }

  // strip_query - computed: false, optional: true, required: false
  private _stripQuery?: boolean | cdktf.IResolvable; 
  public get stripQuery() {
    return this.getBooleanAttribute('strip_query');
  }
  public set stripQuery(value: boolean | cdktf.IResolvable) {
    this._stripQuery = value;
  }
  public resetStripQuery() {
    this._stripQuery = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get stripQueryInput() {
    return this._stripQuery;
  }
}
export interface BundleRouteRoutingResponse {
  /**
  * Response status.
  *
  */
  readonly status: number;
  /**
  * Response body, up to 65,536 bytes. Plain text, unless `set_response_headers` sets Content-Type. Default: empty.
  *
  */
  readonly body?: string;
  /**
  * Percentage of requests that get this response. The others go to `to`. Default: all, without `to`.
  *
  */
  readonly percentage?: number;
}

export function bundleRouteRoutingResponseToTerraform(struct?: BundleRouteRoutingResponse | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    status: cdktf.numberToTerraform(struct!.status),
    body: cdktf.stringToTerraform(struct!.body),
    percentage: cdktf.numberToTerraform(struct!.percentage),
  }
}


export function bundleRouteRoutingResponseToHclTerraform(struct?: BundleRouteRoutingResponse | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    status: {
      value: cdktf.numberToHclTerraform(struct!.status),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    body: {
      value: cdktf.stringToHclTerraform(struct!.body),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    percentage: {
      value: cdktf.numberToHclTerraform(struct!.percentage),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteRoutingResponseOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteRoutingResponse | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._status !== undefined) {
      hasAnyValues = true;
      internalValueResult.status = this._status;
    }
    if (this._body !== undefined) {
      hasAnyValues = true;
      internalValueResult.body = this._body;
    }
    if (this._percentage !== undefined) {
      hasAnyValues = true;
      internalValueResult.percentage = this._percentage;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteRoutingResponse | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._status = undefined;
      this._body = undefined;
      this._percentage = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._status = value.status;
      this._body = value.body;
      this._percentage = value.percentage;
    }
  }

  // status - computed: false, optional: false, required: true
  private _status?: number; 
  public get status() {
    return this.getNumberAttribute('status');
  }
  public set status(value: number) {
    this._status = value;
  }
  // Temporarily expose input value. Use with caution.
  public get statusInput() {
    return this._status;
  }

  // body - computed: false, optional: true, required: false
  private _body?: string; 
  public get body() {
    return this.getStringAttribute('body');
  }
  public set body(value: string) {
    this._body = value;
  }
  public resetBody() {
    this._body = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get bodyInput() {
    return this._body;
  }

  // percentage - computed: false, optional: true, required: false
  private _percentage?: number; 
  public get percentage() {
    return this.getNumberAttribute('percentage');
  }
  public set percentage(value: number) {
    this._percentage = value;
  }
  public resetPercentage() {
    this._percentage = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get percentageInput() {
    return this._percentage;
  }
}
export interface BundleRouteRouting {
  /**
  * Display name of up to 40 characters. Shown on the portal and in the catalog. Default: `name`.
  *
  */
  readonly title?: string;
  /**
  * What the route is for, in one line of up to 300 characters. Shown on the portal and in the catalog, which has the first 100.
  *
  */
  readonly description?: string;
  /**
  * Icon: a PNG, JPEG or WebP image of up to 16,384 bytes as `data:image/png;base64,…`. Shown on the portal and in the catalog. Default: two letters of the name.
  *
  */
  readonly icon?: string;
  /**
  * Version of what the route serves in the catalog, such as `1.4.2`. Default: `1.0.0`.
  *
  */
  readonly version?: string;
  /**
  * Documentation for users (`https://`). Linked on the portal and in the catalog.
  *
  */
  readonly documentationUrl?: string;
  /**
  * Page (`https://`) or address (`mailto:`) for questions about the route. Linked on the portal.
  *
  */
  readonly contact?: string;
  /**
  * Readers who find an MCP server in the catalog: callers with a token, if the policy could allow them a request, or also callers without a token. The latter need `mcp_catalog: public`. One of `users`, `public`. Default: `users`.
  *
  */
  readonly catalog?: string;
  /**
  * RE2 regular expression for the whole path, before every `prefix`. Not with `prefix` or `path`, and not on MCP routes. Default: every path.
  *
  */
  readonly regex?: string;
  /**
  * Priority between matching `regex` routes of a host: the highest number wins. Default: `0`.
  *
  */
  readonly regexPriorityOrder?: number;
  /**
  * HTTP methods to match. Not with `regex` or `mcp`. Default: every method.
  *
  */
  readonly matchMethods?: string[];
  /**
  * Request headers that must have these values. Not with `regex` or `mcp`.
  *
  */
  readonly matchHeaders?: { [key: string]: string };
  /**
  * Query parameters that must have these values. Not with `regex` or `mcp`.
  *
  */
  readonly matchQuery?: { [key: string]: string };
  /**
  * Priority between equally many conditions: the highest number wins. Default: `0`.
  *
  */
  readonly matchPriorityOrder?: number;
  /**
  * Replacement for `prefix`, by whole segments, in the upstream path; with `path` or `regex`, for the whole path.
  *
  */
  readonly prefixRewrite?: string;
  /**
  * RE2 regular expression on the path (without query); every match is replaced. Requires `regex_rewrite_substitution`.
  *
  */
  readonly regexRewritePattern?: string;
  /**
  * Replacement for matches of `regex_rewrite_pattern`. Capture groups are `\1` to `\9`.
  *
  */
  readonly regexRewriteSubstitution?: string;
  /**
  * Redirect instead of an upstream request. The policy is evaluated first.
  *
  */
  readonly redirect?: BundleRouteRoutingRedirect;
  /**
  * Static response instead of an upstream request. The policy is evaluated first.
  *
  */
  readonly response?: BundleRouteRoutingResponse;
}

export function bundleRouteRoutingToTerraform(struct?: BundleRouteRouting | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    title: cdktf.stringToTerraform(struct!.title),
    description: cdktf.stringToTerraform(struct!.description),
    icon: cdktf.stringToTerraform(struct!.icon),
    version: cdktf.stringToTerraform(struct!.version),
    documentation_url: cdktf.stringToTerraform(struct!.documentationUrl),
    contact: cdktf.stringToTerraform(struct!.contact),
    catalog: cdktf.stringToTerraform(struct!.catalog),
    regex: cdktf.stringToTerraform(struct!.regex),
    regex_priority_order: cdktf.numberToTerraform(struct!.regexPriorityOrder),
    match_methods: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.matchMethods),
    match_headers: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.matchHeaders),
    match_query: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.matchQuery),
    match_priority_order: cdktf.numberToTerraform(struct!.matchPriorityOrder),
    prefix_rewrite: cdktf.stringToTerraform(struct!.prefixRewrite),
    regex_rewrite_pattern: cdktf.stringToTerraform(struct!.regexRewritePattern),
    regex_rewrite_substitution: cdktf.stringToTerraform(struct!.regexRewriteSubstitution),
    redirect: bundleRouteRoutingRedirectToTerraform(struct!.redirect),
    response: bundleRouteRoutingResponseToTerraform(struct!.response),
  }
}


export function bundleRouteRoutingToHclTerraform(struct?: BundleRouteRouting | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    title: {
      value: cdktf.stringToHclTerraform(struct!.title),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    description: {
      value: cdktf.stringToHclTerraform(struct!.description),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    icon: {
      value: cdktf.stringToHclTerraform(struct!.icon),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    version: {
      value: cdktf.stringToHclTerraform(struct!.version),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    documentation_url: {
      value: cdktf.stringToHclTerraform(struct!.documentationUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    contact: {
      value: cdktf.stringToHclTerraform(struct!.contact),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    catalog: {
      value: cdktf.stringToHclTerraform(struct!.catalog),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    regex: {
      value: cdktf.stringToHclTerraform(struct!.regex),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    regex_priority_order: {
      value: cdktf.numberToHclTerraform(struct!.regexPriorityOrder),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    match_methods: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.matchMethods),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    match_headers: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.matchHeaders),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    match_query: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.matchQuery),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    match_priority_order: {
      value: cdktf.numberToHclTerraform(struct!.matchPriorityOrder),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    prefix_rewrite: {
      value: cdktf.stringToHclTerraform(struct!.prefixRewrite),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    regex_rewrite_pattern: {
      value: cdktf.stringToHclTerraform(struct!.regexRewritePattern),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    regex_rewrite_substitution: {
      value: cdktf.stringToHclTerraform(struct!.regexRewriteSubstitution),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    redirect: {
      value: bundleRouteRoutingRedirectToHclTerraform(struct!.redirect),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteRoutingRedirect",
    },
    response: {
      value: bundleRouteRoutingResponseToHclTerraform(struct!.response),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteRoutingResponse",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteRoutingOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteRouting | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._title !== undefined) {
      hasAnyValues = true;
      internalValueResult.title = this._title;
    }
    if (this._description !== undefined) {
      hasAnyValues = true;
      internalValueResult.description = this._description;
    }
    if (this._icon !== undefined) {
      hasAnyValues = true;
      internalValueResult.icon = this._icon;
    }
    if (this._version !== undefined) {
      hasAnyValues = true;
      internalValueResult.version = this._version;
    }
    if (this._documentationUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.documentationUrl = this._documentationUrl;
    }
    if (this._contact !== undefined) {
      hasAnyValues = true;
      internalValueResult.contact = this._contact;
    }
    if (this._catalog !== undefined) {
      hasAnyValues = true;
      internalValueResult.catalog = this._catalog;
    }
    if (this._regex !== undefined) {
      hasAnyValues = true;
      internalValueResult.regex = this._regex;
    }
    if (this._regexPriorityOrder !== undefined) {
      hasAnyValues = true;
      internalValueResult.regexPriorityOrder = this._regexPriorityOrder;
    }
    if (this._matchMethods !== undefined) {
      hasAnyValues = true;
      internalValueResult.matchMethods = this._matchMethods;
    }
    if (this._matchHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.matchHeaders = this._matchHeaders;
    }
    if (this._matchQuery !== undefined) {
      hasAnyValues = true;
      internalValueResult.matchQuery = this._matchQuery;
    }
    if (this._matchPriorityOrder !== undefined) {
      hasAnyValues = true;
      internalValueResult.matchPriorityOrder = this._matchPriorityOrder;
    }
    if (this._prefixRewrite !== undefined) {
      hasAnyValues = true;
      internalValueResult.prefixRewrite = this._prefixRewrite;
    }
    if (this._regexRewritePattern !== undefined) {
      hasAnyValues = true;
      internalValueResult.regexRewritePattern = this._regexRewritePattern;
    }
    if (this._regexRewriteSubstitution !== undefined) {
      hasAnyValues = true;
      internalValueResult.regexRewriteSubstitution = this._regexRewriteSubstitution;
    }
    if (this._redirect?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.redirect = this._redirect?.internalValue;
    }
    if (this._response?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.response = this._response?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteRouting | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._title = undefined;
      this._description = undefined;
      this._icon = undefined;
      this._version = undefined;
      this._documentationUrl = undefined;
      this._contact = undefined;
      this._catalog = undefined;
      this._regex = undefined;
      this._regexPriorityOrder = undefined;
      this._matchMethods = undefined;
      this._matchHeaders = undefined;
      this._matchQuery = undefined;
      this._matchPriorityOrder = undefined;
      this._prefixRewrite = undefined;
      this._regexRewritePattern = undefined;
      this._regexRewriteSubstitution = undefined;
      this._redirect.internalValue = undefined;
      this._response.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._title = value.title;
      this._description = value.description;
      this._icon = value.icon;
      this._version = value.version;
      this._documentationUrl = value.documentationUrl;
      this._contact = value.contact;
      this._catalog = value.catalog;
      this._regex = value.regex;
      this._regexPriorityOrder = value.regexPriorityOrder;
      this._matchMethods = value.matchMethods;
      this._matchHeaders = value.matchHeaders;
      this._matchQuery = value.matchQuery;
      this._matchPriorityOrder = value.matchPriorityOrder;
      this._prefixRewrite = value.prefixRewrite;
      this._regexRewritePattern = value.regexRewritePattern;
      this._regexRewriteSubstitution = value.regexRewriteSubstitution;
      this._redirect.internalValue = value.redirect;
      this._response.internalValue = value.response;
    }
  }

  // title - computed: false, optional: true, required: false
  private _title?: string; 
  public get title() {
    return this.getStringAttribute('title');
  }
  public set title(value: string) {
    this._title = value;
  }
  public resetTitle() {
    this._title = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get titleInput() {
    return this._title;
  }

  // description - computed: false, optional: true, required: false
  private _description?: string; 
  public get description() {
    return this.getStringAttribute('description');
  }
  public set description(value: string) {
    this._description = value;
  }
  public resetDescription() {
    this._description = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get descriptionInput() {
    return this._description;
  }

  // icon - computed: false, optional: true, required: false
  private _icon?: string; 
  public get icon() {
    return this.getStringAttribute('icon');
  }
  public set icon(value: string) {
    this._icon = value;
  }
  public resetIcon() {
    this._icon = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get iconInput() {
    return this._icon;
  }

  // version - computed: false, optional: true, required: false
  private _version?: string; 
  public get version() {
    return this.getStringAttribute('version');
  }
  public set version(value: string) {
    this._version = value;
  }
  public resetVersion() {
    this._version = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get versionInput() {
    return this._version;
  }

  // documentation_url - computed: false, optional: true, required: false
  private _documentationUrl?: string; 
  public get documentationUrl() {
    return this.getStringAttribute('documentation_url');
  }
  public set documentationUrl(value: string) {
    this._documentationUrl = value;
  }
  public resetDocumentationUrl() {
    this._documentationUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get documentationUrlInput() {
    return this._documentationUrl;
  }

  // contact - computed: false, optional: true, required: false
  private _contact?: string; 
  public get contact() {
    return this.getStringAttribute('contact');
  }
  public set contact(value: string) {
    this._contact = value;
  }
  public resetContact() {
    this._contact = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get contactInput() {
    return this._contact;
  }

  // catalog - computed: false, optional: true, required: false
  private _catalog?: string; 
  public get catalog() {
    return this.getStringAttribute('catalog');
  }
  public set catalog(value: string) {
    this._catalog = value;
  }
  public resetCatalog() {
    this._catalog = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get catalogInput() {
    return this._catalog;
  }

  // regex - computed: false, optional: true, required: false
  private _regex?: string; 
  public get regex() {
    return this.getStringAttribute('regex');
  }
  public set regex(value: string) {
    this._regex = value;
  }
  public resetRegex() {
    this._regex = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get regexInput() {
    return this._regex;
  }

  // regex_priority_order - computed: false, optional: true, required: false
  private _regexPriorityOrder?: number; 
  public get regexPriorityOrder() {
    return this.getNumberAttribute('regex_priority_order');
  }
  public set regexPriorityOrder(value: number) {
    this._regexPriorityOrder = value;
  }
  public resetRegexPriorityOrder() {
    this._regexPriorityOrder = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get regexPriorityOrderInput() {
    return this._regexPriorityOrder;
  }

  // match_methods - computed: false, optional: true, required: false
  private _matchMethods?: string[]; 
  public get matchMethods() {
    return this.getListAttribute('match_methods');
  }
  public set matchMethods(value: string[]) {
    this._matchMethods = value;
  }
  public resetMatchMethods() {
    this._matchMethods = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get matchMethodsInput() {
    return this._matchMethods;
  }

  // match_headers - computed: false, optional: true, required: false
  private _matchHeaders?: { [key: string]: string }; 
  public get matchHeaders() {
    return this.getStringMapAttribute('match_headers');
  }
  public set matchHeaders(value: { [key: string]: string }) {
    this._matchHeaders = value;
  }
  public resetMatchHeaders() {
    this._matchHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get matchHeadersInput() {
    return this._matchHeaders;
  }

  // match_query - computed: false, optional: true, required: false
  private _matchQuery?: { [key: string]: string }; 
  public get matchQuery() {
    return this.getStringMapAttribute('match_query');
  }
  public set matchQuery(value: { [key: string]: string }) {
    this._matchQuery = value;
  }
  public resetMatchQuery() {
    this._matchQuery = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get matchQueryInput() {
    return this._matchQuery;
  }

  // match_priority_order - computed: false, optional: true, required: false
  private _matchPriorityOrder?: number; 
  public get matchPriorityOrder() {
    return this.getNumberAttribute('match_priority_order');
  }
  public set matchPriorityOrder(value: number) {
    this._matchPriorityOrder = value;
  }
  public resetMatchPriorityOrder() {
    this._matchPriorityOrder = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get matchPriorityOrderInput() {
    return this._matchPriorityOrder;
  }

  // prefix_rewrite - computed: false, optional: true, required: false
  private _prefixRewrite?: string; 
  public get prefixRewrite() {
    return this.getStringAttribute('prefix_rewrite');
  }
  public set prefixRewrite(value: string) {
    this._prefixRewrite = value;
  }
  public resetPrefixRewrite() {
    this._prefixRewrite = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get prefixRewriteInput() {
    return this._prefixRewrite;
  }

  // regex_rewrite_pattern - computed: false, optional: true, required: false
  private _regexRewritePattern?: string; 
  public get regexRewritePattern() {
    return this.getStringAttribute('regex_rewrite_pattern');
  }
  public set regexRewritePattern(value: string) {
    this._regexRewritePattern = value;
  }
  public resetRegexRewritePattern() {
    this._regexRewritePattern = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get regexRewritePatternInput() {
    return this._regexRewritePattern;
  }

  // regex_rewrite_substitution - computed: false, optional: true, required: false
  private _regexRewriteSubstitution?: string; 
  public get regexRewriteSubstitution() {
    return this.getStringAttribute('regex_rewrite_substitution');
  }
  public set regexRewriteSubstitution(value: string) {
    this._regexRewriteSubstitution = value;
  }
  public resetRegexRewriteSubstitution() {
    this._regexRewriteSubstitution = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get regexRewriteSubstitutionInput() {
    return this._regexRewriteSubstitution;
  }

  // redirect - computed: false, optional: true, required: false
  private _redirect = new BundleRouteRoutingRedirectOutputReference(this, "redirect");
  public get redirect() {
    return this._redirect;
  }
  public putRedirect(value: BundleRouteRoutingRedirect) {
    this._redirect.internalValue = value;
  }
  public resetRedirect() {
    this._redirect.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get redirectInput() {
    return this._redirect.internalValue;
  }

  // response - computed: false, optional: true, required: false
  private _response = new BundleRouteRoutingResponseOutputReference(this, "response");
  public get response() {
    return this._response;
  }
  public putResponse(value: BundleRouteRoutingResponse) {
    this._response.internalValue = value;
  }
  public resetResponse() {
    this._response.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get responseInput() {
    return this._response.internalValue;
  }
}
export interface BundleRouteAccessRateLimits {
  /**
  * Limit name, shown in responses, records and metrics.
  *
  */
  readonly name: string;
  /**
  * Keys counted separately: each `user`, OAuth `client`, `tool` of `tools`, or combination. Default: one count for all requests of the route.
  *
  */
  readonly per?: string[];
  /**
  * Maximum requests within `window`. Required unless `concurrency` is set.
  *
  */
  readonly requests?: number;
  /**
  * Sliding window for `requests`, from 1 second to 30 days. Default: `1m`.
  *
  */
  readonly window?: string;
  /**
  * Maximum concurrent requests, including open event streams and WebSockets. Required unless `requests` is set.
  *
  */
  readonly concurrency?: number;
  /**
  * Tools whose calls are counted and limited, on MCP server routes. Default: every request.
  *
  */
  readonly tools?: string[];
  /**
  * While the store is unavailable, each process enforces its share of the limit, or requests get 503. One of `share`, `refuse`. Default: `share`.
  *
  */
  readonly withoutStore?: string;
}

export function bundleRouteAccessRateLimitsToTerraform(struct?: BundleRouteAccessRateLimits | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    name: cdktf.stringToTerraform(struct!.name),
    per: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.per),
    requests: cdktf.numberToTerraform(struct!.requests),
    window: cdktf.stringToTerraform(struct!.window),
    concurrency: cdktf.numberToTerraform(struct!.concurrency),
    tools: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.tools),
    without_store: cdktf.stringToTerraform(struct!.withoutStore),
  }
}


export function bundleRouteAccessRateLimitsToHclTerraform(struct?: BundleRouteAccessRateLimits | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    name: {
      value: cdktf.stringToHclTerraform(struct!.name),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    per: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.per),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    requests: {
      value: cdktf.numberToHclTerraform(struct!.requests),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    window: {
      value: cdktf.stringToHclTerraform(struct!.window),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    concurrency: {
      value: cdktf.numberToHclTerraform(struct!.concurrency),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    tools: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.tools),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    without_store: {
      value: cdktf.stringToHclTerraform(struct!.withoutStore),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteAccessRateLimitsOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): BundleRouteAccessRateLimits | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._name !== undefined) {
      hasAnyValues = true;
      internalValueResult.name = this._name;
    }
    if (this._per !== undefined) {
      hasAnyValues = true;
      internalValueResult.per = this._per;
    }
    if (this._requests !== undefined) {
      hasAnyValues = true;
      internalValueResult.requests = this._requests;
    }
    if (this._window !== undefined) {
      hasAnyValues = true;
      internalValueResult.window = this._window;
    }
    if (this._concurrency !== undefined) {
      hasAnyValues = true;
      internalValueResult.concurrency = this._concurrency;
    }
    if (this._tools !== undefined) {
      hasAnyValues = true;
      internalValueResult.tools = this._tools;
    }
    if (this._withoutStore !== undefined) {
      hasAnyValues = true;
      internalValueResult.withoutStore = this._withoutStore;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteAccessRateLimits | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._name = undefined;
      this._per = undefined;
      this._requests = undefined;
      this._window = undefined;
      this._concurrency = undefined;
      this._tools = undefined;
      this._withoutStore = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._name = value.name;
      this._per = value.per;
      this._requests = value.requests;
      this._window = value.window;
      this._concurrency = value.concurrency;
      this._tools = value.tools;
      this._withoutStore = value.withoutStore;
    }
  }

  // name - computed: false, optional: false, required: true
  private _name?: string; 
  public get name() {
    return this.getStringAttribute('name');
  }
  public set name(value: string) {
    this._name = value;
  }
  // Temporarily expose input value. Use with caution.
  public get nameInput() {
    return this._name;
  }

  // per - computed: false, optional: true, required: false
  private _per?: string[]; 
  public get per() {
    return this.getListAttribute('per');
  }
  public set per(value: string[]) {
    this._per = value;
  }
  public resetPer() {
    this._per = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get perInput() {
    return this._per;
  }

  // requests - computed: false, optional: true, required: false
  private _requests?: number; 
  public get requests() {
    return this.getNumberAttribute('requests');
  }
  public set requests(value: number) {
    this._requests = value;
  }
  public resetRequests() {
    this._requests = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get requestsInput() {
    return this._requests;
  }

  // window - computed: false, optional: true, required: false
  private _window?: string; 
  public get window() {
    return this.getStringAttribute('window');
  }
  public set window(value: string) {
    this._window = value;
  }
  public resetWindow() {
    this._window = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get windowInput() {
    return this._window;
  }

  // concurrency - computed: false, optional: true, required: false
  private _concurrency?: number; 
  public get concurrency() {
    return this.getNumberAttribute('concurrency');
  }
  public set concurrency(value: number) {
    this._concurrency = value;
  }
  public resetConcurrency() {
    this._concurrency = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get concurrencyInput() {
    return this._concurrency;
  }

  // tools - computed: false, optional: true, required: false
  private _tools?: string[]; 
  public get tools() {
    return this.getListAttribute('tools');
  }
  public set tools(value: string[]) {
    this._tools = value;
  }
  public resetTools() {
    this._tools = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get toolsInput() {
    return this._tools;
  }

  // without_store - computed: false, optional: true, required: false
  private _withoutStore?: string; 
  public get withoutStore() {
    return this.getStringAttribute('without_store');
  }
  public set withoutStore(value: string) {
    this._withoutStore = value;
  }
  public resetWithoutStore() {
    this._withoutStore = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get withoutStoreInput() {
    return this._withoutStore;
  }
}

export class BundleRouteAccessRateLimitsList extends cdktf.ComplexList {
  public internalValue? : BundleRouteAccessRateLimits[] | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet)
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): BundleRouteAccessRateLimitsOutputReference {
    return new BundleRouteAccessRateLimitsOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}
export interface BundleRouteAccess {
  /**
  * Policy whose result instead of `policy` is recorded and counted, and never enforced. JSON text; write it with `jsonencode(…)`.
  *
  */
  readonly shadowPolicy?: string;
  /**
  * Email addresses or user IDs to allow, in addition to the policy.
  *
  */
  readonly allowedUsers?: string[];
  /**
  * Email domains to allow, in addition to the policy. No wildcards.
  *
  */
  readonly allowedDomains?: string[];
  /**
  * Claims to allow, in addition to the policy: claim name to values. One value of one claim must match.
  *
  */
  readonly allowedIdpClaims?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Forward CORS preflight requests without sign-in. Not on MCP server routes, where the gateway responds to them. Default: `false`.
  *
  */
  readonly corsAllowPreflight?: boolean | cdktf.IResolvable;
  /**
  * Tokens accepted in `Authorization: Bearer` on this route, in addition to the gateway's own. Not on MCP routes. One of `default`, `idp_access_token`, `idp_identity_token`, `jwt`. Default: the global `bearer_token_format`.
  *
  */
  readonly bearerTokenFormat?: string;
  /**
  * Accepted audiences of the identity provider's access tokens on this route. One must match. Default: the global `idp_access_token_allowed_audiences`.
  *
  */
  readonly idpAccessTokenAllowedAudiences?: string[];
  /**
  * Show the rules that denied access, and which user attributes they found, in responses. Not on MCP server routes. Default: `false`.
  *
  */
  readonly showErrorDetails?: boolean | cdktf.IResolvable;
  /**
  * Rate limits of allowed requests, shared by all processes with the same store. Every limit must allow a request.
  *
  */
  readonly rateLimits?: BundleRouteAccessRateLimits[] | cdktf.IResolvable;
}

export function bundleRouteAccessToTerraform(struct?: BundleRouteAccess | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    shadow_policy: cdktf.stringToTerraform(struct!.shadowPolicy),
    allowed_users: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.allowedUsers),
    allowed_domains: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.allowedDomains),
    allowed_idp_claims: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.allowedIdpClaims),
    cors_allow_preflight: cdktf.booleanToTerraform(struct!.corsAllowPreflight),
    bearer_token_format: cdktf.stringToTerraform(struct!.bearerTokenFormat),
    idp_access_token_allowed_audiences: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.idpAccessTokenAllowedAudiences),
    show_error_details: cdktf.booleanToTerraform(struct!.showErrorDetails),
    rate_limits: cdktf.listMapper(bundleRouteAccessRateLimitsToTerraform, false)(struct!.rateLimits),
  }
}


export function bundleRouteAccessToHclTerraform(struct?: BundleRouteAccess | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    shadow_policy: {
      value: cdktf.stringToHclTerraform(struct!.shadowPolicy),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    allowed_users: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.allowedUsers),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    allowed_domains: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.allowedDomains),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    allowed_idp_claims: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.allowedIdpClaims),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    cors_allow_preflight: {
      value: cdktf.booleanToHclTerraform(struct!.corsAllowPreflight),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    bearer_token_format: {
      value: cdktf.stringToHclTerraform(struct!.bearerTokenFormat),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    idp_access_token_allowed_audiences: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.idpAccessTokenAllowedAudiences),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    show_error_details: {
      value: cdktf.booleanToHclTerraform(struct!.showErrorDetails),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    rate_limits: {
      value: cdktf.listMapperHcl(bundleRouteAccessRateLimitsToHclTerraform, false)(struct!.rateLimits),
      isBlock: true,
      type: "list",
      storageClassType: "BundleRouteAccessRateLimitsList",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteAccessOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteAccess | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._shadowPolicy !== undefined) {
      hasAnyValues = true;
      internalValueResult.shadowPolicy = this._shadowPolicy;
    }
    if (this._allowedUsers !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowedUsers = this._allowedUsers;
    }
    if (this._allowedDomains !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowedDomains = this._allowedDomains;
    }
    if (this._allowedIdpClaims !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowedIdpClaims = this._allowedIdpClaims;
    }
    if (this._corsAllowPreflight !== undefined) {
      hasAnyValues = true;
      internalValueResult.corsAllowPreflight = this._corsAllowPreflight;
    }
    if (this._bearerTokenFormat !== undefined) {
      hasAnyValues = true;
      internalValueResult.bearerTokenFormat = this._bearerTokenFormat;
    }
    if (this._idpAccessTokenAllowedAudiences !== undefined) {
      hasAnyValues = true;
      internalValueResult.idpAccessTokenAllowedAudiences = this._idpAccessTokenAllowedAudiences;
    }
    if (this._showErrorDetails !== undefined) {
      hasAnyValues = true;
      internalValueResult.showErrorDetails = this._showErrorDetails;
    }
    if (this._rateLimits?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.rateLimits = this._rateLimits?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteAccess | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._shadowPolicy = undefined;
      this._allowedUsers = undefined;
      this._allowedDomains = undefined;
      this._allowedIdpClaims = undefined;
      this._corsAllowPreflight = undefined;
      this._bearerTokenFormat = undefined;
      this._idpAccessTokenAllowedAudiences = undefined;
      this._showErrorDetails = undefined;
      this._rateLimits.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._shadowPolicy = value.shadowPolicy;
      this._allowedUsers = value.allowedUsers;
      this._allowedDomains = value.allowedDomains;
      this._allowedIdpClaims = value.allowedIdpClaims;
      this._corsAllowPreflight = value.corsAllowPreflight;
      this._bearerTokenFormat = value.bearerTokenFormat;
      this._idpAccessTokenAllowedAudiences = value.idpAccessTokenAllowedAudiences;
      this._showErrorDetails = value.showErrorDetails;
      this._rateLimits.internalValue = value.rateLimits;
    }
  }

  // shadow_policy - computed: false, optional: true, required: false
  private _shadowPolicy?: string; 
  public get shadowPolicy() {
    return this.getStringAttribute('shadow_policy');
  }
  public set shadowPolicy(value: string) {
    this._shadowPolicy = value;
  }
  public resetShadowPolicy() {
    this._shadowPolicy = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get shadowPolicyInput() {
    return this._shadowPolicy;
  }

  // allowed_users - computed: false, optional: true, required: false
  private _allowedUsers?: string[]; 
  public get allowedUsers() {
    return this.getListAttribute('allowed_users');
  }
  public set allowedUsers(value: string[]) {
    this._allowedUsers = value;
  }
  public resetAllowedUsers() {
    this._allowedUsers = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowedUsersInput() {
    return this._allowedUsers;
  }

  // allowed_domains - computed: false, optional: true, required: false
  private _allowedDomains?: string[]; 
  public get allowedDomains() {
    return this.getListAttribute('allowed_domains');
  }
  public set allowedDomains(value: string[]) {
    this._allowedDomains = value;
  }
  public resetAllowedDomains() {
    this._allowedDomains = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowedDomainsInput() {
    return this._allowedDomains;
  }

  // allowed_idp_claims - computed: false, optional: true, required: false
  private _allowedIdpClaims?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get allowedIdpClaims() {
    return this.interpolationForAttribute('allowed_idp_claims');
  }
  public set allowedIdpClaims(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._allowedIdpClaims = value;
  }
  public resetAllowedIdpClaims() {
    this._allowedIdpClaims = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowedIdpClaimsInput() {
    return this._allowedIdpClaims;
  }

  // cors_allow_preflight - computed: false, optional: true, required: false
  private _corsAllowPreflight?: boolean | cdktf.IResolvable; 
  public get corsAllowPreflight() {
    return this.getBooleanAttribute('cors_allow_preflight');
  }
  public set corsAllowPreflight(value: boolean | cdktf.IResolvable) {
    this._corsAllowPreflight = value;
  }
  public resetCorsAllowPreflight() {
    this._corsAllowPreflight = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get corsAllowPreflightInput() {
    return this._corsAllowPreflight;
  }

  // bearer_token_format - computed: false, optional: true, required: false
  private _bearerTokenFormat?: string; 
  public get bearerTokenFormat() {
    return this.getStringAttribute('bearer_token_format');
  }
  public set bearerTokenFormat(value: string) {
    this._bearerTokenFormat = value;
  }
  public resetBearerTokenFormat() {
    this._bearerTokenFormat = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get bearerTokenFormatInput() {
    return this._bearerTokenFormat;
  }

  // idp_access_token_allowed_audiences - computed: false, optional: true, required: false
  private _idpAccessTokenAllowedAudiences?: string[]; 
  public get idpAccessTokenAllowedAudiences() {
    return this.getListAttribute('idp_access_token_allowed_audiences');
  }
  public set idpAccessTokenAllowedAudiences(value: string[]) {
    this._idpAccessTokenAllowedAudiences = value;
  }
  public resetIdpAccessTokenAllowedAudiences() {
    this._idpAccessTokenAllowedAudiences = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpAccessTokenAllowedAudiencesInput() {
    return this._idpAccessTokenAllowedAudiences;
  }

  // show_error_details - computed: false, optional: true, required: false
  private _showErrorDetails?: boolean | cdktf.IResolvable; 
  public get showErrorDetails() {
    return this.getBooleanAttribute('show_error_details');
  }
  public set showErrorDetails(value: boolean | cdktf.IResolvable) {
    this._showErrorDetails = value;
  }
  public resetShowErrorDetails() {
    this._showErrorDetails = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get showErrorDetailsInput() {
    return this._showErrorDetails;
  }

  // rate_limits - computed: false, optional: true, required: false
  private _rateLimits = new BundleRouteAccessRateLimitsList(this, "rate_limits", false);
  public get rateLimits() {
    return this._rateLimits;
  }
  public putRateLimits(value: BundleRouteAccessRateLimits[] | cdktf.IResolvable) {
    this._rateLimits.internalValue = value;
  }
  public resetRateLimits() {
    this._rateLimits.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get rateLimitsInput() {
    return this._rateLimits.internalValue;
  }
}
export interface BundleRouteMcpServerUpstreamOauth2Endpoint {
  /**
  * Upstream authorization endpoint.
  *
  */
  readonly authUrl: string;
  /**
  * Upstream token endpoint.
  *
  */
  readonly tokenUrl: string;
  /**
  * Client authentication at the token endpoint: HTTP Basic or form fields. One of `header`, `params`. Default: `header`, or according to the upstream's metadata.
  *
  */
  readonly authStyle?: string;
}

export function bundleRouteMcpServerUpstreamOauth2EndpointToTerraform(struct?: BundleRouteMcpServerUpstreamOauth2Endpoint | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    auth_url: cdktf.stringToTerraform(struct!.authUrl),
    token_url: cdktf.stringToTerraform(struct!.tokenUrl),
    auth_style: cdktf.stringToTerraform(struct!.authStyle),
  }
}


export function bundleRouteMcpServerUpstreamOauth2EndpointToHclTerraform(struct?: BundleRouteMcpServerUpstreamOauth2Endpoint | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    auth_url: {
      value: cdktf.stringToHclTerraform(struct!.authUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token_url: {
      value: cdktf.stringToHclTerraform(struct!.tokenUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    auth_style: {
      value: cdktf.stringToHclTerraform(struct!.authStyle),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerUpstreamOauth2EndpointOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerUpstreamOauth2Endpoint | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._authUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.authUrl = this._authUrl;
    }
    if (this._tokenUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.tokenUrl = this._tokenUrl;
    }
    if (this._authStyle !== undefined) {
      hasAnyValues = true;
      internalValueResult.authStyle = this._authStyle;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerUpstreamOauth2Endpoint | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._authUrl = undefined;
      this._tokenUrl = undefined;
      this._authStyle = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._authUrl = value.authUrl;
      this._tokenUrl = value.tokenUrl;
      this._authStyle = value.authStyle;
    }
  }

  // auth_url - computed: false, optional: false, required: true
  private _authUrl?: string; 
  public get authUrl() {
    return this.getStringAttribute('auth_url');
  }
  public set authUrl(value: string) {
    this._authUrl = value;
  }
  // Temporarily expose input value. Use with caution.
  public get authUrlInput() {
    return this._authUrl;
  }

  // token_url - computed: false, optional: false, required: true
  private _tokenUrl?: string; 
  public get tokenUrl() {
    return this.getStringAttribute('token_url');
  }
  public set tokenUrl(value: string) {
    this._tokenUrl = value;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenUrlInput() {
    return this._tokenUrl;
  }

  // auth_style - computed: false, optional: true, required: false
  private _authStyle?: string; 
  public get authStyle() {
    return this.getStringAttribute('auth_style');
  }
  public set authStyle(value: string) {
    this._authStyle = value;
  }
  public resetAuthStyle() {
    this._authStyle = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get authStyleInput() {
    return this._authStyle;
  }
}
export interface BundleRouteMcpServerUpstreamOauth2IdJag {
  /**
  * Scopes to request from the identity provider. Must include `upstream_oauth2.scopes`. Default: `upstream_oauth2.scopes`.
  *
  */
  readonly scopes?: string[];
}

export function bundleRouteMcpServerUpstreamOauth2IdJagToTerraform(struct?: BundleRouteMcpServerUpstreamOauth2IdJag | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    scopes: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.scopes),
  }
}


export function bundleRouteMcpServerUpstreamOauth2IdJagToHclTerraform(struct?: BundleRouteMcpServerUpstreamOauth2IdJag | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    scopes: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.scopes),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerUpstreamOauth2IdJagOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerUpstreamOauth2IdJag | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._scopes !== undefined) {
      hasAnyValues = true;
      internalValueResult.scopes = this._scopes;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerUpstreamOauth2IdJag | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._scopes = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._scopes = value.scopes;
    }
  }

  // scopes - computed: false, optional: true, required: false
  private _scopes?: string[]; 
  public get scopes() {
    return this.getListAttribute('scopes');
  }
  public set scopes(value: string[]) {
    this._scopes = value;
  }
  public resetScopes() {
    this._scopes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get scopesInput() {
    return this._scopes;
  }
}
export interface BundleRouteMcpServerUpstreamOauth2Workload {
  /**
  * Platform token (JWT) of the gateway for the upstream's authorization server. Usually a file that the platform renews. Stored in plain text in Terraform state and bundle; prefer `assertion_ref`.
  *
  */
  readonly assertion?: string;
  /**
  * Reference to `assertion`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly assertionRef?: string;
  /**
  * `assertion`, encrypted to the gateway's public key (compact JWE). Computed from `assertion_wo`.
  *
  */
  readonly assertionSealed?: string;
  /**
  * `assertion` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `assertion_wo_version`.
  *
  */
  readonly assertionWo?: string;
  /**
  * Version of `assertion_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly assertionWoVersion?: number;
}

export function bundleRouteMcpServerUpstreamOauth2WorkloadToTerraform(struct?: BundleRouteMcpServerUpstreamOauth2Workload | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    assertion: cdktf.stringToTerraform(struct!.assertion),
    assertion_ref: cdktf.stringToTerraform(struct!.assertionRef),
    assertion_sealed: cdktf.stringToTerraform(struct!.assertionSealed),
    assertion_wo: cdktf.stringToTerraform(struct!.assertionWo),
    assertion_wo_version: cdktf.numberToTerraform(struct!.assertionWoVersion),
  }
}


export function bundleRouteMcpServerUpstreamOauth2WorkloadToHclTerraform(struct?: BundleRouteMcpServerUpstreamOauth2Workload | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    assertion: {
      value: cdktf.stringToHclTerraform(struct!.assertion),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    assertion_ref: {
      value: cdktf.stringToHclTerraform(struct!.assertionRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    assertion_sealed: {
      value: cdktf.stringToHclTerraform(struct!.assertionSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    assertion_wo: {
      value: cdktf.stringToHclTerraform(struct!.assertionWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    assertion_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.assertionWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerUpstreamOauth2WorkloadOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerUpstreamOauth2Workload | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._assertion !== undefined) {
      hasAnyValues = true;
      internalValueResult.assertion = this._assertion;
    }
    if (this._assertionRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.assertionRef = this._assertionRef;
    }
    if (this._assertionSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.assertionSealed = this._assertionSealed;
    }
    if (this._assertionWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.assertionWo = this._assertionWo;
    }
    if (this._assertionWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.assertionWoVersion = this._assertionWoVersion;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerUpstreamOauth2Workload | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._assertion = undefined;
      this._assertionRef = undefined;
      this._assertionSealed = undefined;
      this._assertionWo = undefined;
      this._assertionWoVersion = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._assertion = value.assertion;
      this._assertionRef = value.assertionRef;
      this._assertionSealed = value.assertionSealed;
      this._assertionWo = value.assertionWo;
      this._assertionWoVersion = value.assertionWoVersion;
    }
  }

  // assertion - computed: false, optional: true, required: false
  private _assertion?: string; 
  public get assertion() {
    return this.getStringAttribute('assertion');
  }
  public set assertion(value: string) {
    this._assertion = value;
  }
  public resetAssertion() {
    this._assertion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get assertionInput() {
    return this._assertion;
  }

  // assertion_ref - computed: false, optional: true, required: false
  private _assertionRef?: string; 
  public get assertionRef() {
    return this.getStringAttribute('assertion_ref');
  }
  public set assertionRef(value: string) {
    this._assertionRef = value;
  }
  public resetAssertionRef() {
    this._assertionRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get assertionRefInput() {
    return this._assertionRef;
  }

  // assertion_sealed - computed: true, optional: true, required: false
  private _assertionSealed?: string; 
  public get assertionSealed() {
    return this.getStringAttribute('assertion_sealed');
  }
  public set assertionSealed(value: string) {
    this._assertionSealed = value;
  }
  public resetAssertionSealed() {
    this._assertionSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get assertionSealedInput() {
    return this._assertionSealed;
  }

  // assertion_wo - computed: false, optional: true, required: false
  private _assertionWo?: string; 
  public get assertionWo() {
    return this.getStringAttribute('assertion_wo');
  }
  public set assertionWo(value: string) {
    this._assertionWo = value;
  }
  public resetAssertionWo() {
    this._assertionWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get assertionWoInput() {
    return this._assertionWo;
  }

  // assertion_wo_version - computed: false, optional: true, required: false
  private _assertionWoVersion?: number; 
  public get assertionWoVersion() {
    return this.getNumberAttribute('assertion_wo_version');
  }
  public set assertionWoVersion(value: number) {
    this._assertionWoVersion = value;
  }
  public resetAssertionWoVersion() {
    this._assertionWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get assertionWoVersionInput() {
    return this._assertionWoVersion;
  }
}
export interface BundleRouteMcpServerUpstreamOauth2 {
  /**
  * OAuth client ID at the upstream. Default: dynamic registration.
  *
  */
  readonly clientId?: string;
  /**
  * OAuth client secret. Stored in plain text in Terraform state and bundle; prefer `client_secret_ref`.
  *
  */
  readonly clientSecret?: string;
  /**
  * Reference to `client_secret`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly clientSecretRef?: string;
  /**
  * `client_secret`, encrypted to the gateway's public key (compact JWE). Computed from `client_secret_wo`.
  *
  */
  readonly clientSecretSealed?: string;
  /**
  * `client_secret` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `client_secret_wo_version`.
  *
  */
  readonly clientSecretWo?: string;
  /**
  * Version of `client_secret_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly clientSecretWoVersion?: number;
  /**
  * Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA or Ed25519. Stored in plain text in Terraform state and bundle; prefer `client_key_ref`.
  *
  */
  readonly clientKey?: string;
  /**
  * Reference to `client_key`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly clientKeyRef?: string;
  /**
  * `client_key`, encrypted to the gateway's public key (compact JWE). Computed from `client_key_wo`.
  *
  */
  readonly clientKeySealed?: string;
  /**
  * `client_key` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `client_key_wo_version`.
  *
  */
  readonly clientKeyWo?: string;
  /**
  * Version of `client_key_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly clientKeyWoVersion?: number;
  /**
  * Scopes to request from the upstream. Default: those in the upstream's metadata.
  *
  */
  readonly scopes?: string[];
  /**
  * More query parameters of the authorization URL, such as `access_type: offline`.
  *
  */
  readonly authorizationUrlParams?: { [key: string]: string };
  /**
  * Resource identifier (RFC 8707) in token requests with `workload` and `client_credentials`. Default: that of the upstream's metadata; with `endpoint` the upstream's address.
  *
  */
  readonly resource?: string;
  /**
  * Send `resource` (RFC 8707) to the upstream's authorization server. Disable it for servers that reject it, such as Entra ID. Default: `true`.
  *
  */
  readonly sendResource?: boolean | cdktf.IResolvable;
  /**
  * Client credentials: the gateway gets tokens as `client_id`. All users of the route share this access. Default: `false`.
  *
  */
  readonly clientCredentials?: boolean | cdktf.IResolvable;
  /**
  * Upstream OAuth endpoints. Default: discovered (RFC 9728).
  *
  */
  readonly endpoint?: BundleRouteMcpServerUpstreamOauth2Endpoint;
  /**
  * Enterprise-managed authorization: the identity provider decides who can use the upstream, without account connections.
  *
  */
  readonly idJag?: BundleRouteMcpServerUpstreamOauth2IdJag;
  /**
  * Workload identity: the gateway presents a token of its platform. All users of the route share the resulting access.
  *
  */
  readonly workload?: BundleRouteMcpServerUpstreamOauth2Workload;
}

export function bundleRouteMcpServerUpstreamOauth2ToTerraform(struct?: BundleRouteMcpServerUpstreamOauth2 | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    client_id: cdktf.stringToTerraform(struct!.clientId),
    client_secret: cdktf.stringToTerraform(struct!.clientSecret),
    client_secret_ref: cdktf.stringToTerraform(struct!.clientSecretRef),
    client_secret_sealed: cdktf.stringToTerraform(struct!.clientSecretSealed),
    client_secret_wo: cdktf.stringToTerraform(struct!.clientSecretWo),
    client_secret_wo_version: cdktf.numberToTerraform(struct!.clientSecretWoVersion),
    client_key: cdktf.stringToTerraform(struct!.clientKey),
    client_key_ref: cdktf.stringToTerraform(struct!.clientKeyRef),
    client_key_sealed: cdktf.stringToTerraform(struct!.clientKeySealed),
    client_key_wo: cdktf.stringToTerraform(struct!.clientKeyWo),
    client_key_wo_version: cdktf.numberToTerraform(struct!.clientKeyWoVersion),
    scopes: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.scopes),
    authorization_url_params: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.authorizationUrlParams),
    resource: cdktf.stringToTerraform(struct!.resource),
    send_resource: cdktf.booleanToTerraform(struct!.sendResource),
    client_credentials: cdktf.booleanToTerraform(struct!.clientCredentials),
    endpoint: bundleRouteMcpServerUpstreamOauth2EndpointToTerraform(struct!.endpoint),
    id_jag: bundleRouteMcpServerUpstreamOauth2IdJagToTerraform(struct!.idJag),
    workload: bundleRouteMcpServerUpstreamOauth2WorkloadToTerraform(struct!.workload),
  }
}


export function bundleRouteMcpServerUpstreamOauth2ToHclTerraform(struct?: BundleRouteMcpServerUpstreamOauth2 | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    client_id: {
      value: cdktf.stringToHclTerraform(struct!.clientId),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret: {
      value: cdktf.stringToHclTerraform(struct!.clientSecret),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_ref: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_sealed: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo: {
      value: cdktf.stringToHclTerraform(struct!.clientSecretWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_secret_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.clientSecretWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    client_key: {
      value: cdktf.stringToHclTerraform(struct!.clientKey),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_ref: {
      value: cdktf.stringToHclTerraform(struct!.clientKeyRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_sealed: {
      value: cdktf.stringToHclTerraform(struct!.clientKeySealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_wo: {
      value: cdktf.stringToHclTerraform(struct!.clientKeyWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.clientKeyWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    scopes: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.scopes),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    authorization_url_params: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.authorizationUrlParams),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    resource: {
      value: cdktf.stringToHclTerraform(struct!.resource),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    send_resource: {
      value: cdktf.booleanToHclTerraform(struct!.sendResource),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    client_credentials: {
      value: cdktf.booleanToHclTerraform(struct!.clientCredentials),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    endpoint: {
      value: bundleRouteMcpServerUpstreamOauth2EndpointToHclTerraform(struct!.endpoint),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerUpstreamOauth2Endpoint",
    },
    id_jag: {
      value: bundleRouteMcpServerUpstreamOauth2IdJagToHclTerraform(struct!.idJag),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerUpstreamOauth2IdJag",
    },
    workload: {
      value: bundleRouteMcpServerUpstreamOauth2WorkloadToHclTerraform(struct!.workload),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerUpstreamOauth2Workload",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerUpstreamOauth2OutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerUpstreamOauth2 | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._clientId !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientId = this._clientId;
    }
    if (this._clientSecret !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecret = this._clientSecret;
    }
    if (this._clientSecretRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretRef = this._clientSecretRef;
    }
    if (this._clientSecretSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretSealed = this._clientSecretSealed;
    }
    if (this._clientSecretWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWo = this._clientSecretWo;
    }
    if (this._clientSecretWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientSecretWoVersion = this._clientSecretWoVersion;
    }
    if (this._clientKey !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKey = this._clientKey;
    }
    if (this._clientKeyRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeyRef = this._clientKeyRef;
    }
    if (this._clientKeySealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeySealed = this._clientKeySealed;
    }
    if (this._clientKeyWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeyWo = this._clientKeyWo;
    }
    if (this._clientKeyWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientKeyWoVersion = this._clientKeyWoVersion;
    }
    if (this._scopes !== undefined) {
      hasAnyValues = true;
      internalValueResult.scopes = this._scopes;
    }
    if (this._authorizationUrlParams !== undefined) {
      hasAnyValues = true;
      internalValueResult.authorizationUrlParams = this._authorizationUrlParams;
    }
    if (this._resource !== undefined) {
      hasAnyValues = true;
      internalValueResult.resource = this._resource;
    }
    if (this._sendResource !== undefined) {
      hasAnyValues = true;
      internalValueResult.sendResource = this._sendResource;
    }
    if (this._clientCredentials !== undefined) {
      hasAnyValues = true;
      internalValueResult.clientCredentials = this._clientCredentials;
    }
    if (this._endpoint?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.endpoint = this._endpoint?.internalValue;
    }
    if (this._idJag?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.idJag = this._idJag?.internalValue;
    }
    if (this._workload?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.workload = this._workload?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerUpstreamOauth2 | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._clientId = undefined;
      this._clientSecret = undefined;
      this._clientSecretRef = undefined;
      this._clientSecretSealed = undefined;
      this._clientSecretWo = undefined;
      this._clientSecretWoVersion = undefined;
      this._clientKey = undefined;
      this._clientKeyRef = undefined;
      this._clientKeySealed = undefined;
      this._clientKeyWo = undefined;
      this._clientKeyWoVersion = undefined;
      this._scopes = undefined;
      this._authorizationUrlParams = undefined;
      this._resource = undefined;
      this._sendResource = undefined;
      this._clientCredentials = undefined;
      this._endpoint.internalValue = undefined;
      this._idJag.internalValue = undefined;
      this._workload.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._clientId = value.clientId;
      this._clientSecret = value.clientSecret;
      this._clientSecretRef = value.clientSecretRef;
      this._clientSecretSealed = value.clientSecretSealed;
      this._clientSecretWo = value.clientSecretWo;
      this._clientSecretWoVersion = value.clientSecretWoVersion;
      this._clientKey = value.clientKey;
      this._clientKeyRef = value.clientKeyRef;
      this._clientKeySealed = value.clientKeySealed;
      this._clientKeyWo = value.clientKeyWo;
      this._clientKeyWoVersion = value.clientKeyWoVersion;
      this._scopes = value.scopes;
      this._authorizationUrlParams = value.authorizationUrlParams;
      this._resource = value.resource;
      this._sendResource = value.sendResource;
      this._clientCredentials = value.clientCredentials;
      this._endpoint.internalValue = value.endpoint;
      this._idJag.internalValue = value.idJag;
      this._workload.internalValue = value.workload;
    }
  }

  // client_id - computed: false, optional: true, required: false
  private _clientId?: string; 
  public get clientId() {
    return this.getStringAttribute('client_id');
  }
  public set clientId(value: string) {
    this._clientId = value;
  }
  public resetClientId() {
    this._clientId = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientIdInput() {
    return this._clientId;
  }

  // client_secret - computed: false, optional: true, required: false
  private _clientSecret?: string; 
  public get clientSecret() {
    return this.getStringAttribute('client_secret');
  }
  public set clientSecret(value: string) {
    this._clientSecret = value;
  }
  public resetClientSecret() {
    this._clientSecret = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretInput() {
    return this._clientSecret;
  }

  // client_secret_ref - computed: false, optional: true, required: false
  private _clientSecretRef?: string; 
  public get clientSecretRef() {
    return this.getStringAttribute('client_secret_ref');
  }
  public set clientSecretRef(value: string) {
    this._clientSecretRef = value;
  }
  public resetClientSecretRef() {
    this._clientSecretRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretRefInput() {
    return this._clientSecretRef;
  }

  // client_secret_sealed - computed: true, optional: true, required: false
  private _clientSecretSealed?: string; 
  public get clientSecretSealed() {
    return this.getStringAttribute('client_secret_sealed');
  }
  public set clientSecretSealed(value: string) {
    this._clientSecretSealed = value;
  }
  public resetClientSecretSealed() {
    this._clientSecretSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretSealedInput() {
    return this._clientSecretSealed;
  }

  // client_secret_wo - computed: false, optional: true, required: false
  private _clientSecretWo?: string; 
  public get clientSecretWo() {
    return this.getStringAttribute('client_secret_wo');
  }
  public set clientSecretWo(value: string) {
    this._clientSecretWo = value;
  }
  public resetClientSecretWo() {
    this._clientSecretWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoInput() {
    return this._clientSecretWo;
  }

  // client_secret_wo_version - computed: false, optional: true, required: false
  private _clientSecretWoVersion?: number; 
  public get clientSecretWoVersion() {
    return this.getNumberAttribute('client_secret_wo_version');
  }
  public set clientSecretWoVersion(value: number) {
    this._clientSecretWoVersion = value;
  }
  public resetClientSecretWoVersion() {
    this._clientSecretWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientSecretWoVersionInput() {
    return this._clientSecretWoVersion;
  }

  // client_key - computed: false, optional: true, required: false
  private _clientKey?: string; 
  public get clientKey() {
    return this.getStringAttribute('client_key');
  }
  public set clientKey(value: string) {
    this._clientKey = value;
  }
  public resetClientKey() {
    this._clientKey = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyInput() {
    return this._clientKey;
  }

  // client_key_ref - computed: false, optional: true, required: false
  private _clientKeyRef?: string; 
  public get clientKeyRef() {
    return this.getStringAttribute('client_key_ref');
  }
  public set clientKeyRef(value: string) {
    this._clientKeyRef = value;
  }
  public resetClientKeyRef() {
    this._clientKeyRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyRefInput() {
    return this._clientKeyRef;
  }

  // client_key_sealed - computed: true, optional: true, required: false
  private _clientKeySealed?: string; 
  public get clientKeySealed() {
    return this.getStringAttribute('client_key_sealed');
  }
  public set clientKeySealed(value: string) {
    this._clientKeySealed = value;
  }
  public resetClientKeySealed() {
    this._clientKeySealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeySealedInput() {
    return this._clientKeySealed;
  }

  // client_key_wo - computed: false, optional: true, required: false
  private _clientKeyWo?: string; 
  public get clientKeyWo() {
    return this.getStringAttribute('client_key_wo');
  }
  public set clientKeyWo(value: string) {
    this._clientKeyWo = value;
  }
  public resetClientKeyWo() {
    this._clientKeyWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyWoInput() {
    return this._clientKeyWo;
  }

  // client_key_wo_version - computed: false, optional: true, required: false
  private _clientKeyWoVersion?: number; 
  public get clientKeyWoVersion() {
    return this.getNumberAttribute('client_key_wo_version');
  }
  public set clientKeyWoVersion(value: number) {
    this._clientKeyWoVersion = value;
  }
  public resetClientKeyWoVersion() {
    this._clientKeyWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyWoVersionInput() {
    return this._clientKeyWoVersion;
  }

  // scopes - computed: false, optional: true, required: false
  private _scopes?: string[]; 
  public get scopes() {
    return this.getListAttribute('scopes');
  }
  public set scopes(value: string[]) {
    this._scopes = value;
  }
  public resetScopes() {
    this._scopes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get scopesInput() {
    return this._scopes;
  }

  // authorization_url_params - computed: false, optional: true, required: false
  private _authorizationUrlParams?: { [key: string]: string }; 
  public get authorizationUrlParams() {
    return this.getStringMapAttribute('authorization_url_params');
  }
  public set authorizationUrlParams(value: { [key: string]: string }) {
    this._authorizationUrlParams = value;
  }
  public resetAuthorizationUrlParams() {
    this._authorizationUrlParams = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get authorizationUrlParamsInput() {
    return this._authorizationUrlParams;
  }

  // resource - computed: false, optional: true, required: false
  private _resource?: string; 
  public get resource() {
    return this.getStringAttribute('resource');
  }
  public set resource(value: string) {
    this._resource = value;
  }
  public resetResource() {
    this._resource = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get resourceInput() {
    return this._resource;
  }

  // send_resource - computed: false, optional: true, required: false
  private _sendResource?: boolean | cdktf.IResolvable; 
  public get sendResource() {
    return this.getBooleanAttribute('send_resource');
  }
  public set sendResource(value: boolean | cdktf.IResolvable) {
    this._sendResource = value;
  }
  public resetSendResource() {
    this._sendResource = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get sendResourceInput() {
    return this._sendResource;
  }

  // client_credentials - computed: false, optional: true, required: false
  private _clientCredentials?: boolean | cdktf.IResolvable; 
  public get clientCredentials() {
    return this.getBooleanAttribute('client_credentials');
  }
  public set clientCredentials(value: boolean | cdktf.IResolvable) {
    this._clientCredentials = value;
  }
  public resetClientCredentials() {
    this._clientCredentials = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientCredentialsInput() {
    return this._clientCredentials;
  }

  // endpoint - computed: false, optional: true, required: false
  private _endpoint = new BundleRouteMcpServerUpstreamOauth2EndpointOutputReference(this, "endpoint");
  public get endpoint() {
    return this._endpoint;
  }
  public putEndpoint(value: BundleRouteMcpServerUpstreamOauth2Endpoint) {
    this._endpoint.internalValue = value;
  }
  public resetEndpoint() {
    this._endpoint.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get endpointInput() {
    return this._endpoint.internalValue;
  }

  // id_jag - computed: false, optional: true, required: false
  private _idJag = new BundleRouteMcpServerUpstreamOauth2IdJagOutputReference(this, "id_jag");
  public get idJag() {
    return this._idJag;
  }
  public putIdJag(value: BundleRouteMcpServerUpstreamOauth2IdJag) {
    this._idJag.internalValue = value;
  }
  public resetIdJag() {
    this._idJag.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idJagInput() {
    return this._idJag.internalValue;
  }

  // workload - computed: false, optional: true, required: false
  private _workload = new BundleRouteMcpServerUpstreamOauth2WorkloadOutputReference(this, "workload");
  public get workload() {
    return this._workload;
  }
  public putWorkload(value: BundleRouteMcpServerUpstreamOauth2Workload) {
    this._workload.internalValue = value;
  }
  public resetWorkload() {
    this._workload.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get workloadInput() {
    return this._workload.internalValue;
  }
}
export interface BundleRouteMcpServerToolLock {
  /**
  * Digests of the reviewed tools, by tool name. Several if users see different definitions. Default: those in `file`.
  *
  */
  readonly tools?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Digests of reviewed prompts, by name. Default: those in `file`; otherwise not checked.
  *
  */
  readonly prompts?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Digests of reviewed resource templates, by `uriTemplate`. Default: those in `file`; otherwise not checked.
  *
  */
  readonly resourceTemplates?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Digests of reviewed skills, by the URI of their `SKILL.md`. Default: those in `file`; otherwise not checked.
  *
  */
  readonly skills?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Digests of the server's reviewed `instructions`. An empty list allows none. Default: those in `file`; otherwise not checked.
  *
  */
  readonly instructions?: string[];
  /**
  * File written by `gateway tools lock`, instead of `tools`, reloaded when it changes. Owners need `allowed_refs`.
  *
  */
  readonly file?: string;
  /**
  * Reviewed classes of tools, by name, for `mcp_tool_class`: read, write, destructive, external, sensitive, untrusted. Default: those in `file`.
  *
  */
  readonly classes?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Tools that are not locked or differ: recorded, also hidden and denied, or denied but listed. One of `warn`, `hide`, `deny`. Default: `hide`.
  *
  */
  readonly onDrift?: string;
  /**
  * Whether calls of locked tools pass before a list has shown them. One of `pass`, `deny`. Default: `pass`.
  *
  */
  readonly onUnlisted?: string;
}

export function bundleRouteMcpServerToolLockToTerraform(struct?: BundleRouteMcpServerToolLock | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    tools: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.tools),
    prompts: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.prompts),
    resource_templates: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.resourceTemplates),
    skills: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.skills),
    instructions: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.instructions),
    file: cdktf.stringToTerraform(struct!.file),
    classes: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.classes),
    on_drift: cdktf.stringToTerraform(struct!.onDrift),
    on_unlisted: cdktf.stringToTerraform(struct!.onUnlisted),
  }
}


export function bundleRouteMcpServerToolLockToHclTerraform(struct?: BundleRouteMcpServerToolLock | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    tools: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.tools),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    prompts: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.prompts),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    resource_templates: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.resourceTemplates),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    skills: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.skills),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    instructions: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.instructions),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    file: {
      value: cdktf.stringToHclTerraform(struct!.file),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    classes: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.classes),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    on_drift: {
      value: cdktf.stringToHclTerraform(struct!.onDrift),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    on_unlisted: {
      value: cdktf.stringToHclTerraform(struct!.onUnlisted),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerToolLockOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerToolLock | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._tools !== undefined) {
      hasAnyValues = true;
      internalValueResult.tools = this._tools;
    }
    if (this._prompts !== undefined) {
      hasAnyValues = true;
      internalValueResult.prompts = this._prompts;
    }
    if (this._resourceTemplates !== undefined) {
      hasAnyValues = true;
      internalValueResult.resourceTemplates = this._resourceTemplates;
    }
    if (this._skills !== undefined) {
      hasAnyValues = true;
      internalValueResult.skills = this._skills;
    }
    if (this._instructions !== undefined) {
      hasAnyValues = true;
      internalValueResult.instructions = this._instructions;
    }
    if (this._file !== undefined) {
      hasAnyValues = true;
      internalValueResult.file = this._file;
    }
    if (this._classes !== undefined) {
      hasAnyValues = true;
      internalValueResult.classes = this._classes;
    }
    if (this._onDrift !== undefined) {
      hasAnyValues = true;
      internalValueResult.onDrift = this._onDrift;
    }
    if (this._onUnlisted !== undefined) {
      hasAnyValues = true;
      internalValueResult.onUnlisted = this._onUnlisted;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerToolLock | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._tools = undefined;
      this._prompts = undefined;
      this._resourceTemplates = undefined;
      this._skills = undefined;
      this._instructions = undefined;
      this._file = undefined;
      this._classes = undefined;
      this._onDrift = undefined;
      this._onUnlisted = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._tools = value.tools;
      this._prompts = value.prompts;
      this._resourceTemplates = value.resourceTemplates;
      this._skills = value.skills;
      this._instructions = value.instructions;
      this._file = value.file;
      this._classes = value.classes;
      this._onDrift = value.onDrift;
      this._onUnlisted = value.onUnlisted;
    }
  }

  // tools - computed: false, optional: true, required: false
  private _tools?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get tools() {
    return this.interpolationForAttribute('tools');
  }
  public set tools(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._tools = value;
  }
  public resetTools() {
    this._tools = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get toolsInput() {
    return this._tools;
  }

  // prompts - computed: false, optional: true, required: false
  private _prompts?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get prompts() {
    return this.interpolationForAttribute('prompts');
  }
  public set prompts(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._prompts = value;
  }
  public resetPrompts() {
    this._prompts = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get promptsInput() {
    return this._prompts;
  }

  // resource_templates - computed: false, optional: true, required: false
  private _resourceTemplates?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get resourceTemplates() {
    return this.interpolationForAttribute('resource_templates');
  }
  public set resourceTemplates(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._resourceTemplates = value;
  }
  public resetResourceTemplates() {
    this._resourceTemplates = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get resourceTemplatesInput() {
    return this._resourceTemplates;
  }

  // skills - computed: false, optional: true, required: false
  private _skills?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get skills() {
    return this.interpolationForAttribute('skills');
  }
  public set skills(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._skills = value;
  }
  public resetSkills() {
    this._skills = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get skillsInput() {
    return this._skills;
  }

  // instructions - computed: false, optional: true, required: false
  private _instructions?: string[]; 
  public get instructions() {
    return this.getListAttribute('instructions');
  }
  public set instructions(value: string[]) {
    this._instructions = value;
  }
  public resetInstructions() {
    this._instructions = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get instructionsInput() {
    return this._instructions;
  }

  // file - computed: false, optional: true, required: false
  private _file?: string; 
  public get file() {
    return this.getStringAttribute('file');
  }
  public set file(value: string) {
    this._file = value;
  }
  public resetFile() {
    this._file = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get fileInput() {
    return this._file;
  }

  // classes - computed: false, optional: true, required: false
  private _classes?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get classes() {
    return this.interpolationForAttribute('classes');
  }
  public set classes(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._classes = value;
  }
  public resetClasses() {
    this._classes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get classesInput() {
    return this._classes;
  }

  // on_drift - computed: false, optional: true, required: false
  private _onDrift?: string; 
  public get onDrift() {
    return this.getStringAttribute('on_drift');
  }
  public set onDrift(value: string) {
    this._onDrift = value;
  }
  public resetOnDrift() {
    this._onDrift = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get onDriftInput() {
    return this._onDrift;
  }

  // on_unlisted - computed: false, optional: true, required: false
  private _onUnlisted?: string; 
  public get onUnlisted() {
    return this.getStringAttribute('on_unlisted');
  }
  public set onUnlisted(value: string) {
    this._onUnlisted = value;
  }
  public resetOnUnlisted() {
    this._onUnlisted = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get onUnlistedInput() {
    return this._onUnlisted;
  }
}
export interface BundleRouteMcpServerRecordArguments {
  /**
  * Arguments recorded in plain text: tool name, or "*" for all tools, to JSON pointers; `""` is all arguments.
  *
  */
  readonly plain?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Arguments recorded as keyed digests, as in `plain`. Equal values have equal digests.
  *
  */
  readonly digest?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Arguments that are not recorded, as in `plain`.
  *
  */
  readonly omit?: { [key: string]: string[] } | cdktf.IResolvable;
}

export function bundleRouteMcpServerRecordArgumentsToTerraform(struct?: BundleRouteMcpServerRecordArguments | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    plain: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.plain),
    digest: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.digest),
    omit: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.omit),
  }
}


export function bundleRouteMcpServerRecordArgumentsToHclTerraform(struct?: BundleRouteMcpServerRecordArguments | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    plain: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.plain),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    digest: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.digest),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    omit: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.omit),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerRecordArgumentsOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerRecordArguments | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._plain !== undefined) {
      hasAnyValues = true;
      internalValueResult.plain = this._plain;
    }
    if (this._digest !== undefined) {
      hasAnyValues = true;
      internalValueResult.digest = this._digest;
    }
    if (this._omit !== undefined) {
      hasAnyValues = true;
      internalValueResult.omit = this._omit;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerRecordArguments | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._plain = undefined;
      this._digest = undefined;
      this._omit = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._plain = value.plain;
      this._digest = value.digest;
      this._omit = value.omit;
    }
  }

  // plain - computed: false, optional: true, required: false
  private _plain?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get plain() {
    return this.interpolationForAttribute('plain');
  }
  public set plain(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._plain = value;
  }
  public resetPlain() {
    this._plain = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get plainInput() {
    return this._plain;
  }

  // digest - computed: false, optional: true, required: false
  private _digest?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get digest() {
    return this.interpolationForAttribute('digest');
  }
  public set digest(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._digest = value;
  }
  public resetDigest() {
    this._digest = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get digestInput() {
    return this._digest;
  }

  // omit - computed: false, optional: true, required: false
  private _omit?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get omit() {
    return this.interpolationForAttribute('omit');
  }
  public set omit(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._omit = value;
  }
  public resetOmit() {
    this._omit = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get omitInput() {
    return this._omit;
  }
}
export interface BundleRouteMcpServerHistoryRulesAfter {
  /**
  * Calls of which one must have succeeded before. JSON text; write it with `jsonencode(…)`.
  *
  */
  readonly calls: string;
  /**
  * Window, from 1 second to 30 days.
  *
  */
  readonly within: string;
  /**
  * Argument, as a JSON pointer, that must have the same value in both calls.
  *
  */
  readonly sameArgument?: string;
}

export function bundleRouteMcpServerHistoryRulesAfterToTerraform(struct?: BundleRouteMcpServerHistoryRulesAfter | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    calls: cdktf.stringToTerraform(struct!.calls),
    within: cdktf.stringToTerraform(struct!.within),
    same_argument: cdktf.stringToTerraform(struct!.sameArgument),
  }
}


export function bundleRouteMcpServerHistoryRulesAfterToHclTerraform(struct?: BundleRouteMcpServerHistoryRulesAfter | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    calls: {
      value: cdktf.stringToHclTerraform(struct!.calls),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    within: {
      value: cdktf.stringToHclTerraform(struct!.within),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    same_argument: {
      value: cdktf.stringToHclTerraform(struct!.sameArgument),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerHistoryRulesAfterOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerHistoryRulesAfter | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._calls !== undefined) {
      hasAnyValues = true;
      internalValueResult.calls = this._calls;
    }
    if (this._within !== undefined) {
      hasAnyValues = true;
      internalValueResult.within = this._within;
    }
    if (this._sameArgument !== undefined) {
      hasAnyValues = true;
      internalValueResult.sameArgument = this._sameArgument;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerHistoryRulesAfter | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._calls = undefined;
      this._within = undefined;
      this._sameArgument = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._calls = value.calls;
      this._within = value.within;
      this._sameArgument = value.sameArgument;
    }
  }

  // calls - computed: false, optional: false, required: true
  private _calls?: string; 
  public get calls() {
    return this.getStringAttribute('calls');
  }
  public set calls(value: string) {
    this._calls = value;
  }
  // Temporarily expose input value. Use with caution.
  public get callsInput() {
    return this._calls;
  }

  // within - computed: false, optional: false, required: true
  private _within?: string; 
  public get within() {
    return this.getStringAttribute('within');
  }
  public set within(value: string) {
    this._within = value;
  }
  // Temporarily expose input value. Use with caution.
  public get withinInput() {
    return this._within;
  }

  // same_argument - computed: false, optional: true, required: false
  private _sameArgument?: string; 
  public get sameArgument() {
    return this.getStringAttribute('same_argument');
  }
  public set sameArgument(value: string) {
    this._sameArgument = value;
  }
  public resetSameArgument() {
    this._sameArgument = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get sameArgumentInput() {
    return this._sameArgument;
  }
}
export interface BundleRouteMcpServerHistoryRulesNotAfter {
  /**
  * Calls after which the call is denied, from their decision on. JSON text; write it with `jsonencode(…)`.
  *
  */
  readonly calls: string;
  /**
  * Window, from 1 second to 30 days.
  *
  */
  readonly within: string;
  /**
  * Require an approval of the tool call instead of denying it. Default: `false`.
  *
  */
  readonly unlessApproved?: boolean | cdktf.IResolvable;
  /**
  * Groups whose members can approve. Only with `unless_approved`. Default: the caller confirms.
  *
  */
  readonly approvers?: string[];
}

export function bundleRouteMcpServerHistoryRulesNotAfterToTerraform(struct?: BundleRouteMcpServerHistoryRulesNotAfter | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    calls: cdktf.stringToTerraform(struct!.calls),
    within: cdktf.stringToTerraform(struct!.within),
    unless_approved: cdktf.booleanToTerraform(struct!.unlessApproved),
    approvers: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.approvers),
  }
}


export function bundleRouteMcpServerHistoryRulesNotAfterToHclTerraform(struct?: BundleRouteMcpServerHistoryRulesNotAfter | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    calls: {
      value: cdktf.stringToHclTerraform(struct!.calls),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    within: {
      value: cdktf.stringToHclTerraform(struct!.within),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    unless_approved: {
      value: cdktf.booleanToHclTerraform(struct!.unlessApproved),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    approvers: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.approvers),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerHistoryRulesNotAfterOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerHistoryRulesNotAfter | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._calls !== undefined) {
      hasAnyValues = true;
      internalValueResult.calls = this._calls;
    }
    if (this._within !== undefined) {
      hasAnyValues = true;
      internalValueResult.within = this._within;
    }
    if (this._unlessApproved !== undefined) {
      hasAnyValues = true;
      internalValueResult.unlessApproved = this._unlessApproved;
    }
    if (this._approvers !== undefined) {
      hasAnyValues = true;
      internalValueResult.approvers = this._approvers;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerHistoryRulesNotAfter | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._calls = undefined;
      this._within = undefined;
      this._unlessApproved = undefined;
      this._approvers = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._calls = value.calls;
      this._within = value.within;
      this._unlessApproved = value.unlessApproved;
      this._approvers = value.approvers;
    }
  }

  // calls - computed: false, optional: false, required: true
  private _calls?: string; 
  public get calls() {
    return this.getStringAttribute('calls');
  }
  public set calls(value: string) {
    this._calls = value;
  }
  // Temporarily expose input value. Use with caution.
  public get callsInput() {
    return this._calls;
  }

  // within - computed: false, optional: false, required: true
  private _within?: string; 
  public get within() {
    return this.getStringAttribute('within');
  }
  public set within(value: string) {
    this._within = value;
  }
  // Temporarily expose input value. Use with caution.
  public get withinInput() {
    return this._within;
  }

  // unless_approved - computed: false, optional: true, required: false
  private _unlessApproved?: boolean | cdktf.IResolvable; 
  public get unlessApproved() {
    return this.getBooleanAttribute('unless_approved');
  }
  public set unlessApproved(value: boolean | cdktf.IResolvable) {
    this._unlessApproved = value;
  }
  public resetUnlessApproved() {
    this._unlessApproved = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get unlessApprovedInput() {
    return this._unlessApproved;
  }

  // approvers - computed: false, optional: true, required: false
  private _approvers?: string[]; 
  public get approvers() {
    return this.getListAttribute('approvers');
  }
  public set approvers(value: string[]) {
    this._approvers = value;
  }
  public resetApprovers() {
    this._approvers = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get approversInput() {
    return this._approvers;
  }
}
export interface BundleRouteMcpServerHistoryRulesAtMost {
  /**
  * Maximum calls within the window.
  *
  */
  readonly count: number;
  /**
  * Window, from 1 second to 30 days.
  *
  */
  readonly within: string;
}

export function bundleRouteMcpServerHistoryRulesAtMostToTerraform(struct?: BundleRouteMcpServerHistoryRulesAtMost | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    count: cdktf.numberToTerraform(struct!.count),
    within: cdktf.stringToTerraform(struct!.within),
  }
}


export function bundleRouteMcpServerHistoryRulesAtMostToHclTerraform(struct?: BundleRouteMcpServerHistoryRulesAtMost | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    count: {
      value: cdktf.numberToHclTerraform(struct!.count),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    within: {
      value: cdktf.stringToHclTerraform(struct!.within),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerHistoryRulesAtMostOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerHistoryRulesAtMost | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._count !== undefined) {
      hasAnyValues = true;
      internalValueResult.count = this._count;
    }
    if (this._within !== undefined) {
      hasAnyValues = true;
      internalValueResult.within = this._within;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerHistoryRulesAtMost | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._count = undefined;
      this._within = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._count = value.count;
      this._within = value.within;
    }
  }

  // count - computed: false, optional: false, required: true
  private _count?: number; 
  public get count() {
    return this.getNumberAttribute('count');
  }
  public set count(value: number) {
    this._count = value;
  }
  // Temporarily expose input value. Use with caution.
  public get countInput() {
    return this._count;
  }

  // within - computed: false, optional: false, required: true
  private _within?: string; 
  public get within() {
    return this.getStringAttribute('within');
  }
  public set within(value: string) {
    this._within = value;
  }
  // Temporarily expose input value. Use with caution.
  public get withinInput() {
    return this._within;
  }
}
export interface BundleRouteMcpServerHistoryRulesTotal {
  /**
  * Argument to add up, as a JSON pointer.
  *
  */
  readonly argument: string;
  /**
  * Highest sum within the window: a decimal number up to 1000000000, with at most 6 decimals.
  *
  */
  readonly limit: string;
  /**
  * Window, from 1 second to 30 days.
  *
  */
  readonly within: string;
}

export function bundleRouteMcpServerHistoryRulesTotalToTerraform(struct?: BundleRouteMcpServerHistoryRulesTotal | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    argument: cdktf.stringToTerraform(struct!.argument),
    limit: cdktf.stringToTerraform(struct!.limit),
    within: cdktf.stringToTerraform(struct!.within),
  }
}


export function bundleRouteMcpServerHistoryRulesTotalToHclTerraform(struct?: BundleRouteMcpServerHistoryRulesTotal | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    argument: {
      value: cdktf.stringToHclTerraform(struct!.argument),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    limit: {
      value: cdktf.stringToHclTerraform(struct!.limit),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    within: {
      value: cdktf.stringToHclTerraform(struct!.within),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerHistoryRulesTotalOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerHistoryRulesTotal | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._argument !== undefined) {
      hasAnyValues = true;
      internalValueResult.argument = this._argument;
    }
    if (this._limit !== undefined) {
      hasAnyValues = true;
      internalValueResult.limit = this._limit;
    }
    if (this._within !== undefined) {
      hasAnyValues = true;
      internalValueResult.within = this._within;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerHistoryRulesTotal | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._argument = undefined;
      this._limit = undefined;
      this._within = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._argument = value.argument;
      this._limit = value.limit;
      this._within = value.within;
    }
  }

  // argument - computed: false, optional: false, required: true
  private _argument?: string; 
  public get argument() {
    return this.getStringAttribute('argument');
  }
  public set argument(value: string) {
    this._argument = value;
  }
  // Temporarily expose input value. Use with caution.
  public get argumentInput() {
    return this._argument;
  }

  // limit - computed: false, optional: false, required: true
  private _limit?: string; 
  public get limit() {
    return this.getStringAttribute('limit');
  }
  public set limit(value: string) {
    this._limit = value;
  }
  // Temporarily expose input value. Use with caution.
  public get limitInput() {
    return this._limit;
  }

  // within - computed: false, optional: false, required: true
  private _within?: string; 
  public get within() {
    return this.getStringAttribute('within');
  }
  public set within(value: string) {
    this._within = value;
  }
  // Temporarily expose input value. Use with caution.
  public get withinInput() {
    return this._within;
  }
}
export interface BundleRouteMcpServerHistoryRules {
  /**
  * Rule name, shown in responses, records and metrics.
  *
  */
  readonly name: string;
  /**
  * Calls that the rule restricts: criteria on tools, arguments, prompts, resources and methods. JSON text; write it with `jsonencode(…)`.
  *
  */
  readonly calls: string;
  /**
  * Whose earlier calls count; only `user` outlasts client registrations and sign-ins. With `run`, the rule is for agent runs only. One of `user`, `grant`, `client`, `run`. Default: `user`.
  *
  */
  readonly per?: string;
  /**
  * Evaluate and record the rule without enforcing it. Default: `false`.
  *
  */
  readonly shadow?: boolean | cdktf.IResolvable;
  /**
  * Deny the call unless such a call succeeded within the window.
  *
  */
  readonly after?: BundleRouteMcpServerHistoryRulesAfter;
  /**
  * Deny the call after such a call within the window.
  *
  */
  readonly notAfter?: BundleRouteMcpServerHistoryRulesNotAfter;
  /**
  * Deny calls above a number within the window.
  *
  */
  readonly atMost?: BundleRouteMcpServerHistoryRulesAtMost;
  /**
  * Deny calls by which the sum of an argument would exceed a limit within the window.
  *
  */
  readonly total?: BundleRouteMcpServerHistoryRulesTotal;
}

export function bundleRouteMcpServerHistoryRulesToTerraform(struct?: BundleRouteMcpServerHistoryRules | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    name: cdktf.stringToTerraform(struct!.name),
    calls: cdktf.stringToTerraform(struct!.calls),
    per: cdktf.stringToTerraform(struct!.per),
    shadow: cdktf.booleanToTerraform(struct!.shadow),
    after: bundleRouteMcpServerHistoryRulesAfterToTerraform(struct!.after),
    not_after: bundleRouteMcpServerHistoryRulesNotAfterToTerraform(struct!.notAfter),
    at_most: bundleRouteMcpServerHistoryRulesAtMostToTerraform(struct!.atMost),
    total: bundleRouteMcpServerHistoryRulesTotalToTerraform(struct!.total),
  }
}


export function bundleRouteMcpServerHistoryRulesToHclTerraform(struct?: BundleRouteMcpServerHistoryRules | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    name: {
      value: cdktf.stringToHclTerraform(struct!.name),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    calls: {
      value: cdktf.stringToHclTerraform(struct!.calls),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    per: {
      value: cdktf.stringToHclTerraform(struct!.per),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    shadow: {
      value: cdktf.booleanToHclTerraform(struct!.shadow),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    after: {
      value: bundleRouteMcpServerHistoryRulesAfterToHclTerraform(struct!.after),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerHistoryRulesAfter",
    },
    not_after: {
      value: bundleRouteMcpServerHistoryRulesNotAfterToHclTerraform(struct!.notAfter),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerHistoryRulesNotAfter",
    },
    at_most: {
      value: bundleRouteMcpServerHistoryRulesAtMostToHclTerraform(struct!.atMost),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerHistoryRulesAtMost",
    },
    total: {
      value: bundleRouteMcpServerHistoryRulesTotalToHclTerraform(struct!.total),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerHistoryRulesTotal",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerHistoryRulesOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): BundleRouteMcpServerHistoryRules | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._name !== undefined) {
      hasAnyValues = true;
      internalValueResult.name = this._name;
    }
    if (this._calls !== undefined) {
      hasAnyValues = true;
      internalValueResult.calls = this._calls;
    }
    if (this._per !== undefined) {
      hasAnyValues = true;
      internalValueResult.per = this._per;
    }
    if (this._shadow !== undefined) {
      hasAnyValues = true;
      internalValueResult.shadow = this._shadow;
    }
    if (this._after?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.after = this._after?.internalValue;
    }
    if (this._notAfter?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.notAfter = this._notAfter?.internalValue;
    }
    if (this._atMost?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.atMost = this._atMost?.internalValue;
    }
    if (this._total?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.total = this._total?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerHistoryRules | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._name = undefined;
      this._calls = undefined;
      this._per = undefined;
      this._shadow = undefined;
      this._after.internalValue = undefined;
      this._notAfter.internalValue = undefined;
      this._atMost.internalValue = undefined;
      this._total.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._name = value.name;
      this._calls = value.calls;
      this._per = value.per;
      this._shadow = value.shadow;
      this._after.internalValue = value.after;
      this._notAfter.internalValue = value.notAfter;
      this._atMost.internalValue = value.atMost;
      this._total.internalValue = value.total;
    }
  }

  // name - computed: false, optional: false, required: true
  private _name?: string; 
  public get name() {
    return this.getStringAttribute('name');
  }
  public set name(value: string) {
    this._name = value;
  }
  // Temporarily expose input value. Use with caution.
  public get nameInput() {
    return this._name;
  }

  // calls - computed: false, optional: false, required: true
  private _calls?: string; 
  public get calls() {
    return this.getStringAttribute('calls');
  }
  public set calls(value: string) {
    this._calls = value;
  }
  // Temporarily expose input value. Use with caution.
  public get callsInput() {
    return this._calls;
  }

  // per - computed: false, optional: true, required: false
  private _per?: string; 
  public get per() {
    return this.getStringAttribute('per');
  }
  public set per(value: string) {
    this._per = value;
  }
  public resetPer() {
    this._per = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get perInput() {
    return this._per;
  }

  // shadow - computed: false, optional: true, required: false
  private _shadow?: boolean | cdktf.IResolvable; 
  public get shadow() {
    return this.getBooleanAttribute('shadow');
  }
  public set shadow(value: boolean | cdktf.IResolvable) {
    this._shadow = value;
  }
  public resetShadow() {
    this._shadow = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get shadowInput() {
    return this._shadow;
  }

  // after - computed: false, optional: true, required: false
  private _after = new BundleRouteMcpServerHistoryRulesAfterOutputReference(this, "after");
  public get after() {
    return this._after;
  }
  public putAfter(value: BundleRouteMcpServerHistoryRulesAfter) {
    this._after.internalValue = value;
  }
  public resetAfter() {
    this._after.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get afterInput() {
    return this._after.internalValue;
  }

  // not_after - computed: false, optional: true, required: false
  private _notAfter = new BundleRouteMcpServerHistoryRulesNotAfterOutputReference(this, "not_after");
  public get notAfter() {
    return this._notAfter;
  }
  public putNotAfter(value: BundleRouteMcpServerHistoryRulesNotAfter) {
    this._notAfter.internalValue = value;
  }
  public resetNotAfter() {
    this._notAfter.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get notAfterInput() {
    return this._notAfter.internalValue;
  }

  // at_most - computed: false, optional: true, required: false
  private _atMost = new BundleRouteMcpServerHistoryRulesAtMostOutputReference(this, "at_most");
  public get atMost() {
    return this._atMost;
  }
  public putAtMost(value: BundleRouteMcpServerHistoryRulesAtMost) {
    this._atMost.internalValue = value;
  }
  public resetAtMost() {
    this._atMost.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get atMostInput() {
    return this._atMost.internalValue;
  }

  // total - computed: false, optional: true, required: false
  private _total = new BundleRouteMcpServerHistoryRulesTotalOutputReference(this, "total");
  public get total() {
    return this._total;
  }
  public putTotal(value: BundleRouteMcpServerHistoryRulesTotal) {
    this._total.internalValue = value;
  }
  public resetTotal() {
    this._total.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get totalInput() {
    return this._total.internalValue;
  }
}

export class BundleRouteMcpServerHistoryRulesList extends cdktf.ComplexList {
  public internalValue? : BundleRouteMcpServerHistoryRules[] | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet)
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): BundleRouteMcpServerHistoryRulesOutputReference {
    return new BundleRouteMcpServerHistoryRulesOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}
export interface BundleRouteMcpServerGuardrail {
  /**
  * Address of the service. Each check is a signed POST request with JSON.
  *
  */
  readonly url: string;
  /**
  * Signing key according to Standard Webhooks: base64 of 24 to 64 random bytes. Several for rotation: each signs. Stored in plain text in Terraform state and bundle; prefer `secret_ref`.
  *
  */
  readonly secret?: string;
  /**
  * Reference to `secret`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly secretRef?: string;
  /**
  * `secret`, encrypted to the gateway's public key (compact JWE). Computed from `secret_wo`.
  *
  */
  readonly secretSealed?: string;
  /**
  * `secret` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `secret_wo_version`.
  *
  */
  readonly secretWo?: string;
  /**
  * Version of `secret_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly secretWoVersion?: number;
  /**
  * Also check results of calls. Results above 1 MiB are denied. Default: `false`.
  *
  */
  readonly results?: boolean | cdktf.IResolvable;
  /**
  * Time limit for each check, up to 1 minute. Calls without a verdict are denied. Default: `5s`.
  *
  */
  readonly timeout?: string;
  /**
  * Record verdicts without enforcing them. Calls still wait for them. Default: `false`.
  *
  */
  readonly shadow?: boolean | cdktf.IResolvable;
}

export function bundleRouteMcpServerGuardrailToTerraform(struct?: BundleRouteMcpServerGuardrail | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    url: cdktf.stringToTerraform(struct!.url),
    secret: cdktf.stringToTerraform(struct!.secret),
    secret_ref: cdktf.stringToTerraform(struct!.secretRef),
    secret_sealed: cdktf.stringToTerraform(struct!.secretSealed),
    secret_wo: cdktf.stringToTerraform(struct!.secretWo),
    secret_wo_version: cdktf.numberToTerraform(struct!.secretWoVersion),
    results: cdktf.booleanToTerraform(struct!.results),
    timeout: cdktf.stringToTerraform(struct!.timeout),
    shadow: cdktf.booleanToTerraform(struct!.shadow),
  }
}


export function bundleRouteMcpServerGuardrailToHclTerraform(struct?: BundleRouteMcpServerGuardrail | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    url: {
      value: cdktf.stringToHclTerraform(struct!.url),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret: {
      value: cdktf.stringToHclTerraform(struct!.secret),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_ref: {
      value: cdktf.stringToHclTerraform(struct!.secretRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_sealed: {
      value: cdktf.stringToHclTerraform(struct!.secretSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_wo: {
      value: cdktf.stringToHclTerraform(struct!.secretWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.secretWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    results: {
      value: cdktf.booleanToHclTerraform(struct!.results),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    timeout: {
      value: cdktf.stringToHclTerraform(struct!.timeout),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    shadow: {
      value: cdktf.booleanToHclTerraform(struct!.shadow),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerGuardrailOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServerGuardrail | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._url !== undefined) {
      hasAnyValues = true;
      internalValueResult.url = this._url;
    }
    if (this._secret !== undefined) {
      hasAnyValues = true;
      internalValueResult.secret = this._secret;
    }
    if (this._secretRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretRef = this._secretRef;
    }
    if (this._secretSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretSealed = this._secretSealed;
    }
    if (this._secretWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretWo = this._secretWo;
    }
    if (this._secretWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretWoVersion = this._secretWoVersion;
    }
    if (this._results !== undefined) {
      hasAnyValues = true;
      internalValueResult.results = this._results;
    }
    if (this._timeout !== undefined) {
      hasAnyValues = true;
      internalValueResult.timeout = this._timeout;
    }
    if (this._shadow !== undefined) {
      hasAnyValues = true;
      internalValueResult.shadow = this._shadow;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServerGuardrail | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._url = undefined;
      this._secret = undefined;
      this._secretRef = undefined;
      this._secretSealed = undefined;
      this._secretWo = undefined;
      this._secretWoVersion = undefined;
      this._results = undefined;
      this._timeout = undefined;
      this._shadow = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._url = value.url;
      this._secret = value.secret;
      this._secretRef = value.secretRef;
      this._secretSealed = value.secretSealed;
      this._secretWo = value.secretWo;
      this._secretWoVersion = value.secretWoVersion;
      this._results = value.results;
      this._timeout = value.timeout;
      this._shadow = value.shadow;
    }
  }

  // url - computed: false, optional: false, required: true
  private _url?: string; 
  public get url() {
    return this.getStringAttribute('url');
  }
  public set url(value: string) {
    this._url = value;
  }
  // Temporarily expose input value. Use with caution.
  public get urlInput() {
    return this._url;
  }

  // secret - computed: false, optional: true, required: false
  private _secret?: string; 
  public get secret() {
    return this.getStringAttribute('secret');
  }
  public set secret(value: string) {
    this._secret = value;
  }
  public resetSecret() {
    this._secret = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretInput() {
    return this._secret;
  }

  // secret_ref - computed: false, optional: true, required: false
  private _secretRef?: string; 
  public get secretRef() {
    return this.getStringAttribute('secret_ref');
  }
  public set secretRef(value: string) {
    this._secretRef = value;
  }
  public resetSecretRef() {
    this._secretRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretRefInput() {
    return this._secretRef;
  }

  // secret_sealed - computed: true, optional: true, required: false
  private _secretSealed?: string; 
  public get secretSealed() {
    return this.getStringAttribute('secret_sealed');
  }
  public set secretSealed(value: string) {
    this._secretSealed = value;
  }
  public resetSecretSealed() {
    this._secretSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretSealedInput() {
    return this._secretSealed;
  }

  // secret_wo - computed: false, optional: true, required: false
  private _secretWo?: string; 
  public get secretWo() {
    return this.getStringAttribute('secret_wo');
  }
  public set secretWo(value: string) {
    this._secretWo = value;
  }
  public resetSecretWo() {
    this._secretWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretWoInput() {
    return this._secretWo;
  }

  // secret_wo_version - computed: false, optional: true, required: false
  private _secretWoVersion?: number; 
  public get secretWoVersion() {
    return this.getNumberAttribute('secret_wo_version');
  }
  public set secretWoVersion(value: number) {
    this._secretWoVersion = value;
  }
  public resetSecretWoVersion() {
    this._secretWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretWoVersionInput() {
    return this._secretWoVersion;
  }

  // results - computed: false, optional: true, required: false
  private _results?: boolean | cdktf.IResolvable; 
  public get results() {
    return this.getBooleanAttribute('results');
  }
  public set results(value: boolean | cdktf.IResolvable) {
    this._results = value;
  }
  public resetResults() {
    this._results = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get resultsInput() {
    return this._results;
  }

  // timeout - computed: false, optional: true, required: false
  private _timeout?: string; 
  public get timeout() {
    return this.getStringAttribute('timeout');
  }
  public set timeout(value: string) {
    this._timeout = value;
  }
  public resetTimeout() {
    this._timeout = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get timeoutInput() {
    return this._timeout;
  }

  // shadow - computed: false, optional: true, required: false
  private _shadow?: boolean | cdktf.IResolvable; 
  public get shadow() {
    return this.getBooleanAttribute('shadow');
  }
  public set shadow(value: boolean | cdktf.IResolvable) {
    this._shadow = value;
  }
  public resetShadow() {
    this._shadow = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get shadowInput() {
    return this._shadow;
  }
}
export interface BundleRouteMcpServer {
  /**
  * MCP server routes offered together here, instead of `to`: prefix to route name or `owner/name`.
  *
  */
  readonly members?: { [key: string]: string };
  /**
  * More members: the owner's routes with such `labels`, or `owner/label`.
  *
  */
  readonly membersByLabel?: string[];
  /**
  * Labels for `members_by_label` of federated routes.
  *
  */
  readonly labels?: string[];
  /**
  * Prefix where selected by label. Default: the name of the route.
  *
  */
  readonly memberPrefix?: string;
  /**
  * Resources of one member: start of the URI to the member's prefix. Others belong to the first member that lists them.
  *
  */
  readonly resourcePrefixes?: { [key: string]: string };
  /**
  * Number of tools above which lists have `find_tools` and `use_tool` instead, to search and call them. Only with `members`. Default: never.
  *
  */
  readonly searchToolsAbove?: number;
  /**
  * Maximum request body in bytes, including arguments of tool calls. Larger ones get 413. Default: `4096`.
  *
  */
  readonly maxRequestBytes?: number;
  /**
  * Remove items that the policy always denies for the user from lists, if the policy has `mcp_` criteria. Default: `true`.
  *
  */
  readonly filterLists?: boolean | cdktf.IResolvable;
  /**
  * OAuth scopes required for tool calls, in addition to `mcp`: tool name, or prefix with `*`, to scopes.
  *
  */
  readonly toolScopes?: { [key: string]: string[] } | cdktf.IResolvable;
  /**
  * Path appended to the upstream URL for the MCP endpoint. Default: the path of `to`.
  *
  */
  readonly path?: string;
  /**
  * Paths below the route's base to forward in addition to the MCP endpoint: `/sse` exactly, `/files/*` with all paths below.
  *
  */
  readonly extraPaths?: string[];
  /**
  * Other owners whose MCP client routes and federated routes can use this server: "team-a", "kubernetes.*", or "*" for all. Default: the same owner and the main configuration file.
  *
  */
  readonly allowedApplications?: string[];
  /**
  * Service accounts whose clients can introspect all tokens for this server (RFC 7662).
  *
  */
  readonly introspectionAccounts?: string[];
  /**
  * Tokens bound to a key of the client (DPoP, RFC 9449): `allowed` for clients that send proofs, `required` for all. One of `allowed`, `required`. Default: off.
  *
  */
  readonly dpop?: string;
  /**
  * Proofs must contain a nonce of the gateway, which is valid for two minutes. Clients get it with a 401. Default: `false`.
  *
  */
  readonly dpopNonce?: boolean | cdktf.IResolvable;
  /**
  * Authorization server issuer if discovery fails. With a configured client or `workload`, the only issuer that receives the credentials.
  *
  */
  readonly authorizationServerUrl?: string;
  /**
  * OAuth with the upstream. Users connect their accounts, unless `id_jag`, `workload` or `client_credentials` is set. Default: discovered if the upstream requires it.
  *
  */
  readonly upstreamOauth2?: BundleRouteMcpServerUpstreamOauth2;
  /**
  * Digests of reviewed tools and, if included, prompts, resource templates, skills and `instructions`.
  *
  */
  readonly toolLock?: BundleRouteMcpServerToolLock;
  /**
  * Which tool arguments records contain, by JSON pointer. The longest matching pointer applies. Default: plain text in the log; digests in copies and `replay`.
  *
  */
  readonly recordArguments?: BundleRouteMcpServerRecordArguments;
  /**
  * Rules that restrict allowed calls by earlier calls. Each has exactly one of `after`, `not_after`, `at_most` and `total`.
  *
  */
  readonly historyRules?: BundleRouteMcpServerHistoryRules[] | cdktf.IResolvable;
  /**
  * HTTP service that allows, denies or changes allowed tool calls, and their results if set.
  *
  */
  readonly guardrail?: BundleRouteMcpServerGuardrail;
}

export function bundleRouteMcpServerToTerraform(struct?: BundleRouteMcpServer | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    members: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.members),
    members_by_label: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.membersByLabel),
    labels: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.labels),
    member_prefix: cdktf.stringToTerraform(struct!.memberPrefix),
    resource_prefixes: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.resourcePrefixes),
    search_tools_above: cdktf.numberToTerraform(struct!.searchToolsAbove),
    max_request_bytes: cdktf.numberToTerraform(struct!.maxRequestBytes),
    filter_lists: cdktf.booleanToTerraform(struct!.filterLists),
    tool_scopes: cdktf.hashMapper(cdktf.listMapper(cdktf.stringToTerraform, false))(struct!.toolScopes),
    path: cdktf.stringToTerraform(struct!.path),
    extra_paths: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.extraPaths),
    allowed_applications: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.allowedApplications),
    introspection_accounts: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.introspectionAccounts),
    dpop: cdktf.stringToTerraform(struct!.dpop),
    dpop_nonce: cdktf.booleanToTerraform(struct!.dpopNonce),
    authorization_server_url: cdktf.stringToTerraform(struct!.authorizationServerUrl),
    upstream_oauth2: bundleRouteMcpServerUpstreamOauth2ToTerraform(struct!.upstreamOauth2),
    tool_lock: bundleRouteMcpServerToolLockToTerraform(struct!.toolLock),
    record_arguments: bundleRouteMcpServerRecordArgumentsToTerraform(struct!.recordArguments),
    history_rules: cdktf.listMapper(bundleRouteMcpServerHistoryRulesToTerraform, false)(struct!.historyRules),
    guardrail: bundleRouteMcpServerGuardrailToTerraform(struct!.guardrail),
  }
}


export function bundleRouteMcpServerToHclTerraform(struct?: BundleRouteMcpServer | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    members: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.members),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    members_by_label: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.membersByLabel),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    labels: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.labels),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    member_prefix: {
      value: cdktf.stringToHclTerraform(struct!.memberPrefix),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    resource_prefixes: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.resourcePrefixes),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    search_tools_above: {
      value: cdktf.numberToHclTerraform(struct!.searchToolsAbove),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    max_request_bytes: {
      value: cdktf.numberToHclTerraform(struct!.maxRequestBytes),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    filter_lists: {
      value: cdktf.booleanToHclTerraform(struct!.filterLists),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    tool_scopes: {
      value: cdktf.hashMapperHcl(cdktf.listMapperHcl(cdktf.stringToHclTerraform, false))(struct!.toolScopes),
      isBlock: false,
      type: "map",
      storageClassType: "stringListMap",
    },
    path: {
      value: cdktf.stringToHclTerraform(struct!.path),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    extra_paths: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.extraPaths),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    allowed_applications: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.allowedApplications),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    introspection_accounts: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.introspectionAccounts),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    dpop: {
      value: cdktf.stringToHclTerraform(struct!.dpop),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    dpop_nonce: {
      value: cdktf.booleanToHclTerraform(struct!.dpopNonce),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    authorization_server_url: {
      value: cdktf.stringToHclTerraform(struct!.authorizationServerUrl),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    upstream_oauth2: {
      value: bundleRouteMcpServerUpstreamOauth2ToHclTerraform(struct!.upstreamOauth2),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerUpstreamOauth2",
    },
    tool_lock: {
      value: bundleRouteMcpServerToolLockToHclTerraform(struct!.toolLock),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerToolLock",
    },
    record_arguments: {
      value: bundleRouteMcpServerRecordArgumentsToHclTerraform(struct!.recordArguments),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerRecordArguments",
    },
    history_rules: {
      value: cdktf.listMapperHcl(bundleRouteMcpServerHistoryRulesToHclTerraform, false)(struct!.historyRules),
      isBlock: true,
      type: "list",
      storageClassType: "BundleRouteMcpServerHistoryRulesList",
    },
    guardrail: {
      value: bundleRouteMcpServerGuardrailToHclTerraform(struct!.guardrail),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServerGuardrail",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpServerOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpServer | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._members !== undefined) {
      hasAnyValues = true;
      internalValueResult.members = this._members;
    }
    if (this._membersByLabel !== undefined) {
      hasAnyValues = true;
      internalValueResult.membersByLabel = this._membersByLabel;
    }
    if (this._labels !== undefined) {
      hasAnyValues = true;
      internalValueResult.labels = this._labels;
    }
    if (this._memberPrefix !== undefined) {
      hasAnyValues = true;
      internalValueResult.memberPrefix = this._memberPrefix;
    }
    if (this._resourcePrefixes !== undefined) {
      hasAnyValues = true;
      internalValueResult.resourcePrefixes = this._resourcePrefixes;
    }
    if (this._searchToolsAbove !== undefined) {
      hasAnyValues = true;
      internalValueResult.searchToolsAbove = this._searchToolsAbove;
    }
    if (this._maxRequestBytes !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxRequestBytes = this._maxRequestBytes;
    }
    if (this._filterLists !== undefined) {
      hasAnyValues = true;
      internalValueResult.filterLists = this._filterLists;
    }
    if (this._toolScopes !== undefined) {
      hasAnyValues = true;
      internalValueResult.toolScopes = this._toolScopes;
    }
    if (this._path !== undefined) {
      hasAnyValues = true;
      internalValueResult.path = this._path;
    }
    if (this._extraPaths !== undefined) {
      hasAnyValues = true;
      internalValueResult.extraPaths = this._extraPaths;
    }
    if (this._allowedApplications !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowedApplications = this._allowedApplications;
    }
    if (this._introspectionAccounts !== undefined) {
      hasAnyValues = true;
      internalValueResult.introspectionAccounts = this._introspectionAccounts;
    }
    if (this._dpop !== undefined) {
      hasAnyValues = true;
      internalValueResult.dpop = this._dpop;
    }
    if (this._dpopNonce !== undefined) {
      hasAnyValues = true;
      internalValueResult.dpopNonce = this._dpopNonce;
    }
    if (this._authorizationServerUrl !== undefined) {
      hasAnyValues = true;
      internalValueResult.authorizationServerUrl = this._authorizationServerUrl;
    }
    if (this._upstreamOauth2?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.upstreamOauth2 = this._upstreamOauth2?.internalValue;
    }
    if (this._toolLock?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.toolLock = this._toolLock?.internalValue;
    }
    if (this._recordArguments?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.recordArguments = this._recordArguments?.internalValue;
    }
    if (this._historyRules?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.historyRules = this._historyRules?.internalValue;
    }
    if (this._guardrail?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.guardrail = this._guardrail?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpServer | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._members = undefined;
      this._membersByLabel = undefined;
      this._labels = undefined;
      this._memberPrefix = undefined;
      this._resourcePrefixes = undefined;
      this._searchToolsAbove = undefined;
      this._maxRequestBytes = undefined;
      this._filterLists = undefined;
      this._toolScopes = undefined;
      this._path = undefined;
      this._extraPaths = undefined;
      this._allowedApplications = undefined;
      this._introspectionAccounts = undefined;
      this._dpop = undefined;
      this._dpopNonce = undefined;
      this._authorizationServerUrl = undefined;
      this._upstreamOauth2.internalValue = undefined;
      this._toolLock.internalValue = undefined;
      this._recordArguments.internalValue = undefined;
      this._historyRules.internalValue = undefined;
      this._guardrail.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._members = value.members;
      this._membersByLabel = value.membersByLabel;
      this._labels = value.labels;
      this._memberPrefix = value.memberPrefix;
      this._resourcePrefixes = value.resourcePrefixes;
      this._searchToolsAbove = value.searchToolsAbove;
      this._maxRequestBytes = value.maxRequestBytes;
      this._filterLists = value.filterLists;
      this._toolScopes = value.toolScopes;
      this._path = value.path;
      this._extraPaths = value.extraPaths;
      this._allowedApplications = value.allowedApplications;
      this._introspectionAccounts = value.introspectionAccounts;
      this._dpop = value.dpop;
      this._dpopNonce = value.dpopNonce;
      this._authorizationServerUrl = value.authorizationServerUrl;
      this._upstreamOauth2.internalValue = value.upstreamOauth2;
      this._toolLock.internalValue = value.toolLock;
      this._recordArguments.internalValue = value.recordArguments;
      this._historyRules.internalValue = value.historyRules;
      this._guardrail.internalValue = value.guardrail;
    }
  }

  // members - computed: false, optional: true, required: false
  private _members?: { [key: string]: string }; 
  public get members() {
    return this.getStringMapAttribute('members');
  }
  public set members(value: { [key: string]: string }) {
    this._members = value;
  }
  public resetMembers() {
    this._members = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get membersInput() {
    return this._members;
  }

  // members_by_label - computed: false, optional: true, required: false
  private _membersByLabel?: string[]; 
  public get membersByLabel() {
    return this.getListAttribute('members_by_label');
  }
  public set membersByLabel(value: string[]) {
    this._membersByLabel = value;
  }
  public resetMembersByLabel() {
    this._membersByLabel = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get membersByLabelInput() {
    return this._membersByLabel;
  }

  // labels - computed: false, optional: true, required: false
  private _labels?: string[]; 
  public get labels() {
    return this.getListAttribute('labels');
  }
  public set labels(value: string[]) {
    this._labels = value;
  }
  public resetLabels() {
    this._labels = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get labelsInput() {
    return this._labels;
  }

  // member_prefix - computed: false, optional: true, required: false
  private _memberPrefix?: string; 
  public get memberPrefix() {
    return this.getStringAttribute('member_prefix');
  }
  public set memberPrefix(value: string) {
    this._memberPrefix = value;
  }
  public resetMemberPrefix() {
    this._memberPrefix = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get memberPrefixInput() {
    return this._memberPrefix;
  }

  // resource_prefixes - computed: false, optional: true, required: false
  private _resourcePrefixes?: { [key: string]: string }; 
  public get resourcePrefixes() {
    return this.getStringMapAttribute('resource_prefixes');
  }
  public set resourcePrefixes(value: { [key: string]: string }) {
    this._resourcePrefixes = value;
  }
  public resetResourcePrefixes() {
    this._resourcePrefixes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get resourcePrefixesInput() {
    return this._resourcePrefixes;
  }

  // search_tools_above - computed: false, optional: true, required: false
  private _searchToolsAbove?: number; 
  public get searchToolsAbove() {
    return this.getNumberAttribute('search_tools_above');
  }
  public set searchToolsAbove(value: number) {
    this._searchToolsAbove = value;
  }
  public resetSearchToolsAbove() {
    this._searchToolsAbove = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get searchToolsAboveInput() {
    return this._searchToolsAbove;
  }

  // max_request_bytes - computed: false, optional: true, required: false
  private _maxRequestBytes?: number; 
  public get maxRequestBytes() {
    return this.getNumberAttribute('max_request_bytes');
  }
  public set maxRequestBytes(value: number) {
    this._maxRequestBytes = value;
  }
  public resetMaxRequestBytes() {
    this._maxRequestBytes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxRequestBytesInput() {
    return this._maxRequestBytes;
  }

  // filter_lists - computed: false, optional: true, required: false
  private _filterLists?: boolean | cdktf.IResolvable; 
  public get filterLists() {
    return this.getBooleanAttribute('filter_lists');
  }
  public set filterLists(value: boolean | cdktf.IResolvable) {
    this._filterLists = value;
  }
  public resetFilterLists() {
    this._filterLists = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get filterListsInput() {
    return this._filterLists;
  }

  // tool_scopes - computed: false, optional: true, required: false
  private _toolScopes?: { [key: string]: string[] } | cdktf.IResolvable; 
  public get toolScopes() {
    return this.interpolationForAttribute('tool_scopes');
  }
  public set toolScopes(value: { [key: string]: string[] } | cdktf.IResolvable) {
    this._toolScopes = value;
  }
  public resetToolScopes() {
    this._toolScopes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get toolScopesInput() {
    return this._toolScopes;
  }

  // path - computed: false, optional: true, required: false
  private _path?: string; 
  public get path() {
    return this.getStringAttribute('path');
  }
  public set path(value: string) {
    this._path = value;
  }
  public resetPath() {
    this._path = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get pathInput() {
    return this._path;
  }

  // extra_paths - computed: false, optional: true, required: false
  private _extraPaths?: string[]; 
  public get extraPaths() {
    return this.getListAttribute('extra_paths');
  }
  public set extraPaths(value: string[]) {
    this._extraPaths = value;
  }
  public resetExtraPaths() {
    this._extraPaths = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get extraPathsInput() {
    return this._extraPaths;
  }

  // allowed_applications - computed: false, optional: true, required: false
  private _allowedApplications?: string[]; 
  public get allowedApplications() {
    return this.getListAttribute('allowed_applications');
  }
  public set allowedApplications(value: string[]) {
    this._allowedApplications = value;
  }
  public resetAllowedApplications() {
    this._allowedApplications = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowedApplicationsInput() {
    return this._allowedApplications;
  }

  // introspection_accounts - computed: false, optional: true, required: false
  private _introspectionAccounts?: string[]; 
  public get introspectionAccounts() {
    return this.getListAttribute('introspection_accounts');
  }
  public set introspectionAccounts(value: string[]) {
    this._introspectionAccounts = value;
  }
  public resetIntrospectionAccounts() {
    this._introspectionAccounts = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get introspectionAccountsInput() {
    return this._introspectionAccounts;
  }

  // dpop - computed: false, optional: true, required: false
  private _dpop?: string; 
  public get dpop() {
    return this.getStringAttribute('dpop');
  }
  public set dpop(value: string) {
    this._dpop = value;
  }
  public resetDpop() {
    this._dpop = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get dpopInput() {
    return this._dpop;
  }

  // dpop_nonce - computed: false, optional: true, required: false
  private _dpopNonce?: boolean | cdktf.IResolvable; 
  public get dpopNonce() {
    return this.getBooleanAttribute('dpop_nonce');
  }
  public set dpopNonce(value: boolean | cdktf.IResolvable) {
    this._dpopNonce = value;
  }
  public resetDpopNonce() {
    this._dpopNonce = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get dpopNonceInput() {
    return this._dpopNonce;
  }

  // authorization_server_url - computed: false, optional: true, required: false
  private _authorizationServerUrl?: string; 
  public get authorizationServerUrl() {
    return this.getStringAttribute('authorization_server_url');
  }
  public set authorizationServerUrl(value: string) {
    this._authorizationServerUrl = value;
  }
  public resetAuthorizationServerUrl() {
    this._authorizationServerUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get authorizationServerUrlInput() {
    return this._authorizationServerUrl;
  }

  // upstream_oauth2 - computed: false, optional: true, required: false
  private _upstreamOauth2 = new BundleRouteMcpServerUpstreamOauth2OutputReference(this, "upstream_oauth2");
  public get upstreamOauth2() {
    return this._upstreamOauth2;
  }
  public putUpstreamOauth2(value: BundleRouteMcpServerUpstreamOauth2) {
    this._upstreamOauth2.internalValue = value;
  }
  public resetUpstreamOauth2() {
    this._upstreamOauth2.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get upstreamOauth2Input() {
    return this._upstreamOauth2.internalValue;
  }

  // tool_lock - computed: false, optional: true, required: false
  private _toolLock = new BundleRouteMcpServerToolLockOutputReference(this, "tool_lock");
  public get toolLock() {
    return this._toolLock;
  }
  public putToolLock(value: BundleRouteMcpServerToolLock) {
    this._toolLock.internalValue = value;
  }
  public resetToolLock() {
    this._toolLock.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get toolLockInput() {
    return this._toolLock.internalValue;
  }

  // record_arguments - computed: false, optional: true, required: false
  private _recordArguments = new BundleRouteMcpServerRecordArgumentsOutputReference(this, "record_arguments");
  public get recordArguments() {
    return this._recordArguments;
  }
  public putRecordArguments(value: BundleRouteMcpServerRecordArguments) {
    this._recordArguments.internalValue = value;
  }
  public resetRecordArguments() {
    this._recordArguments.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get recordArgumentsInput() {
    return this._recordArguments.internalValue;
  }

  // history_rules - computed: false, optional: true, required: false
  private _historyRules = new BundleRouteMcpServerHistoryRulesList(this, "history_rules", false);
  public get historyRules() {
    return this._historyRules;
  }
  public putHistoryRules(value: BundleRouteMcpServerHistoryRules[] | cdktf.IResolvable) {
    this._historyRules.internalValue = value;
  }
  public resetHistoryRules() {
    this._historyRules.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get historyRulesInput() {
    return this._historyRules.internalValue;
  }

  // guardrail - computed: false, optional: true, required: false
  private _guardrail = new BundleRouteMcpServerGuardrailOutputReference(this, "guardrail");
  public get guardrail() {
    return this._guardrail;
  }
  public putGuardrail(value: BundleRouteMcpServerGuardrail) {
    this._guardrail.internalValue = value;
  }
  public resetGuardrail() {
    this._guardrail.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get guardrailInput() {
    return this._guardrail.internalValue;
  }
}
export interface BundleRouteMcpClient {
}

export function bundleRouteMcpClientToTerraform(struct?: BundleRouteMcpClient | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
  }
}


export function bundleRouteMcpClientToHclTerraform(struct?: BundleRouteMcpClient | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
  };
  return attrs;
}

export class BundleRouteMcpClientOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcpClient | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcpClient | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
    }
  }
}
export interface BundleRouteMcp {
  /**
  * Marks the route as an MCP server. Can be empty.
  *
  */
  readonly server?: BundleRouteMcpServer;
  /**
  * Marks the route as an MCP client, whose application receives External Tokens. Always empty.
  *
  */
  readonly client?: BundleRouteMcpClient;
}

export function bundleRouteMcpToTerraform(struct?: BundleRouteMcp | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    server: bundleRouteMcpServerToTerraform(struct!.server),
    client: bundleRouteMcpClientToTerraform(struct!.client),
  }
}


export function bundleRouteMcpToHclTerraform(struct?: BundleRouteMcp | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    server: {
      value: bundleRouteMcpServerToHclTerraform(struct!.server),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpServer",
    },
    client: {
      value: bundleRouteMcpClientToHclTerraform(struct!.client),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcpClient",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteMcpOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteMcp | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._server?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.server = this._server?.internalValue;
    }
    if (this._client?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.client = this._client?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteMcp | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._server.internalValue = undefined;
      this._client.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._server.internalValue = value.server;
      this._client.internalValue = value.client;
    }
  }

  // server - computed: false, optional: true, required: false
  private _server = new BundleRouteMcpServerOutputReference(this, "server");
  public get server() {
    return this._server;
  }
  public putServer(value: BundleRouteMcpServer) {
    this._server.internalValue = value;
  }
  public resetServer() {
    this._server.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get serverInput() {
    return this._server.internalValue;
  }

  // client - computed: false, optional: true, required: false
  private _client = new BundleRouteMcpClientOutputReference(this, "client");
  public get client() {
    return this._client;
  }
  public putClient(value: BundleRouteMcpClient) {
    this._client.internalValue = value;
  }
  public resetClient() {
    this._client.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientInput() {
    return this._client.internalValue;
  }
}
export interface BundleRouteHeadersSetRequestHeadersSecret {
  /**
  * Header value, sent literally, including `$`. Stored in plain text in Terraform state and bundle; prefer `secret_ref`.
  *
  */
  readonly secret?: string;
  /**
  * Reference to `secret`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly secretRef?: string;
  /**
  * `secret`, encrypted to the gateway's public key (compact JWE). Computed from `secret_wo`.
  *
  */
  readonly secretSealed?: string;
  /**
  * `secret` as a write-only value, stored only encrypted to `seal_key`. Requires Terraform 1.11 and `secret_wo_version`.
  *
  */
  readonly secretWo?: string;
  /**
  * Version of `secret_wo`. Increase it when the value changes, since Terraform cannot see that.
  *
  */
  readonly secretWoVersion?: number;
}

export function bundleRouteHeadersSetRequestHeadersSecretToTerraform(struct?: BundleRouteHeadersSetRequestHeadersSecret | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    secret: cdktf.stringToTerraform(struct!.secret),
    secret_ref: cdktf.stringToTerraform(struct!.secretRef),
    secret_sealed: cdktf.stringToTerraform(struct!.secretSealed),
    secret_wo: cdktf.stringToTerraform(struct!.secretWo),
    secret_wo_version: cdktf.numberToTerraform(struct!.secretWoVersion),
  }
}


export function bundleRouteHeadersSetRequestHeadersSecretToHclTerraform(struct?: BundleRouteHeadersSetRequestHeadersSecret | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    secret: {
      value: cdktf.stringToHclTerraform(struct!.secret),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_ref: {
      value: cdktf.stringToHclTerraform(struct!.secretRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_sealed: {
      value: cdktf.stringToHclTerraform(struct!.secretSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_wo: {
      value: cdktf.stringToHclTerraform(struct!.secretWo),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    secret_wo_version: {
      value: cdktf.numberToHclTerraform(struct!.secretWoVersion),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteHeadersSetRequestHeadersSecretOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectKey the key of this item in the map
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectKey: string) {
    super(terraformResource, terraformAttribute, false, complexObjectKey);
  }

  public get internalValue(): BundleRouteHeadersSetRequestHeadersSecret | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._secret !== undefined) {
      hasAnyValues = true;
      internalValueResult.secret = this._secret;
    }
    if (this._secretRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretRef = this._secretRef;
    }
    if (this._secretSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretSealed = this._secretSealed;
    }
    if (this._secretWo !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretWo = this._secretWo;
    }
    if (this._secretWoVersion !== undefined) {
      hasAnyValues = true;
      internalValueResult.secretWoVersion = this._secretWoVersion;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteHeadersSetRequestHeadersSecret | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._secret = undefined;
      this._secretRef = undefined;
      this._secretSealed = undefined;
      this._secretWo = undefined;
      this._secretWoVersion = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._secret = value.secret;
      this._secretRef = value.secretRef;
      this._secretSealed = value.secretSealed;
      this._secretWo = value.secretWo;
      this._secretWoVersion = value.secretWoVersion;
    }
  }

  // secret - computed: false, optional: true, required: false
  private _secret?: string; 
  public get secret() {
    return this.getStringAttribute('secret');
  }
  public set secret(value: string) {
    this._secret = value;
  }
  public resetSecret() {
    this._secret = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretInput() {
    return this._secret;
  }

  // secret_ref - computed: false, optional: true, required: false
  private _secretRef?: string; 
  public get secretRef() {
    return this.getStringAttribute('secret_ref');
  }
  public set secretRef(value: string) {
    this._secretRef = value;
  }
  public resetSecretRef() {
    this._secretRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretRefInput() {
    return this._secretRef;
  }

  // secret_sealed - computed: true, optional: true, required: false
  private _secretSealed?: string; 
  public get secretSealed() {
    return this.getStringAttribute('secret_sealed');
  }
  public set secretSealed(value: string) {
    this._secretSealed = value;
  }
  public resetSecretSealed() {
    this._secretSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretSealedInput() {
    return this._secretSealed;
  }

  // secret_wo - computed: false, optional: true, required: false
  private _secretWo?: string; 
  public get secretWo() {
    return this.getStringAttribute('secret_wo');
  }
  public set secretWo(value: string) {
    this._secretWo = value;
  }
  public resetSecretWo() {
    this._secretWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretWoInput() {
    return this._secretWo;
  }

  // secret_wo_version - computed: false, optional: true, required: false
  private _secretWoVersion?: number; 
  public get secretWoVersion() {
    return this.getNumberAttribute('secret_wo_version');
  }
  public set secretWoVersion(value: number) {
    this._secretWoVersion = value;
  }
  public resetSecretWoVersion() {
    this._secretWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get secretWoVersionInput() {
    return this._secretWoVersion;
  }
}

export class BundleRouteHeadersSetRequestHeadersSecretMap extends cdktf.ComplexMap {
  public internalValue? : { [key: string]: BundleRouteHeadersSetRequestHeadersSecret } | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute)
  }

  /**
  * @param key the key of the item to return
  */
  public get(key: string): BundleRouteHeadersSetRequestHeadersSecretOutputReference {
    return new BundleRouteHeadersSetRequestHeadersSecretOutputReference(this.terraformResource, this.terraformAttribute, key);
  }
}
export interface BundleRouteHeadersRewriteResponseHeaders {
  /**
  * Response header, such as `Location`.
  *
  */
  readonly header: string;
  /**
  * Literal prefix to match. Empty matches every value.
  *
  */
  readonly prefix: string;
  /**
  * Replacement for the prefix. Write `$$` for a literal `$`.
  *
  */
  readonly value: string;
}

export function bundleRouteHeadersRewriteResponseHeadersToTerraform(struct?: BundleRouteHeadersRewriteResponseHeaders | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    header: cdktf.stringToTerraform(struct!.header),
    prefix: cdktf.stringToTerraform(struct!.prefix),
    value: cdktf.stringToTerraform(struct!.value),
  }
}


export function bundleRouteHeadersRewriteResponseHeadersToHclTerraform(struct?: BundleRouteHeadersRewriteResponseHeaders | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    header: {
      value: cdktf.stringToHclTerraform(struct!.header),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    prefix: {
      value: cdktf.stringToHclTerraform(struct!.prefix),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    value: {
      value: cdktf.stringToHclTerraform(struct!.value),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteHeadersRewriteResponseHeadersOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): BundleRouteHeadersRewriteResponseHeaders | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._header !== undefined) {
      hasAnyValues = true;
      internalValueResult.header = this._header;
    }
    if (this._prefix !== undefined) {
      hasAnyValues = true;
      internalValueResult.prefix = this._prefix;
    }
    if (this._value !== undefined) {
      hasAnyValues = true;
      internalValueResult.value = this._value;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteHeadersRewriteResponseHeaders | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._header = undefined;
      this._prefix = undefined;
      this._value = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._header = value.header;
      this._prefix = value.prefix;
      this._value = value.value;
    }
  }

  // header - computed: false, optional: false, required: true
  private _header?: string; 
  public get header() {
    return this.getStringAttribute('header');
  }
  public set header(value: string) {
    this._header = value;
  }
  // Temporarily expose input value. Use with caution.
  public get headerInput() {
    return this._header;
  }

  // prefix - computed: false, optional: false, required: true
  private _prefix?: string; 
  public get prefix() {
    return this.getStringAttribute('prefix');
  }
  public set prefix(value: string) {
    this._prefix = value;
  }
  // Temporarily expose input value. Use with caution.
  public get prefixInput() {
    return this._prefix;
  }

  // value - computed: false, optional: false, required: true
  private _value?: string; 
  public get value() {
    return this.getStringAttribute('value');
  }
  public set value(value: string) {
    this._value = value;
  }
  // Temporarily expose input value. Use with caution.
  public get valueInput() {
    return this._value;
  }
}

export class BundleRouteHeadersRewriteResponseHeadersList extends cdktf.ComplexList {
  public internalValue? : BundleRouteHeadersRewriteResponseHeaders[] | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet)
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): BundleRouteHeadersRewriteResponseHeadersOutputReference {
    return new BundleRouteHeadersRewriteResponseHeadersOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}
export interface BundleRouteHeaders {
  /**
  * Request header whose value is sent as Host header. Default: the host of `to`.
  *
  */
  readonly hostRewriteHeader?: string;
  /**
  * RE2 regular expression on the request path that derives the Host header. Requires `host_path_regex_rewrite_substitution`. Default: the host of `to`.
  *
  */
  readonly hostPathRegexRewritePattern?: string;
  /**
  * Replacement for the first match of `host_path_regex_rewrite_pattern`. Capture groups are `\1` to `\9`. Default: the host of `to`.
  *
  */
  readonly hostPathRegexRewriteSubstitution?: string;
  /**
  * Request headers to send next to the client's. Write `$$` for a literal `$`.
  *
  */
  readonly addRequestHeaders?: { [key: string]: string };
  /**
  * Response headers to send next to the upstream's. Write `$$` for a literal `$`.
  *
  */
  readonly addResponseHeaders?: { [key: string]: string };
  /**
  * Response headers of the upstream to remove.
  *
  */
  readonly removeResponseHeaders?: string[];
  /**
  * Request headers with secret values, by header name. By reference or sealed.
  *
  */
  readonly setRequestHeadersSecret?: { [key: string]: BundleRouteHeadersSetRequestHeadersSecret } | cdktf.IResolvable;
  /**
  * Rules that replace prefixes of response header values, in list order.
  *
  */
  readonly rewriteResponseHeaders?: BundleRouteHeadersRewriteResponseHeaders[] | cdktf.IResolvable;
}

export function bundleRouteHeadersToTerraform(struct?: BundleRouteHeaders | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    host_rewrite_header: cdktf.stringToTerraform(struct!.hostRewriteHeader),
    host_path_regex_rewrite_pattern: cdktf.stringToTerraform(struct!.hostPathRegexRewritePattern),
    host_path_regex_rewrite_substitution: cdktf.stringToTerraform(struct!.hostPathRegexRewriteSubstitution),
    add_request_headers: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.addRequestHeaders),
    add_response_headers: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.addResponseHeaders),
    remove_response_headers: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.removeResponseHeaders),
    set_request_headers_secret: cdktf.hashMapper(bundleRouteHeadersSetRequestHeadersSecretToTerraform)(struct!.setRequestHeadersSecret),
    rewrite_response_headers: cdktf.listMapper(bundleRouteHeadersRewriteResponseHeadersToTerraform, false)(struct!.rewriteResponseHeaders),
  }
}


export function bundleRouteHeadersToHclTerraform(struct?: BundleRouteHeaders | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    host_rewrite_header: {
      value: cdktf.stringToHclTerraform(struct!.hostRewriteHeader),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    host_path_regex_rewrite_pattern: {
      value: cdktf.stringToHclTerraform(struct!.hostPathRegexRewritePattern),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    host_path_regex_rewrite_substitution: {
      value: cdktf.stringToHclTerraform(struct!.hostPathRegexRewriteSubstitution),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    add_request_headers: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.addRequestHeaders),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    add_response_headers: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.addResponseHeaders),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    remove_response_headers: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.removeResponseHeaders),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    set_request_headers_secret: {
      value: cdktf.hashMapperHcl(bundleRouteHeadersSetRequestHeadersSecretToHclTerraform)(struct!.setRequestHeadersSecret),
      isBlock: true,
      type: "map",
      storageClassType: "BundleRouteHeadersSetRequestHeadersSecretMap",
    },
    rewrite_response_headers: {
      value: cdktf.listMapperHcl(bundleRouteHeadersRewriteResponseHeadersToHclTerraform, false)(struct!.rewriteResponseHeaders),
      isBlock: true,
      type: "list",
      storageClassType: "BundleRouteHeadersRewriteResponseHeadersList",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteHeadersOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteHeaders | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._hostRewriteHeader !== undefined) {
      hasAnyValues = true;
      internalValueResult.hostRewriteHeader = this._hostRewriteHeader;
    }
    if (this._hostPathRegexRewritePattern !== undefined) {
      hasAnyValues = true;
      internalValueResult.hostPathRegexRewritePattern = this._hostPathRegexRewritePattern;
    }
    if (this._hostPathRegexRewriteSubstitution !== undefined) {
      hasAnyValues = true;
      internalValueResult.hostPathRegexRewriteSubstitution = this._hostPathRegexRewriteSubstitution;
    }
    if (this._addRequestHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.addRequestHeaders = this._addRequestHeaders;
    }
    if (this._addResponseHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.addResponseHeaders = this._addResponseHeaders;
    }
    if (this._removeResponseHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.removeResponseHeaders = this._removeResponseHeaders;
    }
    if (this._setRequestHeadersSecret?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.setRequestHeadersSecret = this._setRequestHeadersSecret?.internalValue;
    }
    if (this._rewriteResponseHeaders?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.rewriteResponseHeaders = this._rewriteResponseHeaders?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteHeaders | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._hostRewriteHeader = undefined;
      this._hostPathRegexRewritePattern = undefined;
      this._hostPathRegexRewriteSubstitution = undefined;
      this._addRequestHeaders = undefined;
      this._addResponseHeaders = undefined;
      this._removeResponseHeaders = undefined;
      this._setRequestHeadersSecret.internalValue = undefined;
      this._rewriteResponseHeaders.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._hostRewriteHeader = value.hostRewriteHeader;
      this._hostPathRegexRewritePattern = value.hostPathRegexRewritePattern;
      this._hostPathRegexRewriteSubstitution = value.hostPathRegexRewriteSubstitution;
      this._addRequestHeaders = value.addRequestHeaders;
      this._addResponseHeaders = value.addResponseHeaders;
      this._removeResponseHeaders = value.removeResponseHeaders;
      this._setRequestHeadersSecret.internalValue = value.setRequestHeadersSecret;
      this._rewriteResponseHeaders.internalValue = value.rewriteResponseHeaders;
    }
  }

  // host_rewrite_header - computed: false, optional: true, required: false
  private _hostRewriteHeader?: string; 
  public get hostRewriteHeader() {
    return this.getStringAttribute('host_rewrite_header');
  }
  public set hostRewriteHeader(value: string) {
    this._hostRewriteHeader = value;
  }
  public resetHostRewriteHeader() {
    this._hostRewriteHeader = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostRewriteHeaderInput() {
    return this._hostRewriteHeader;
  }

  // host_path_regex_rewrite_pattern - computed: false, optional: true, required: false
  private _hostPathRegexRewritePattern?: string; 
  public get hostPathRegexRewritePattern() {
    return this.getStringAttribute('host_path_regex_rewrite_pattern');
  }
  public set hostPathRegexRewritePattern(value: string) {
    this._hostPathRegexRewritePattern = value;
  }
  public resetHostPathRegexRewritePattern() {
    this._hostPathRegexRewritePattern = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostPathRegexRewritePatternInput() {
    return this._hostPathRegexRewritePattern;
  }

  // host_path_regex_rewrite_substitution - computed: false, optional: true, required: false
  private _hostPathRegexRewriteSubstitution?: string; 
  public get hostPathRegexRewriteSubstitution() {
    return this.getStringAttribute('host_path_regex_rewrite_substitution');
  }
  public set hostPathRegexRewriteSubstitution(value: string) {
    this._hostPathRegexRewriteSubstitution = value;
  }
  public resetHostPathRegexRewriteSubstitution() {
    this._hostPathRegexRewriteSubstitution = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostPathRegexRewriteSubstitutionInput() {
    return this._hostPathRegexRewriteSubstitution;
  }

  // add_request_headers - computed: false, optional: true, required: false
  private _addRequestHeaders?: { [key: string]: string }; 
  public get addRequestHeaders() {
    return this.getStringMapAttribute('add_request_headers');
  }
  public set addRequestHeaders(value: { [key: string]: string }) {
    this._addRequestHeaders = value;
  }
  public resetAddRequestHeaders() {
    this._addRequestHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get addRequestHeadersInput() {
    return this._addRequestHeaders;
  }

  // add_response_headers - computed: false, optional: true, required: false
  private _addResponseHeaders?: { [key: string]: string }; 
  public get addResponseHeaders() {
    return this.getStringMapAttribute('add_response_headers');
  }
  public set addResponseHeaders(value: { [key: string]: string }) {
    this._addResponseHeaders = value;
  }
  public resetAddResponseHeaders() {
    this._addResponseHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get addResponseHeadersInput() {
    return this._addResponseHeaders;
  }

  // remove_response_headers - computed: false, optional: true, required: false
  private _removeResponseHeaders?: string[]; 
  public get removeResponseHeaders() {
    return this.getListAttribute('remove_response_headers');
  }
  public set removeResponseHeaders(value: string[]) {
    this._removeResponseHeaders = value;
  }
  public resetRemoveResponseHeaders() {
    this._removeResponseHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get removeResponseHeadersInput() {
    return this._removeResponseHeaders;
  }

  // set_request_headers_secret - computed: false, optional: true, required: false
  private _setRequestHeadersSecret = new BundleRouteHeadersSetRequestHeadersSecretMap(this, "set_request_headers_secret");
  public get setRequestHeadersSecret() {
    return this._setRequestHeadersSecret;
  }
  public putSetRequestHeadersSecret(value: { [key: string]: BundleRouteHeadersSetRequestHeadersSecret } | cdktf.IResolvable) {
    this._setRequestHeadersSecret.internalValue = value;
  }
  public resetSetRequestHeadersSecret() {
    this._setRequestHeadersSecret.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get setRequestHeadersSecretInput() {
    return this._setRequestHeadersSecret.internalValue;
  }

  // rewrite_response_headers - computed: false, optional: true, required: false
  private _rewriteResponseHeaders = new BundleRouteHeadersRewriteResponseHeadersList(this, "rewrite_response_headers", false);
  public get rewriteResponseHeaders() {
    return this._rewriteResponseHeaders;
  }
  public putRewriteResponseHeaders(value: BundleRouteHeadersRewriteResponseHeaders[] | cdktf.IResolvable) {
    this._rewriteResponseHeaders.internalValue = value;
  }
  public resetRewriteResponseHeaders() {
    this._rewriteResponseHeaders.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get rewriteResponseHeadersInput() {
    return this._rewriteResponseHeaders.internalValue;
  }
}
export interface BundleRouteUpstreamMaglevLbConfig {
  /**
  * No effect.
  *
  */
  readonly tableSize?: number;
}

export function bundleRouteUpstreamMaglevLbConfigToTerraform(struct?: BundleRouteUpstreamMaglevLbConfig | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    table_size: cdktf.numberToTerraform(struct!.tableSize),
  }
}


export function bundleRouteUpstreamMaglevLbConfigToHclTerraform(struct?: BundleRouteUpstreamMaglevLbConfig | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    table_size: {
      value: cdktf.numberToHclTerraform(struct!.tableSize),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamMaglevLbConfigOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstreamMaglevLbConfig | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._tableSize !== undefined) {
      hasAnyValues = true;
      internalValueResult.tableSize = this._tableSize;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamMaglevLbConfig | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._tableSize = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._tableSize = value.tableSize;
    }
  }

  // table_size - computed: false, optional: true, required: false
  private _tableSize?: number; 
  public get tableSize() {
    return this.getNumberAttribute('table_size');
  }
  public set tableSize(value: number) {
    this._tableSize = value;
  }
  public resetTableSize() {
    this._tableSize = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tableSizeInput() {
    return this._tableSize;
  }
}
export interface BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses {
  /**
  * First expected status.
  *
  */
  readonly start: number;
  /**
  * First status after the range.
  *
  */
  readonly end: number;
}

export function bundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesToTerraform(struct?: BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    start: cdktf.numberToTerraform(struct!.start),
    end: cdktf.numberToTerraform(struct!.end),
  }
}


export function bundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesToHclTerraform(struct?: BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    start: {
      value: cdktf.numberToHclTerraform(struct!.start),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    end: {
      value: cdktf.numberToHclTerraform(struct!.end),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._start !== undefined) {
      hasAnyValues = true;
      internalValueResult.start = this._start;
    }
    if (this._end !== undefined) {
      hasAnyValues = true;
      internalValueResult.end = this._end;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._start = undefined;
      this._end = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._start = value.start;
      this._end = value.end;
    }
  }

  // start - computed: false, optional: false, required: true
  private _start?: number; 
  public get start() {
    return this.getNumberAttribute('start');
  }
  public set start(value: number) {
    this._start = value;
  }
  // Temporarily expose input value. Use with caution.
  public get startInput() {
    return this._start;
  }

  // end - computed: false, optional: false, required: true
  private _end?: number; 
  public get end() {
    return this.getNumberAttribute('end');
  }
  public set end(value: number) {
    this._end = value;
  }
  // Temporarily expose input value. Use with caution.
  public get endInput() {
    return this._end;
  }
}

export class BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesList extends cdktf.ComplexList {
  public internalValue? : BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses[] | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet)
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesOutputReference {
    return new BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}
export interface BundleRouteUpstreamHealthChecksHttpHealthCheck {
  /**
  * Path of the GET request, from the root of the upstream.
  *
  */
  readonly path: string;
  /**
  * Host header. Default: the host of `to`.
  *
  */
  readonly host?: string;
  /**
  * Ranges of healthy statuses. Default: `200`.
  *
  */
  readonly expectedStatuses?: BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses[] | cdktf.IResolvable;
}

export function bundleRouteUpstreamHealthChecksHttpHealthCheckToTerraform(struct?: BundleRouteUpstreamHealthChecksHttpHealthCheck | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    path: cdktf.stringToTerraform(struct!.path),
    host: cdktf.stringToTerraform(struct!.host),
    expected_statuses: cdktf.listMapper(bundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesToTerraform, false)(struct!.expectedStatuses),
  }
}


export function bundleRouteUpstreamHealthChecksHttpHealthCheckToHclTerraform(struct?: BundleRouteUpstreamHealthChecksHttpHealthCheck | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    path: {
      value: cdktf.stringToHclTerraform(struct!.path),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    host: {
      value: cdktf.stringToHclTerraform(struct!.host),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    expected_statuses: {
      value: cdktf.listMapperHcl(bundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesToHclTerraform, false)(struct!.expectedStatuses),
      isBlock: true,
      type: "list",
      storageClassType: "BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesList",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamHealthChecksHttpHealthCheckOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstreamHealthChecksHttpHealthCheck | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._path !== undefined) {
      hasAnyValues = true;
      internalValueResult.path = this._path;
    }
    if (this._host !== undefined) {
      hasAnyValues = true;
      internalValueResult.host = this._host;
    }
    if (this._expectedStatuses?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.expectedStatuses = this._expectedStatuses?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamHealthChecksHttpHealthCheck | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._path = undefined;
      this._host = undefined;
      this._expectedStatuses.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._path = value.path;
      this._host = value.host;
      this._expectedStatuses.internalValue = value.expectedStatuses;
    }
  }

  // path - computed: false, optional: false, required: true
  private _path?: string; 
  public get path() {
    return this.getStringAttribute('path');
  }
  public set path(value: string) {
    this._path = value;
  }
  // Temporarily expose input value. Use with caution.
  public get pathInput() {
    return this._path;
  }

  // host - computed: false, optional: true, required: false
  private _host?: string; 
  public get host() {
    return this.getStringAttribute('host');
  }
  public set host(value: string) {
    this._host = value;
  }
  public resetHost() {
    this._host = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostInput() {
    return this._host;
  }

  // expected_statuses - computed: false, optional: true, required: false
  private _expectedStatuses = new BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatusesList(this, "expected_statuses", false);
  public get expectedStatuses() {
    return this._expectedStatuses;
  }
  public putExpectedStatuses(value: BundleRouteUpstreamHealthChecksHttpHealthCheckExpectedStatuses[] | cdktf.IResolvable) {
    this._expectedStatuses.internalValue = value;
  }
  public resetExpectedStatuses() {
    this._expectedStatuses.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get expectedStatusesInput() {
    return this._expectedStatuses.internalValue;
  }
}
export interface BundleRouteUpstreamHealthChecksTcpHealthCheckSend {
  /**
  * Bytes in hexadecimal, such as "50494e470d0a". Required unless `utf8` is set.
  *
  */
  readonly hex?: string;
  /**
  * Bytes as text, such as "PING\r\n". Required unless `hex` is set.
  *
  */
  readonly utf8?: string;
}

export function bundleRouteUpstreamHealthChecksTcpHealthCheckSendToTerraform(struct?: BundleRouteUpstreamHealthChecksTcpHealthCheckSend | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    hex: cdktf.stringToTerraform(struct!.hex),
    utf8: cdktf.stringToTerraform(struct!.utf8),
  }
}


export function bundleRouteUpstreamHealthChecksTcpHealthCheckSendToHclTerraform(struct?: BundleRouteUpstreamHealthChecksTcpHealthCheckSend | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    hex: {
      value: cdktf.stringToHclTerraform(struct!.hex),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    utf8: {
      value: cdktf.stringToHclTerraform(struct!.utf8),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamHealthChecksTcpHealthCheckSendOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstreamHealthChecksTcpHealthCheckSend | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._hex !== undefined) {
      hasAnyValues = true;
      internalValueResult.hex = this._hex;
    }
    if (this._utf8 !== undefined) {
      hasAnyValues = true;
      internalValueResult.utf8 = this._utf8;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamHealthChecksTcpHealthCheckSend | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._hex = undefined;
      this._utf8 = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._hex = value.hex;
      this._utf8 = value.utf8;
    }
  }

  // hex - computed: false, optional: true, required: false
  private _hex?: string; 
  public get hex() {
    return this.getStringAttribute('hex');
  }
  public set hex(value: string) {
    this._hex = value;
  }
  public resetHex() {
    this._hex = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hexInput() {
    return this._hex;
  }

  // utf8 - computed: false, optional: true, required: false
  private _utf8?: string; 
  public get utf8() {
    return this.getStringAttribute('utf8');
  }
  public set utf8(value: string) {
    this._utf8 = value;
  }
  public resetUtf8() {
    this._utf8 = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get utf8Input() {
    return this._utf8;
  }
}
export interface BundleRouteUpstreamHealthChecksTcpHealthCheckReceive {
  /**
  * Bytes in hexadecimal, such as "50494e470d0a". Required unless `utf8` is set.
  *
  */
  readonly hex?: string;
  /**
  * Bytes as text, such as "PING\r\n". Required unless `hex` is set.
  *
  */
  readonly utf8?: string;
}

export function bundleRouteUpstreamHealthChecksTcpHealthCheckReceiveToTerraform(struct?: BundleRouteUpstreamHealthChecksTcpHealthCheckReceive | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    hex: cdktf.stringToTerraform(struct!.hex),
    utf8: cdktf.stringToTerraform(struct!.utf8),
  }
}


export function bundleRouteUpstreamHealthChecksTcpHealthCheckReceiveToHclTerraform(struct?: BundleRouteUpstreamHealthChecksTcpHealthCheckReceive | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    hex: {
      value: cdktf.stringToHclTerraform(struct!.hex),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    utf8: {
      value: cdktf.stringToHclTerraform(struct!.utf8),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamHealthChecksTcpHealthCheckReceiveOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): BundleRouteUpstreamHealthChecksTcpHealthCheckReceive | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._hex !== undefined) {
      hasAnyValues = true;
      internalValueResult.hex = this._hex;
    }
    if (this._utf8 !== undefined) {
      hasAnyValues = true;
      internalValueResult.utf8 = this._utf8;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamHealthChecksTcpHealthCheckReceive | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._hex = undefined;
      this._utf8 = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._hex = value.hex;
      this._utf8 = value.utf8;
    }
  }

  // hex - computed: false, optional: true, required: false
  private _hex?: string; 
  public get hex() {
    return this.getStringAttribute('hex');
  }
  public set hex(value: string) {
    this._hex = value;
  }
  public resetHex() {
    this._hex = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hexInput() {
    return this._hex;
  }

  // utf8 - computed: false, optional: true, required: false
  private _utf8?: string; 
  public get utf8() {
    return this.getStringAttribute('utf8');
  }
  public set utf8(value: string) {
    this._utf8 = value;
  }
  public resetUtf8() {
    this._utf8 = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get utf8Input() {
    return this._utf8;
  }
}

export class BundleRouteUpstreamHealthChecksTcpHealthCheckReceiveList extends cdktf.ComplexList {
  public internalValue? : BundleRouteUpstreamHealthChecksTcpHealthCheckReceive[] | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet)
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): BundleRouteUpstreamHealthChecksTcpHealthCheckReceiveOutputReference {
    return new BundleRouteUpstreamHealthChecksTcpHealthCheckReceiveOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}
export interface BundleRouteUpstreamHealthChecksTcpHealthCheck {
  /**
  * Bytes to send after connecting. Not for secrets: configuration and state show them.
  *
  */
  readonly send?: BundleRouteUpstreamHealthChecksTcpHealthCheckSend;
  /**
  * Bytes to expect, in this order, within the first 65,536 bytes.
  *
  */
  readonly receive?: BundleRouteUpstreamHealthChecksTcpHealthCheckReceive[] | cdktf.IResolvable;
}

export function bundleRouteUpstreamHealthChecksTcpHealthCheckToTerraform(struct?: BundleRouteUpstreamHealthChecksTcpHealthCheck | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    send: bundleRouteUpstreamHealthChecksTcpHealthCheckSendToTerraform(struct!.send),
    receive: cdktf.listMapper(bundleRouteUpstreamHealthChecksTcpHealthCheckReceiveToTerraform, false)(struct!.receive),
  }
}


export function bundleRouteUpstreamHealthChecksTcpHealthCheckToHclTerraform(struct?: BundleRouteUpstreamHealthChecksTcpHealthCheck | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    send: {
      value: bundleRouteUpstreamHealthChecksTcpHealthCheckSendToHclTerraform(struct!.send),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstreamHealthChecksTcpHealthCheckSend",
    },
    receive: {
      value: cdktf.listMapperHcl(bundleRouteUpstreamHealthChecksTcpHealthCheckReceiveToHclTerraform, false)(struct!.receive),
      isBlock: true,
      type: "list",
      storageClassType: "BundleRouteUpstreamHealthChecksTcpHealthCheckReceiveList",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamHealthChecksTcpHealthCheckOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstreamHealthChecksTcpHealthCheck | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._send?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.send = this._send?.internalValue;
    }
    if (this._receive?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.receive = this._receive?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamHealthChecksTcpHealthCheck | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._send.internalValue = undefined;
      this._receive.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._send.internalValue = value.send;
      this._receive.internalValue = value.receive;
    }
  }

  // send - computed: false, optional: true, required: false
  private _send = new BundleRouteUpstreamHealthChecksTcpHealthCheckSendOutputReference(this, "send");
  public get send() {
    return this._send;
  }
  public putSend(value: BundleRouteUpstreamHealthChecksTcpHealthCheckSend) {
    this._send.internalValue = value;
  }
  public resetSend() {
    this._send.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get sendInput() {
    return this._send.internalValue;
  }

  // receive - computed: false, optional: true, required: false
  private _receive = new BundleRouteUpstreamHealthChecksTcpHealthCheckReceiveList(this, "receive", false);
  public get receive() {
    return this._receive;
  }
  public putReceive(value: BundleRouteUpstreamHealthChecksTcpHealthCheckReceive[] | cdktf.IResolvable) {
    this._receive.internalValue = value;
  }
  public resetReceive() {
    this._receive.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get receiveInput() {
    return this._receive.internalValue;
  }
}
export interface BundleRouteUpstreamHealthChecksGrpcHealthCheck {
  /**
  * Service to check. Default: the whole server.
  *
  */
  readonly serviceName?: string;
  /**
  * The `:authority` header. Default: the host of `to`.
  *
  */
  readonly authority?: string;
}

export function bundleRouteUpstreamHealthChecksGrpcHealthCheckToTerraform(struct?: BundleRouteUpstreamHealthChecksGrpcHealthCheck | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    service_name: cdktf.stringToTerraform(struct!.serviceName),
    authority: cdktf.stringToTerraform(struct!.authority),
  }
}


export function bundleRouteUpstreamHealthChecksGrpcHealthCheckToHclTerraform(struct?: BundleRouteUpstreamHealthChecksGrpcHealthCheck | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    service_name: {
      value: cdktf.stringToHclTerraform(struct!.serviceName),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    authority: {
      value: cdktf.stringToHclTerraform(struct!.authority),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamHealthChecksGrpcHealthCheckOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstreamHealthChecksGrpcHealthCheck | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._serviceName !== undefined) {
      hasAnyValues = true;
      internalValueResult.serviceName = this._serviceName;
    }
    if (this._authority !== undefined) {
      hasAnyValues = true;
      internalValueResult.authority = this._authority;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamHealthChecksGrpcHealthCheck | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._serviceName = undefined;
      this._authority = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._serviceName = value.serviceName;
      this._authority = value.authority;
    }
  }

  // service_name - computed: false, optional: true, required: false
  private _serviceName?: string; 
  public get serviceName() {
    return this.getStringAttribute('service_name');
  }
  public set serviceName(value: string) {
    this._serviceName = value;
  }
  public resetServiceName() {
    this._serviceName = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get serviceNameInput() {
    return this._serviceName;
  }

  // authority - computed: false, optional: true, required: false
  private _authority?: string; 
  public get authority() {
    return this.getStringAttribute('authority');
  }
  public set authority(value: string) {
    this._authority = value;
  }
  public resetAuthority() {
    this._authority = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get authorityInput() {
    return this._authority;
  }
}
export interface BundleRouteUpstreamHealthChecks {
  /**
  * Time between checks. Default: `10s`.
  *
  */
  readonly interval?: string;
  /**
  * Maximum duration of a check. Default: `5s`.
  *
  */
  readonly timeout?: string;
  /**
  * Consecutive failures before an upstream is unhealthy. Default: `3`.
  *
  */
  readonly unhealthyThreshold?: number;
  /**
  * Consecutive successes before it is healthy again. Default: `2`.
  *
  */
  readonly healthyThreshold?: number;
  /**
  * HTTP check: healthy if the response has an expected status. Required unless another check is set.
  *
  */
  readonly httpHealthCheck?: BundleRouteUpstreamHealthChecksHttpHealthCheck;
  /**
  * TCP check: healthy if a connection opens and the expected bytes arrive. Required unless another check is set.
  *
  */
  readonly tcpHealthCheck?: BundleRouteUpstreamHealthChecksTcpHealthCheck;
  /**
  * Check with gRPC: healthy if `grpc.health.v1.Health/Check` returns SERVING. Required unless another check is set.
  *
  */
  readonly grpcHealthCheck?: BundleRouteUpstreamHealthChecksGrpcHealthCheck;
}

export function bundleRouteUpstreamHealthChecksToTerraform(struct?: BundleRouteUpstreamHealthChecks | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    interval: cdktf.stringToTerraform(struct!.interval),
    timeout: cdktf.stringToTerraform(struct!.timeout),
    unhealthy_threshold: cdktf.numberToTerraform(struct!.unhealthyThreshold),
    healthy_threshold: cdktf.numberToTerraform(struct!.healthyThreshold),
    http_health_check: bundleRouteUpstreamHealthChecksHttpHealthCheckToTerraform(struct!.httpHealthCheck),
    tcp_health_check: bundleRouteUpstreamHealthChecksTcpHealthCheckToTerraform(struct!.tcpHealthCheck),
    grpc_health_check: bundleRouteUpstreamHealthChecksGrpcHealthCheckToTerraform(struct!.grpcHealthCheck),
  }
}


export function bundleRouteUpstreamHealthChecksToHclTerraform(struct?: BundleRouteUpstreamHealthChecks | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    interval: {
      value: cdktf.stringToHclTerraform(struct!.interval),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    timeout: {
      value: cdktf.stringToHclTerraform(struct!.timeout),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    unhealthy_threshold: {
      value: cdktf.numberToHclTerraform(struct!.unhealthyThreshold),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    healthy_threshold: {
      value: cdktf.numberToHclTerraform(struct!.healthyThreshold),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    http_health_check: {
      value: bundleRouteUpstreamHealthChecksHttpHealthCheckToHclTerraform(struct!.httpHealthCheck),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstreamHealthChecksHttpHealthCheck",
    },
    tcp_health_check: {
      value: bundleRouteUpstreamHealthChecksTcpHealthCheckToHclTerraform(struct!.tcpHealthCheck),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstreamHealthChecksTcpHealthCheck",
    },
    grpc_health_check: {
      value: bundleRouteUpstreamHealthChecksGrpcHealthCheckToHclTerraform(struct!.grpcHealthCheck),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstreamHealthChecksGrpcHealthCheck",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamHealthChecksOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): BundleRouteUpstreamHealthChecks | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._interval !== undefined) {
      hasAnyValues = true;
      internalValueResult.interval = this._interval;
    }
    if (this._timeout !== undefined) {
      hasAnyValues = true;
      internalValueResult.timeout = this._timeout;
    }
    if (this._unhealthyThreshold !== undefined) {
      hasAnyValues = true;
      internalValueResult.unhealthyThreshold = this._unhealthyThreshold;
    }
    if (this._healthyThreshold !== undefined) {
      hasAnyValues = true;
      internalValueResult.healthyThreshold = this._healthyThreshold;
    }
    if (this._httpHealthCheck?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.httpHealthCheck = this._httpHealthCheck?.internalValue;
    }
    if (this._tcpHealthCheck?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.tcpHealthCheck = this._tcpHealthCheck?.internalValue;
    }
    if (this._grpcHealthCheck?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.grpcHealthCheck = this._grpcHealthCheck?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamHealthChecks | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._interval = undefined;
      this._timeout = undefined;
      this._unhealthyThreshold = undefined;
      this._healthyThreshold = undefined;
      this._httpHealthCheck.internalValue = undefined;
      this._tcpHealthCheck.internalValue = undefined;
      this._grpcHealthCheck.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._interval = value.interval;
      this._timeout = value.timeout;
      this._unhealthyThreshold = value.unhealthyThreshold;
      this._healthyThreshold = value.healthyThreshold;
      this._httpHealthCheck.internalValue = value.httpHealthCheck;
      this._tcpHealthCheck.internalValue = value.tcpHealthCheck;
      this._grpcHealthCheck.internalValue = value.grpcHealthCheck;
    }
  }

  // interval - computed: false, optional: true, required: false
  private _interval?: string; 
  public get interval() {
    return this.getStringAttribute('interval');
  }
  public set interval(value: string) {
    this._interval = value;
  }
  public resetInterval() {
    this._interval = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get intervalInput() {
    return this._interval;
  }

  // timeout - computed: false, optional: true, required: false
  private _timeout?: string; 
  public get timeout() {
    return this.getStringAttribute('timeout');
  }
  public set timeout(value: string) {
    this._timeout = value;
  }
  public resetTimeout() {
    this._timeout = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get timeoutInput() {
    return this._timeout;
  }

  // unhealthy_threshold - computed: false, optional: true, required: false
  private _unhealthyThreshold?: number; 
  public get unhealthyThreshold() {
    return this.getNumberAttribute('unhealthy_threshold');
  }
  public set unhealthyThreshold(value: number) {
    this._unhealthyThreshold = value;
  }
  public resetUnhealthyThreshold() {
    this._unhealthyThreshold = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get unhealthyThresholdInput() {
    return this._unhealthyThreshold;
  }

  // healthy_threshold - computed: false, optional: true, required: false
  private _healthyThreshold?: number; 
  public get healthyThreshold() {
    return this.getNumberAttribute('healthy_threshold');
  }
  public set healthyThreshold(value: number) {
    this._healthyThreshold = value;
  }
  public resetHealthyThreshold() {
    this._healthyThreshold = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get healthyThresholdInput() {
    return this._healthyThreshold;
  }

  // http_health_check - computed: false, optional: true, required: false
  private _httpHealthCheck = new BundleRouteUpstreamHealthChecksHttpHealthCheckOutputReference(this, "http_health_check");
  public get httpHealthCheck() {
    return this._httpHealthCheck;
  }
  public putHttpHealthCheck(value: BundleRouteUpstreamHealthChecksHttpHealthCheck) {
    this._httpHealthCheck.internalValue = value;
  }
  public resetHttpHealthCheck() {
    this._httpHealthCheck.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get httpHealthCheckInput() {
    return this._httpHealthCheck.internalValue;
  }

  // tcp_health_check - computed: false, optional: true, required: false
  private _tcpHealthCheck = new BundleRouteUpstreamHealthChecksTcpHealthCheckOutputReference(this, "tcp_health_check");
  public get tcpHealthCheck() {
    return this._tcpHealthCheck;
  }
  public putTcpHealthCheck(value: BundleRouteUpstreamHealthChecksTcpHealthCheck) {
    this._tcpHealthCheck.internalValue = value;
  }
  public resetTcpHealthCheck() {
    this._tcpHealthCheck.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tcpHealthCheckInput() {
    return this._tcpHealthCheck.internalValue;
  }

  // grpc_health_check - computed: false, optional: true, required: false
  private _grpcHealthCheck = new BundleRouteUpstreamHealthChecksGrpcHealthCheckOutputReference(this, "grpc_health_check");
  public get grpcHealthCheck() {
    return this._grpcHealthCheck;
  }
  public putGrpcHealthCheck(value: BundleRouteUpstreamHealthChecksGrpcHealthCheck) {
    this._grpcHealthCheck.internalValue = value;
  }
  public resetGrpcHealthCheck() {
    this._grpcHealthCheck.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get grpcHealthCheckInput() {
    return this._grpcHealthCheck.internalValue;
  }
}

export class BundleRouteUpstreamHealthChecksList extends cdktf.ComplexList {
  public internalValue? : BundleRouteUpstreamHealthChecks[] | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet)
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): BundleRouteUpstreamHealthChecksOutputReference {
    return new BundleRouteUpstreamHealthChecksOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}
export interface BundleRouteUpstreamOutlierDetection {
  /**
  * Consecutive 5xx responses or failures before an upstream is ejected. 0 disables it. Default: `5`.
  *
  */
  readonly consecutive5Xx?: number;
  /**
  * Consecutive 502, 503 and 504 responses or failures before an upstream is ejected. 0 disables it. Default: `0`.
  *
  */
  readonly consecutiveGatewayFailure?: number;
  /**
  * Duration of the first ejection. Each further ejection adds this duration. Default: `30s`.
  *
  */
  readonly baseEjectionTime?: string;
  /**
  * Maximum ejection time. The count restarts after the same time without ejection. Default: `5m`.
  *
  */
  readonly maxEjectionTime?: string;
  /**
  * Maximum percentage of ejected upstreams. At least one can be ejected, never the last one. Default: `10`.
  *
  */
  readonly maxEjectionPercent?: number;
}

export function bundleRouteUpstreamOutlierDetectionToTerraform(struct?: BundleRouteUpstreamOutlierDetection | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    consecutive_5xx: cdktf.numberToTerraform(struct!.consecutive5Xx),
    consecutive_gateway_failure: cdktf.numberToTerraform(struct!.consecutiveGatewayFailure),
    base_ejection_time: cdktf.stringToTerraform(struct!.baseEjectionTime),
    max_ejection_time: cdktf.stringToTerraform(struct!.maxEjectionTime),
    max_ejection_percent: cdktf.numberToTerraform(struct!.maxEjectionPercent),
  }
}


export function bundleRouteUpstreamOutlierDetectionToHclTerraform(struct?: BundleRouteUpstreamOutlierDetection | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    consecutive_5xx: {
      value: cdktf.numberToHclTerraform(struct!.consecutive5Xx),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    consecutive_gateway_failure: {
      value: cdktf.numberToHclTerraform(struct!.consecutiveGatewayFailure),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    base_ejection_time: {
      value: cdktf.stringToHclTerraform(struct!.baseEjectionTime),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    max_ejection_time: {
      value: cdktf.stringToHclTerraform(struct!.maxEjectionTime),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    max_ejection_percent: {
      value: cdktf.numberToHclTerraform(struct!.maxEjectionPercent),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamOutlierDetectionOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstreamOutlierDetection | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._consecutive5Xx !== undefined) {
      hasAnyValues = true;
      internalValueResult.consecutive5Xx = this._consecutive5Xx;
    }
    if (this._consecutiveGatewayFailure !== undefined) {
      hasAnyValues = true;
      internalValueResult.consecutiveGatewayFailure = this._consecutiveGatewayFailure;
    }
    if (this._baseEjectionTime !== undefined) {
      hasAnyValues = true;
      internalValueResult.baseEjectionTime = this._baseEjectionTime;
    }
    if (this._maxEjectionTime !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxEjectionTime = this._maxEjectionTime;
    }
    if (this._maxEjectionPercent !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxEjectionPercent = this._maxEjectionPercent;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamOutlierDetection | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._consecutive5Xx = undefined;
      this._consecutiveGatewayFailure = undefined;
      this._baseEjectionTime = undefined;
      this._maxEjectionTime = undefined;
      this._maxEjectionPercent = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._consecutive5Xx = value.consecutive5Xx;
      this._consecutiveGatewayFailure = value.consecutiveGatewayFailure;
      this._baseEjectionTime = value.baseEjectionTime;
      this._maxEjectionTime = value.maxEjectionTime;
      this._maxEjectionPercent = value.maxEjectionPercent;
    }
  }

  // consecutive_5xx - computed: false, optional: true, required: false
  private _consecutive5Xx?: number; 
  public get consecutive5Xx() {
    return this.getNumberAttribute('consecutive_5xx');
  }
  public set consecutive5Xx(value: number) {
    this._consecutive5Xx = value;
  }
  public resetConsecutive5Xx() {
    this._consecutive5Xx = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get consecutive5XxInput() {
    return this._consecutive5Xx;
  }

  // consecutive_gateway_failure - computed: false, optional: true, required: false
  private _consecutiveGatewayFailure?: number; 
  public get consecutiveGatewayFailure() {
    return this.getNumberAttribute('consecutive_gateway_failure');
  }
  public set consecutiveGatewayFailure(value: number) {
    this._consecutiveGatewayFailure = value;
  }
  public resetConsecutiveGatewayFailure() {
    this._consecutiveGatewayFailure = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get consecutiveGatewayFailureInput() {
    return this._consecutiveGatewayFailure;
  }

  // base_ejection_time - computed: false, optional: true, required: false
  private _baseEjectionTime?: string; 
  public get baseEjectionTime() {
    return this.getStringAttribute('base_ejection_time');
  }
  public set baseEjectionTime(value: string) {
    this._baseEjectionTime = value;
  }
  public resetBaseEjectionTime() {
    this._baseEjectionTime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get baseEjectionTimeInput() {
    return this._baseEjectionTime;
  }

  // max_ejection_time - computed: false, optional: true, required: false
  private _maxEjectionTime?: string; 
  public get maxEjectionTime() {
    return this.getStringAttribute('max_ejection_time');
  }
  public set maxEjectionTime(value: string) {
    this._maxEjectionTime = value;
  }
  public resetMaxEjectionTime() {
    this._maxEjectionTime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxEjectionTimeInput() {
    return this._maxEjectionTime;
  }

  // max_ejection_percent - computed: false, optional: true, required: false
  private _maxEjectionPercent?: number; 
  public get maxEjectionPercent() {
    return this.getNumberAttribute('max_ejection_percent');
  }
  public set maxEjectionPercent(value: number) {
    this._maxEjectionPercent = value;
  }
  public resetMaxEjectionPercent() {
    this._maxEjectionPercent = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxEjectionPercentInput() {
    return this._maxEjectionPercent;
  }
}
export interface BundleRouteUpstreamCircuitBreakerThresholds {
  /**
  * Maximum connections to each upstream. Further requests wait for one.
  *
  */
  readonly maxConnections?: number;
  /**
  * Maximum requests that wait for a connection to each upstream. Further requests get 503. Default: `1024`.
  *
  */
  readonly maxPendingRequests?: number;
  /**
  * Maximum active requests to each upstream. Further requests get 503. Default: `10000`.
  *
  */
  readonly maxRequests?: number;
}

export function bundleRouteUpstreamCircuitBreakerThresholdsToTerraform(struct?: BundleRouteUpstreamCircuitBreakerThresholds | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    max_connections: cdktf.numberToTerraform(struct!.maxConnections),
    max_pending_requests: cdktf.numberToTerraform(struct!.maxPendingRequests),
    max_requests: cdktf.numberToTerraform(struct!.maxRequests),
  }
}


export function bundleRouteUpstreamCircuitBreakerThresholdsToHclTerraform(struct?: BundleRouteUpstreamCircuitBreakerThresholds | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    max_connections: {
      value: cdktf.numberToHclTerraform(struct!.maxConnections),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    max_pending_requests: {
      value: cdktf.numberToHclTerraform(struct!.maxPendingRequests),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    max_requests: {
      value: cdktf.numberToHclTerraform(struct!.maxRequests),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamCircuitBreakerThresholdsOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstreamCircuitBreakerThresholds | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._maxConnections !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxConnections = this._maxConnections;
    }
    if (this._maxPendingRequests !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxPendingRequests = this._maxPendingRequests;
    }
    if (this._maxRequests !== undefined) {
      hasAnyValues = true;
      internalValueResult.maxRequests = this._maxRequests;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstreamCircuitBreakerThresholds | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._maxConnections = undefined;
      this._maxPendingRequests = undefined;
      this._maxRequests = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._maxConnections = value.maxConnections;
      this._maxPendingRequests = value.maxPendingRequests;
      this._maxRequests = value.maxRequests;
    }
  }

  // max_connections - computed: false, optional: true, required: false
  private _maxConnections?: number; 
  public get maxConnections() {
    return this.getNumberAttribute('max_connections');
  }
  public set maxConnections(value: number) {
    this._maxConnections = value;
  }
  public resetMaxConnections() {
    this._maxConnections = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxConnectionsInput() {
    return this._maxConnections;
  }

  // max_pending_requests - computed: false, optional: true, required: false
  private _maxPendingRequests?: number; 
  public get maxPendingRequests() {
    return this.getNumberAttribute('max_pending_requests');
  }
  public set maxPendingRequests(value: number) {
    this._maxPendingRequests = value;
  }
  public resetMaxPendingRequests() {
    this._maxPendingRequests = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxPendingRequestsInput() {
    return this._maxPendingRequests;
  }

  // max_requests - computed: false, optional: true, required: false
  private _maxRequests?: number; 
  public get maxRequests() {
    return this.getNumberAttribute('max_requests');
  }
  public set maxRequests(value: number) {
    this._maxRequests = value;
  }
  public resetMaxRequests() {
    this._maxRequests = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxRequestsInput() {
    return this._maxRequests;
  }
}
export interface BundleRouteUpstream {
  /**
  * Send the signed identity header and claim headers to the upstream. Default: the global `pass_identity_headers`.
  *
  */
  readonly passIdentityHeaders?: boolean | cdktf.IResolvable;
  /**
  * Use HTTP/2 to the upstream: https if it supports HTTP/2, http always (h2c). Default: `false`.
  *
  */
  readonly http2?: boolean | cdktf.IResolvable;
  /**
  * Disables upstream certificate verification. Insecure. Default: `false`.
  *
  */
  readonly tlsSkipVerify?: boolean | cdktf.IResolvable;
  /**
  * Server name (SNI) that the upstream's certificate must match. Default: the host of `to`.
  *
  */
  readonly tlsServerName?: string;
  /**
  * Reference to `tls_custom_ca`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly tlsCustomCaRef?: string;
  /**
  * `tls_custom_ca`, encrypted to the gateway's public key (compact JWE).
  *
  */
  readonly tlsCustomCaSealed?: string;
  /**
  * Reference to `tls_client_cert`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly tlsClientCertRef?: string;
  /**
  * `tls_client_cert`, encrypted to the gateway's public key (compact JWE).
  *
  */
  readonly tlsClientCertSealed?: string;
  /**
  * Reference to `tls_client_key`, read by the gateway: `env:NAME`, `file:/path` or `vault:<mount>/<path>#<field>`.
  *
  */
  readonly tlsClientKeyRef?: string;
  /**
  * `tls_client_key`, encrypted to the gateway's public key (compact JWE).
  *
  */
  readonly tlsClientKeySealed?: string;
  /**
  * Idle timeout for responses, event streams, gRPC calls and WebSockets. "0s" disables it. Default: `timeout`; for event streams, gRPC calls and WebSockets none.
  *
  */
  readonly idleTimeout?: string;
  /**
  * Selection of the upstream: weighted turns, random, fewest active requests, or the same one for the same user or client address (`ring_hash`, alias `maglev`). One of `round_robin`, `random`, `least_request`, `ring_hash`, `maglev`. Default: `round_robin`.
  *
  */
  readonly loadBalancingPolicy?: string;
  /**
  * Percentage of healthy upstreams below which all are used. 0: never, so that requests get 503. Default: all upstreams are used if none is healthy.
  *
  */
  readonly healthyPanicThreshold?: number;
  /**
  * Accepted for compatibility, no effect.
  *
  */
  readonly maglevLbConfig?: BundleRouteUpstreamMaglevLbConfig;
  /**
  * Active health checks. All must pass.
  *
  */
  readonly healthChecks?: BundleRouteUpstreamHealthChecks[] | cdktf.IResolvable;
  /**
  * Ejects upstreams that respond with errors. Without it, only unreachable upstreams are ejected, for up to 30 seconds.
  *
  */
  readonly outlierDetection?: BundleRouteUpstreamOutlierDetection;
  /**
  * Limits for each upstream of this route, per process. Other upstreams are tried before the response is 503. Default: 10,000 active requests per upstream.
  *
  */
  readonly circuitBreakerThresholds?: BundleRouteUpstreamCircuitBreakerThresholds;
}

export function bundleRouteUpstreamToTerraform(struct?: BundleRouteUpstream | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    pass_identity_headers: cdktf.booleanToTerraform(struct!.passIdentityHeaders),
    http2: cdktf.booleanToTerraform(struct!.http2),
    tls_skip_verify: cdktf.booleanToTerraform(struct!.tlsSkipVerify),
    tls_server_name: cdktf.stringToTerraform(struct!.tlsServerName),
    tls_custom_ca_ref: cdktf.stringToTerraform(struct!.tlsCustomCaRef),
    tls_custom_ca_sealed: cdktf.stringToTerraform(struct!.tlsCustomCaSealed),
    tls_client_cert_ref: cdktf.stringToTerraform(struct!.tlsClientCertRef),
    tls_client_cert_sealed: cdktf.stringToTerraform(struct!.tlsClientCertSealed),
    tls_client_key_ref: cdktf.stringToTerraform(struct!.tlsClientKeyRef),
    tls_client_key_sealed: cdktf.stringToTerraform(struct!.tlsClientKeySealed),
    idle_timeout: cdktf.stringToTerraform(struct!.idleTimeout),
    load_balancing_policy: cdktf.stringToTerraform(struct!.loadBalancingPolicy),
    healthy_panic_threshold: cdktf.numberToTerraform(struct!.healthyPanicThreshold),
    maglev_lb_config: bundleRouteUpstreamMaglevLbConfigToTerraform(struct!.maglevLbConfig),
    health_checks: cdktf.listMapper(bundleRouteUpstreamHealthChecksToTerraform, false)(struct!.healthChecks),
    outlier_detection: bundleRouteUpstreamOutlierDetectionToTerraform(struct!.outlierDetection),
    circuit_breaker_thresholds: bundleRouteUpstreamCircuitBreakerThresholdsToTerraform(struct!.circuitBreakerThresholds),
  }
}


export function bundleRouteUpstreamToHclTerraform(struct?: BundleRouteUpstream | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    pass_identity_headers: {
      value: cdktf.booleanToHclTerraform(struct!.passIdentityHeaders),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    http2: {
      value: cdktf.booleanToHclTerraform(struct!.http2),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    tls_skip_verify: {
      value: cdktf.booleanToHclTerraform(struct!.tlsSkipVerify),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    tls_server_name: {
      value: cdktf.stringToHclTerraform(struct!.tlsServerName),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    tls_custom_ca_ref: {
      value: cdktf.stringToHclTerraform(struct!.tlsCustomCaRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    tls_custom_ca_sealed: {
      value: cdktf.stringToHclTerraform(struct!.tlsCustomCaSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    tls_client_cert_ref: {
      value: cdktf.stringToHclTerraform(struct!.tlsClientCertRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    tls_client_cert_sealed: {
      value: cdktf.stringToHclTerraform(struct!.tlsClientCertSealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    tls_client_key_ref: {
      value: cdktf.stringToHclTerraform(struct!.tlsClientKeyRef),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    tls_client_key_sealed: {
      value: cdktf.stringToHclTerraform(struct!.tlsClientKeySealed),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    idle_timeout: {
      value: cdktf.stringToHclTerraform(struct!.idleTimeout),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    load_balancing_policy: {
      value: cdktf.stringToHclTerraform(struct!.loadBalancingPolicy),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    healthy_panic_threshold: {
      value: cdktf.numberToHclTerraform(struct!.healthyPanicThreshold),
      isBlock: false,
      type: "simple",
      storageClassType: "number",
    },
    maglev_lb_config: {
      value: bundleRouteUpstreamMaglevLbConfigToHclTerraform(struct!.maglevLbConfig),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstreamMaglevLbConfig",
    },
    health_checks: {
      value: cdktf.listMapperHcl(bundleRouteUpstreamHealthChecksToHclTerraform, false)(struct!.healthChecks),
      isBlock: true,
      type: "list",
      storageClassType: "BundleRouteUpstreamHealthChecksList",
    },
    outlier_detection: {
      value: bundleRouteUpstreamOutlierDetectionToHclTerraform(struct!.outlierDetection),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstreamOutlierDetection",
    },
    circuit_breaker_thresholds: {
      value: bundleRouteUpstreamCircuitBreakerThresholdsToHclTerraform(struct!.circuitBreakerThresholds),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstreamCircuitBreakerThresholds",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteUpstreamOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): BundleRouteUpstream | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._passIdentityHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.passIdentityHeaders = this._passIdentityHeaders;
    }
    if (this._http2 !== undefined) {
      hasAnyValues = true;
      internalValueResult.http2 = this._http2;
    }
    if (this._tlsSkipVerify !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsSkipVerify = this._tlsSkipVerify;
    }
    if (this._tlsServerName !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsServerName = this._tlsServerName;
    }
    if (this._tlsCustomCaRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsCustomCaRef = this._tlsCustomCaRef;
    }
    if (this._tlsCustomCaSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsCustomCaSealed = this._tlsCustomCaSealed;
    }
    if (this._tlsClientCertRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsClientCertRef = this._tlsClientCertRef;
    }
    if (this._tlsClientCertSealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsClientCertSealed = this._tlsClientCertSealed;
    }
    if (this._tlsClientKeyRef !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsClientKeyRef = this._tlsClientKeyRef;
    }
    if (this._tlsClientKeySealed !== undefined) {
      hasAnyValues = true;
      internalValueResult.tlsClientKeySealed = this._tlsClientKeySealed;
    }
    if (this._idleTimeout !== undefined) {
      hasAnyValues = true;
      internalValueResult.idleTimeout = this._idleTimeout;
    }
    if (this._loadBalancingPolicy !== undefined) {
      hasAnyValues = true;
      internalValueResult.loadBalancingPolicy = this._loadBalancingPolicy;
    }
    if (this._healthyPanicThreshold !== undefined) {
      hasAnyValues = true;
      internalValueResult.healthyPanicThreshold = this._healthyPanicThreshold;
    }
    if (this._maglevLbConfig?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.maglevLbConfig = this._maglevLbConfig?.internalValue;
    }
    if (this._healthChecks?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.healthChecks = this._healthChecks?.internalValue;
    }
    if (this._outlierDetection?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.outlierDetection = this._outlierDetection?.internalValue;
    }
    if (this._circuitBreakerThresholds?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.circuitBreakerThresholds = this._circuitBreakerThresholds?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRouteUpstream | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._passIdentityHeaders = undefined;
      this._http2 = undefined;
      this._tlsSkipVerify = undefined;
      this._tlsServerName = undefined;
      this._tlsCustomCaRef = undefined;
      this._tlsCustomCaSealed = undefined;
      this._tlsClientCertRef = undefined;
      this._tlsClientCertSealed = undefined;
      this._tlsClientKeyRef = undefined;
      this._tlsClientKeySealed = undefined;
      this._idleTimeout = undefined;
      this._loadBalancingPolicy = undefined;
      this._healthyPanicThreshold = undefined;
      this._maglevLbConfig.internalValue = undefined;
      this._healthChecks.internalValue = undefined;
      this._outlierDetection.internalValue = undefined;
      this._circuitBreakerThresholds.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._passIdentityHeaders = value.passIdentityHeaders;
      this._http2 = value.http2;
      this._tlsSkipVerify = value.tlsSkipVerify;
      this._tlsServerName = value.tlsServerName;
      this._tlsCustomCaRef = value.tlsCustomCaRef;
      this._tlsCustomCaSealed = value.tlsCustomCaSealed;
      this._tlsClientCertRef = value.tlsClientCertRef;
      this._tlsClientCertSealed = value.tlsClientCertSealed;
      this._tlsClientKeyRef = value.tlsClientKeyRef;
      this._tlsClientKeySealed = value.tlsClientKeySealed;
      this._idleTimeout = value.idleTimeout;
      this._loadBalancingPolicy = value.loadBalancingPolicy;
      this._healthyPanicThreshold = value.healthyPanicThreshold;
      this._maglevLbConfig.internalValue = value.maglevLbConfig;
      this._healthChecks.internalValue = value.healthChecks;
      this._outlierDetection.internalValue = value.outlierDetection;
      this._circuitBreakerThresholds.internalValue = value.circuitBreakerThresholds;
    }
  }

  // pass_identity_headers - computed: false, optional: true, required: false
  private _passIdentityHeaders?: boolean | cdktf.IResolvable; 
  public get passIdentityHeaders() {
    return this.getBooleanAttribute('pass_identity_headers');
  }
  public set passIdentityHeaders(value: boolean | cdktf.IResolvable) {
    this._passIdentityHeaders = value;
  }
  public resetPassIdentityHeaders() {
    this._passIdentityHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get passIdentityHeadersInput() {
    return this._passIdentityHeaders;
  }

  // http2 - computed: false, optional: true, required: false
  private _http2?: boolean | cdktf.IResolvable; 
  public get http2() {
    return this.getBooleanAttribute('http2');
  }
  public set http2(value: boolean | cdktf.IResolvable) {
    this._http2 = value;
  }
  public resetHttp2() {
    this._http2 = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get http2Input() {
    return this._http2;
  }

  // tls_skip_verify - computed: false, optional: true, required: false
  private _tlsSkipVerify?: boolean | cdktf.IResolvable; 
  public get tlsSkipVerify() {
    return this.getBooleanAttribute('tls_skip_verify');
  }
  public set tlsSkipVerify(value: boolean | cdktf.IResolvable) {
    this._tlsSkipVerify = value;
  }
  public resetTlsSkipVerify() {
    this._tlsSkipVerify = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsSkipVerifyInput() {
    return this._tlsSkipVerify;
  }

  // tls_server_name - computed: false, optional: true, required: false
  private _tlsServerName?: string; 
  public get tlsServerName() {
    return this.getStringAttribute('tls_server_name');
  }
  public set tlsServerName(value: string) {
    this._tlsServerName = value;
  }
  public resetTlsServerName() {
    this._tlsServerName = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsServerNameInput() {
    return this._tlsServerName;
  }

  // tls_custom_ca_ref - computed: false, optional: true, required: false
  private _tlsCustomCaRef?: string; 
  public get tlsCustomCaRef() {
    return this.getStringAttribute('tls_custom_ca_ref');
  }
  public set tlsCustomCaRef(value: string) {
    this._tlsCustomCaRef = value;
  }
  public resetTlsCustomCaRef() {
    this._tlsCustomCaRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsCustomCaRefInput() {
    return this._tlsCustomCaRef;
  }

  // tls_custom_ca_sealed - computed: false, optional: true, required: false
  private _tlsCustomCaSealed?: string; 
  public get tlsCustomCaSealed() {
    return this.getStringAttribute('tls_custom_ca_sealed');
  }
  public set tlsCustomCaSealed(value: string) {
    this._tlsCustomCaSealed = value;
  }
  public resetTlsCustomCaSealed() {
    this._tlsCustomCaSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsCustomCaSealedInput() {
    return this._tlsCustomCaSealed;
  }

  // tls_client_cert_ref - computed: false, optional: true, required: false
  private _tlsClientCertRef?: string; 
  public get tlsClientCertRef() {
    return this.getStringAttribute('tls_client_cert_ref');
  }
  public set tlsClientCertRef(value: string) {
    this._tlsClientCertRef = value;
  }
  public resetTlsClientCertRef() {
    this._tlsClientCertRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsClientCertRefInput() {
    return this._tlsClientCertRef;
  }

  // tls_client_cert_sealed - computed: false, optional: true, required: false
  private _tlsClientCertSealed?: string; 
  public get tlsClientCertSealed() {
    return this.getStringAttribute('tls_client_cert_sealed');
  }
  public set tlsClientCertSealed(value: string) {
    this._tlsClientCertSealed = value;
  }
  public resetTlsClientCertSealed() {
    this._tlsClientCertSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsClientCertSealedInput() {
    return this._tlsClientCertSealed;
  }

  // tls_client_key_ref - computed: false, optional: true, required: false
  private _tlsClientKeyRef?: string; 
  public get tlsClientKeyRef() {
    return this.getStringAttribute('tls_client_key_ref');
  }
  public set tlsClientKeyRef(value: string) {
    this._tlsClientKeyRef = value;
  }
  public resetTlsClientKeyRef() {
    this._tlsClientKeyRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsClientKeyRefInput() {
    return this._tlsClientKeyRef;
  }

  // tls_client_key_sealed - computed: false, optional: true, required: false
  private _tlsClientKeySealed?: string; 
  public get tlsClientKeySealed() {
    return this.getStringAttribute('tls_client_key_sealed');
  }
  public set tlsClientKeySealed(value: string) {
    this._tlsClientKeySealed = value;
  }
  public resetTlsClientKeySealed() {
    this._tlsClientKeySealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tlsClientKeySealedInput() {
    return this._tlsClientKeySealed;
  }

  // idle_timeout - computed: false, optional: true, required: false
  private _idleTimeout?: string; 
  public get idleTimeout() {
    return this.getStringAttribute('idle_timeout');
  }
  public set idleTimeout(value: string) {
    this._idleTimeout = value;
  }
  public resetIdleTimeout() {
    this._idleTimeout = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idleTimeoutInput() {
    return this._idleTimeout;
  }

  // load_balancing_policy - computed: false, optional: true, required: false
  private _loadBalancingPolicy?: string; 
  public get loadBalancingPolicy() {
    return this.getStringAttribute('load_balancing_policy');
  }
  public set loadBalancingPolicy(value: string) {
    this._loadBalancingPolicy = value;
  }
  public resetLoadBalancingPolicy() {
    this._loadBalancingPolicy = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get loadBalancingPolicyInput() {
    return this._loadBalancingPolicy;
  }

  // healthy_panic_threshold - computed: false, optional: true, required: false
  private _healthyPanicThreshold?: number; 
  public get healthyPanicThreshold() {
    return this.getNumberAttribute('healthy_panic_threshold');
  }
  public set healthyPanicThreshold(value: number) {
    this._healthyPanicThreshold = value;
  }
  public resetHealthyPanicThreshold() {
    this._healthyPanicThreshold = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get healthyPanicThresholdInput() {
    return this._healthyPanicThreshold;
  }

  // maglev_lb_config - computed: false, optional: true, required: false
  private _maglevLbConfig = new BundleRouteUpstreamMaglevLbConfigOutputReference(this, "maglev_lb_config");
  public get maglevLbConfig() {
    return this._maglevLbConfig;
  }
  public putMaglevLbConfig(value: BundleRouteUpstreamMaglevLbConfig) {
    this._maglevLbConfig.internalValue = value;
  }
  public resetMaglevLbConfig() {
    this._maglevLbConfig.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maglevLbConfigInput() {
    return this._maglevLbConfig.internalValue;
  }

  // health_checks - computed: false, optional: true, required: false
  private _healthChecks = new BundleRouteUpstreamHealthChecksList(this, "health_checks", false);
  public get healthChecks() {
    return this._healthChecks;
  }
  public putHealthChecks(value: BundleRouteUpstreamHealthChecks[] | cdktf.IResolvable) {
    this._healthChecks.internalValue = value;
  }
  public resetHealthChecks() {
    this._healthChecks.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get healthChecksInput() {
    return this._healthChecks.internalValue;
  }

  // outlier_detection - computed: false, optional: true, required: false
  private _outlierDetection = new BundleRouteUpstreamOutlierDetectionOutputReference(this, "outlier_detection");
  public get outlierDetection() {
    return this._outlierDetection;
  }
  public putOutlierDetection(value: BundleRouteUpstreamOutlierDetection) {
    this._outlierDetection.internalValue = value;
  }
  public resetOutlierDetection() {
    this._outlierDetection.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get outlierDetectionInput() {
    return this._outlierDetection.internalValue;
  }

  // circuit_breaker_thresholds - computed: false, optional: true, required: false
  private _circuitBreakerThresholds = new BundleRouteUpstreamCircuitBreakerThresholdsOutputReference(this, "circuit_breaker_thresholds");
  public get circuitBreakerThresholds() {
    return this._circuitBreakerThresholds;
  }
  public putCircuitBreakerThresholds(value: BundleRouteUpstreamCircuitBreakerThresholds) {
    this._circuitBreakerThresholds.internalValue = value;
  }
  public resetCircuitBreakerThresholds() {
    this._circuitBreakerThresholds.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get circuitBreakerThresholdsInput() {
    return this._circuitBreakerThresholds.internalValue;
  }
}
export interface BundleRoute {
  /**
  * Route name, part of its key, shown in lists and pages. Default: derived from `from` and the path.
  *
  */
  readonly name?: string;
  /**
  * Public URL: scheme, host and optional port; `http://` requires `insecure_server`, or `http_redirect_address`, the port and a public route. `https://*.example.com` matches hosts below example.com without a more specific route.
  *
  */
  readonly from: string;
  /**
  * Upstream URL, or a list of at most 1,000; "url,weight" sets a weight. Required unless `redirect` or `response` is set.
  *
  */
  readonly to?: string[];
  /**
  * Path prefix to match, by whole segments. On MCP server routes, the base path. Default: every path.
  *
  */
  readonly prefix?: string;
  /**
  * Exact path to match. Not with `prefix`. Default: every path.
  *
  */
  readonly path?: string;
  /**
  * Access rules: `allow`, `deny` and `approve` blocks of criteria. Without a matching allow rule, requests are denied. JSON text; write it with `jsonencode(…)`.
  *
  */
  readonly policy?: string;
  /**
  * Allow all requests, also without sign-in. Deny rules still apply. Default: `false`.
  *
  */
  readonly allowPublicUnauthenticatedAccess?: boolean | cdktf.IResolvable;
  /**
  * Allow all signed-in users. Deny rules still apply. Default: `false`.
  *
  */
  readonly allowAnyAuthenticatedUser?: boolean | cdktf.IResolvable;
  /**
  * Forward the incoming Host header instead of the host of `to`. Default: `false`.
  *
  */
  readonly preserveHostHeader?: boolean | cdktf.IResolvable;
  /**
  * Host header to send: `host` or `host:port`. Default: the host of `to`.
  *
  */
  readonly hostRewrite?: string;
  /**
  * Request headers to set for the upstream, with `${gateway.access_token}`, `${gateway.id_token}`, `${gateway.client_cert_fingerprint}`, `${gateway.jwt}` and `${gateway.request.headers["Name"]}`. Write `$$` for a literal `$`.
  *
  */
  readonly setRequestHeaders?: { [key: string]: string };
  /**
  * Request headers to remove, after `set_request_headers` is applied.
  *
  */
  readonly removeRequestHeaders?: string[];
  /**
  * Static response headers, instead of those of the upstream. Write `$$` for a literal `$`.
  *
  */
  readonly setResponseHeaders?: { [key: string]: string };
  /**
  * Forward WebSocket connections; browsers can open them from the same origin only. Not on MCP server routes. Default: `false`.
  *
  */
  readonly allowWebsockets?: boolean | cdktf.IResolvable;
  /**
  * Maximum time until the upstream's response starts. "0s" disables it. Default: `default_upstream_timeout`; on MCP server routes none.
  *
  */
  readonly timeout?: string;
  /**
  * Description for users and the catalog; less common request matching, path rewriting, and responses without an upstream.
  *
  */
  readonly routing?: BundleRouteRouting;
  /**
  * Access besides the policy: users, tokens, CORS, shadow policy and rate limits.
  *
  */
  readonly access?: BundleRouteAccess;
  /**
  * Model Context Protocol. Set exactly one of `server` and `client`.
  *
  */
  readonly mcp?: BundleRouteMcp;
  /**
  * Less common header rules: Host from the request, secret values, rewritten response headers.
  *
  */
  readonly headers?: BundleRouteHeaders;
  /**
  * Upstream connections: protocol, TLS, idle timeout, balancing, ejection and limits.
  *
  */
  readonly upstream?: BundleRouteUpstream;
}

export function bundleRouteToTerraform(struct?: BundleRoute | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
    name: cdktf.stringToTerraform(struct!.name),
    from: cdktf.stringToTerraform(struct!.from),
    to: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.to),
    prefix: cdktf.stringToTerraform(struct!.prefix),
    path: cdktf.stringToTerraform(struct!.path),
    policy: cdktf.stringToTerraform(struct!.policy),
    allow_public_unauthenticated_access: cdktf.booleanToTerraform(struct!.allowPublicUnauthenticatedAccess),
    allow_any_authenticated_user: cdktf.booleanToTerraform(struct!.allowAnyAuthenticatedUser),
    preserve_host_header: cdktf.booleanToTerraform(struct!.preserveHostHeader),
    host_rewrite: cdktf.stringToTerraform(struct!.hostRewrite),
    set_request_headers: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.setRequestHeaders),
    remove_request_headers: cdktf.listMapper(cdktf.stringToTerraform, false)(struct!.removeRequestHeaders),
    set_response_headers: cdktf.hashMapper(cdktf.stringToTerraform)(struct!.setResponseHeaders),
    allow_websockets: cdktf.booleanToTerraform(struct!.allowWebsockets),
    timeout: cdktf.stringToTerraform(struct!.timeout),
    routing: bundleRouteRoutingToTerraform(struct!.routing),
    access: bundleRouteAccessToTerraform(struct!.access),
    mcp: bundleRouteMcpToTerraform(struct!.mcp),
    headers: bundleRouteHeadersToTerraform(struct!.headers),
    upstream: bundleRouteUpstreamToTerraform(struct!.upstream),
  }
}


export function bundleRouteToHclTerraform(struct?: BundleRoute | cdktf.IResolvable): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
    name: {
      value: cdktf.stringToHclTerraform(struct!.name),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    from: {
      value: cdktf.stringToHclTerraform(struct!.from),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    to: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.to),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    prefix: {
      value: cdktf.stringToHclTerraform(struct!.prefix),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    path: {
      value: cdktf.stringToHclTerraform(struct!.path),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    policy: {
      value: cdktf.stringToHclTerraform(struct!.policy),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    allow_public_unauthenticated_access: {
      value: cdktf.booleanToHclTerraform(struct!.allowPublicUnauthenticatedAccess),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    allow_any_authenticated_user: {
      value: cdktf.booleanToHclTerraform(struct!.allowAnyAuthenticatedUser),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    preserve_host_header: {
      value: cdktf.booleanToHclTerraform(struct!.preserveHostHeader),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    host_rewrite: {
      value: cdktf.stringToHclTerraform(struct!.hostRewrite),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    set_request_headers: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.setRequestHeaders),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    remove_request_headers: {
      value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct!.removeRequestHeaders),
      isBlock: false,
      type: "list",
      storageClassType: "stringList",
    },
    set_response_headers: {
      value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(struct!.setResponseHeaders),
      isBlock: false,
      type: "map",
      storageClassType: "stringMap",
    },
    allow_websockets: {
      value: cdktf.booleanToHclTerraform(struct!.allowWebsockets),
      isBlock: false,
      type: "simple",
      storageClassType: "boolean",
    },
    timeout: {
      value: cdktf.stringToHclTerraform(struct!.timeout),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    routing: {
      value: bundleRouteRoutingToHclTerraform(struct!.routing),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteRouting",
    },
    access: {
      value: bundleRouteAccessToHclTerraform(struct!.access),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteAccess",
    },
    mcp: {
      value: bundleRouteMcpToHclTerraform(struct!.mcp),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteMcp",
    },
    headers: {
      value: bundleRouteHeadersToHclTerraform(struct!.headers),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteHeaders",
    },
    upstream: {
      value: bundleRouteUpstreamToHclTerraform(struct!.upstream),
      isBlock: true,
      type: "struct",
      storageClassType: "BundleRouteUpstream",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class BundleRouteOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktf.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectKey the key of this item in the map
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectKey: string) {
    super(terraformResource, terraformAttribute, false, complexObjectKey);
  }

  public get internalValue(): BundleRoute | cdktf.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._name !== undefined) {
      hasAnyValues = true;
      internalValueResult.name = this._name;
    }
    if (this._from !== undefined) {
      hasAnyValues = true;
      internalValueResult.from = this._from;
    }
    if (this._to !== undefined) {
      hasAnyValues = true;
      internalValueResult.to = this._to;
    }
    if (this._prefix !== undefined) {
      hasAnyValues = true;
      internalValueResult.prefix = this._prefix;
    }
    if (this._path !== undefined) {
      hasAnyValues = true;
      internalValueResult.path = this._path;
    }
    if (this._policy !== undefined) {
      hasAnyValues = true;
      internalValueResult.policy = this._policy;
    }
    if (this._allowPublicUnauthenticatedAccess !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowPublicUnauthenticatedAccess = this._allowPublicUnauthenticatedAccess;
    }
    if (this._allowAnyAuthenticatedUser !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowAnyAuthenticatedUser = this._allowAnyAuthenticatedUser;
    }
    if (this._preserveHostHeader !== undefined) {
      hasAnyValues = true;
      internalValueResult.preserveHostHeader = this._preserveHostHeader;
    }
    if (this._hostRewrite !== undefined) {
      hasAnyValues = true;
      internalValueResult.hostRewrite = this._hostRewrite;
    }
    if (this._setRequestHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.setRequestHeaders = this._setRequestHeaders;
    }
    if (this._removeRequestHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.removeRequestHeaders = this._removeRequestHeaders;
    }
    if (this._setResponseHeaders !== undefined) {
      hasAnyValues = true;
      internalValueResult.setResponseHeaders = this._setResponseHeaders;
    }
    if (this._allowWebsockets !== undefined) {
      hasAnyValues = true;
      internalValueResult.allowWebsockets = this._allowWebsockets;
    }
    if (this._timeout !== undefined) {
      hasAnyValues = true;
      internalValueResult.timeout = this._timeout;
    }
    if (this._routing?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.routing = this._routing?.internalValue;
    }
    if (this._access?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.access = this._access?.internalValue;
    }
    if (this._mcp?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.mcp = this._mcp?.internalValue;
    }
    if (this._headers?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.headers = this._headers?.internalValue;
    }
    if (this._upstream?.internalValue !== undefined) {
      hasAnyValues = true;
      internalValueResult.upstream = this._upstream?.internalValue;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: BundleRoute | cdktf.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._name = undefined;
      this._from = undefined;
      this._to = undefined;
      this._prefix = undefined;
      this._path = undefined;
      this._policy = undefined;
      this._allowPublicUnauthenticatedAccess = undefined;
      this._allowAnyAuthenticatedUser = undefined;
      this._preserveHostHeader = undefined;
      this._hostRewrite = undefined;
      this._setRequestHeaders = undefined;
      this._removeRequestHeaders = undefined;
      this._setResponseHeaders = undefined;
      this._allowWebsockets = undefined;
      this._timeout = undefined;
      this._routing.internalValue = undefined;
      this._access.internalValue = undefined;
      this._mcp.internalValue = undefined;
      this._headers.internalValue = undefined;
      this._upstream.internalValue = undefined;
    }
    else if (cdktf.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._name = value.name;
      this._from = value.from;
      this._to = value.to;
      this._prefix = value.prefix;
      this._path = value.path;
      this._policy = value.policy;
      this._allowPublicUnauthenticatedAccess = value.allowPublicUnauthenticatedAccess;
      this._allowAnyAuthenticatedUser = value.allowAnyAuthenticatedUser;
      this._preserveHostHeader = value.preserveHostHeader;
      this._hostRewrite = value.hostRewrite;
      this._setRequestHeaders = value.setRequestHeaders;
      this._removeRequestHeaders = value.removeRequestHeaders;
      this._setResponseHeaders = value.setResponseHeaders;
      this._allowWebsockets = value.allowWebsockets;
      this._timeout = value.timeout;
      this._routing.internalValue = value.routing;
      this._access.internalValue = value.access;
      this._mcp.internalValue = value.mcp;
      this._headers.internalValue = value.headers;
      this._upstream.internalValue = value.upstream;
    }
  }

  // name - computed: false, optional: true, required: false
  private _name?: string; 
  public get name() {
    return this.getStringAttribute('name');
  }
  public set name(value: string) {
    this._name = value;
  }
  public resetName() {
    this._name = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get nameInput() {
    return this._name;
  }

  // from - computed: false, optional: false, required: true
  private _from?: string; 
  public get from() {
    return this.getStringAttribute('from');
  }
  public set from(value: string) {
    this._from = value;
  }
  // Temporarily expose input value. Use with caution.
  public get fromInput() {
    return this._from;
  }

  // to - computed: false, optional: true, required: false
  private _to?: string[]; 
  public get to() {
    return this.getListAttribute('to');
  }
  public set to(value: string[]) {
    this._to = value;
  }
  public resetTo() {
    this._to = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get toInput() {
    return this._to;
  }

  // prefix - computed: false, optional: true, required: false
  private _prefix?: string; 
  public get prefix() {
    return this.getStringAttribute('prefix');
  }
  public set prefix(value: string) {
    this._prefix = value;
  }
  public resetPrefix() {
    this._prefix = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get prefixInput() {
    return this._prefix;
  }

  // path - computed: false, optional: true, required: false
  private _path?: string; 
  public get path() {
    return this.getStringAttribute('path');
  }
  public set path(value: string) {
    this._path = value;
  }
  public resetPath() {
    this._path = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get pathInput() {
    return this._path;
  }

  // policy - computed: false, optional: true, required: false
  private _policy?: string; 
  public get policy() {
    return this.getStringAttribute('policy');
  }
  public set policy(value: string) {
    this._policy = value;
  }
  public resetPolicy() {
    this._policy = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get policyInput() {
    return this._policy;
  }

  // allow_public_unauthenticated_access - computed: false, optional: true, required: false
  private _allowPublicUnauthenticatedAccess?: boolean | cdktf.IResolvable; 
  public get allowPublicUnauthenticatedAccess() {
    return this.getBooleanAttribute('allow_public_unauthenticated_access');
  }
  public set allowPublicUnauthenticatedAccess(value: boolean | cdktf.IResolvable) {
    this._allowPublicUnauthenticatedAccess = value;
  }
  public resetAllowPublicUnauthenticatedAccess() {
    this._allowPublicUnauthenticatedAccess = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowPublicUnauthenticatedAccessInput() {
    return this._allowPublicUnauthenticatedAccess;
  }

  // allow_any_authenticated_user - computed: false, optional: true, required: false
  private _allowAnyAuthenticatedUser?: boolean | cdktf.IResolvable; 
  public get allowAnyAuthenticatedUser() {
    return this.getBooleanAttribute('allow_any_authenticated_user');
  }
  public set allowAnyAuthenticatedUser(value: boolean | cdktf.IResolvable) {
    this._allowAnyAuthenticatedUser = value;
  }
  public resetAllowAnyAuthenticatedUser() {
    this._allowAnyAuthenticatedUser = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowAnyAuthenticatedUserInput() {
    return this._allowAnyAuthenticatedUser;
  }

  // preserve_host_header - computed: false, optional: true, required: false
  private _preserveHostHeader?: boolean | cdktf.IResolvable; 
  public get preserveHostHeader() {
    return this.getBooleanAttribute('preserve_host_header');
  }
  public set preserveHostHeader(value: boolean | cdktf.IResolvable) {
    this._preserveHostHeader = value;
  }
  public resetPreserveHostHeader() {
    this._preserveHostHeader = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get preserveHostHeaderInput() {
    return this._preserveHostHeader;
  }

  // host_rewrite - computed: false, optional: true, required: false
  private _hostRewrite?: string; 
  public get hostRewrite() {
    return this.getStringAttribute('host_rewrite');
  }
  public set hostRewrite(value: string) {
    this._hostRewrite = value;
  }
  public resetHostRewrite() {
    this._hostRewrite = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostRewriteInput() {
    return this._hostRewrite;
  }

  // set_request_headers - computed: false, optional: true, required: false
  private _setRequestHeaders?: { [key: string]: string }; 
  public get setRequestHeaders() {
    return this.getStringMapAttribute('set_request_headers');
  }
  public set setRequestHeaders(value: { [key: string]: string }) {
    this._setRequestHeaders = value;
  }
  public resetSetRequestHeaders() {
    this._setRequestHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get setRequestHeadersInput() {
    return this._setRequestHeaders;
  }

  // remove_request_headers - computed: false, optional: true, required: false
  private _removeRequestHeaders?: string[]; 
  public get removeRequestHeaders() {
    return this.getListAttribute('remove_request_headers');
  }
  public set removeRequestHeaders(value: string[]) {
    this._removeRequestHeaders = value;
  }
  public resetRemoveRequestHeaders() {
    this._removeRequestHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get removeRequestHeadersInput() {
    return this._removeRequestHeaders;
  }

  // set_response_headers - computed: false, optional: true, required: false
  private _setResponseHeaders?: { [key: string]: string }; 
  public get setResponseHeaders() {
    return this.getStringMapAttribute('set_response_headers');
  }
  public set setResponseHeaders(value: { [key: string]: string }) {
    this._setResponseHeaders = value;
  }
  public resetSetResponseHeaders() {
    this._setResponseHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get setResponseHeadersInput() {
    return this._setResponseHeaders;
  }

  // allow_websockets - computed: false, optional: true, required: false
  private _allowWebsockets?: boolean | cdktf.IResolvable; 
  public get allowWebsockets() {
    return this.getBooleanAttribute('allow_websockets');
  }
  public set allowWebsockets(value: boolean | cdktf.IResolvable) {
    this._allowWebsockets = value;
  }
  public resetAllowWebsockets() {
    this._allowWebsockets = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get allowWebsocketsInput() {
    return this._allowWebsockets;
  }

  // timeout - computed: false, optional: true, required: false
  private _timeout?: string; 
  public get timeout() {
    return this.getStringAttribute('timeout');
  }
  public set timeout(value: string) {
    this._timeout = value;
  }
  public resetTimeout() {
    this._timeout = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get timeoutInput() {
    return this._timeout;
  }

  // routing - computed: false, optional: true, required: false
  private _routing = new BundleRouteRoutingOutputReference(this, "routing");
  public get routing() {
    return this._routing;
  }
  public putRouting(value: BundleRouteRouting) {
    this._routing.internalValue = value;
  }
  public resetRouting() {
    this._routing.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get routingInput() {
    return this._routing.internalValue;
  }

  // access - computed: false, optional: true, required: false
  private _access = new BundleRouteAccessOutputReference(this, "access");
  public get access() {
    return this._access;
  }
  public putAccess(value: BundleRouteAccess) {
    this._access.internalValue = value;
  }
  public resetAccess() {
    this._access.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get accessInput() {
    return this._access.internalValue;
  }

  // mcp - computed: false, optional: true, required: false
  private _mcp = new BundleRouteMcpOutputReference(this, "mcp");
  public get mcp() {
    return this._mcp;
  }
  public putMcp(value: BundleRouteMcp) {
    this._mcp.internalValue = value;
  }
  public resetMcp() {
    this._mcp.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpInput() {
    return this._mcp.internalValue;
  }

  // headers - computed: false, optional: true, required: false
  private _headers = new BundleRouteHeadersOutputReference(this, "headers");
  public get headers() {
    return this._headers;
  }
  public putHeaders(value: BundleRouteHeaders) {
    this._headers.internalValue = value;
  }
  public resetHeaders() {
    this._headers.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get headersInput() {
    return this._headers.internalValue;
  }

  // upstream - computed: false, optional: true, required: false
  private _upstream = new BundleRouteUpstreamOutputReference(this, "upstream");
  public get upstream() {
    return this._upstream;
  }
  public putUpstream(value: BundleRouteUpstream) {
    this._upstream.internalValue = value;
  }
  public resetUpstream() {
    this._upstream.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get upstreamInput() {
    return this._upstream.internalValue;
  }
}

export class BundleRouteMap extends cdktf.ComplexMap {
  public internalValue? : { [key: string]: BundleRoute } | cdktf.IResolvable

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute)
  }

  /**
  * @param key the key of the item to return
  */
  public get(key: string): BundleRouteOutputReference {
    return new BundleRouteOutputReference(this.terraformResource, this.terraformAttribute, key);
  }
}

/**
* Represents a gateway_bundle
*/
export class Bundle extends cdktf.TerraformResource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gateway_bundle";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTF code for importing a Bundle resource upon running "cdktf plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the Bundle to import
  * @param importFromId The id of the existing Bundle that should be imported. Refer to the import section in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the Bundle to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktf.TerraformProvider) {
        return new cdktf.ImportableResource(scope, importToId, { terraformResourceType: "gateway_bundle", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new gateway_bundle Resource
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options BundleConfig
  */
  public constructor(scope: Construct, id: string, config: BundleConfig) {
    super(scope, id, {
      terraformResourceType: 'gateway_bundle',
      terraformGeneratorMetadata: {
        providerName: 'gateway',
        providerVersionConstraint: '~> 0.1.0'
      },
      provider: config.provider,
      dependsOn: config.dependsOn,
      count: config.count,
      lifecycle: config.lifecycle,
      provisioners: config.provisioners,
      connection: config.connection,
      forEach: config.forEach
    });
    this._owner = config.owner;
    this._sealKey = config.sealKey;
    this._routes = config.routes;
    this._mcpAllowedClientIdDomains = config.mcpAllowedClientIdDomains;
    this._mcpAllowedAsMetadataDomains = config.mcpAllowedAsMetadataDomains;
    this._mcpAllowedOrigins = config.mcpAllowedOrigins;
    this._mcpAllowedPrivateRedirectUris = config.mcpAllowedPrivateRedirectUris;
    this._mcpDynamicRegistration = config.mcpDynamicRegistration;
    this._mcpCatalog = config.mcpCatalog;
    this._authorizeLogFields = config.authorizeLogFields;
    this._authenticateServiceUrl = config.authenticateServiceUrl;
    this._signoutRedirectUrl = config.signoutRedirectUrl;
    this._supportUrl = config.supportUrl;
    this._idpProviderUrl = config.idpProviderUrl;
    this._idpLabel = config.idpLabel;
    this._idpClientId = config.idpClientId;
    this._idpClientSecret = config.idpClientSecret;
    this._idpClientSecretRef = config.idpClientSecretRef;
    this._idpClientSecretSealed = config.idpClientSecretSealed;
    this._idpClientSecretWo = config.idpClientSecretWo;
    this._idpClientSecretWoVersion = config.idpClientSecretWoVersion;
    this._idpClientKey = config.idpClientKey;
    this._idpClientKeyRef = config.idpClientKeyRef;
    this._idpClientKeySealed = config.idpClientKeySealed;
    this._idpClientKeyWo = config.idpClientKeyWo;
    this._idpClientKeyWoVersion = config.idpClientKeyWoVersion;
    this._idpClientKeyId = config.idpClientKeyId;
    this._idpClientAuth = config.idpClientAuth;
    this._idpClientProofAudience = config.idpClientProofAudience;
    this._idpPushRequests = config.idpPushRequests;
    this._idpScopes = config.idpScopes;
    this._idpGroupsClaim = config.idpGroupsClaim;
    this._idpRequireEmailVerified = config.idpRequireEmailVerified;
    this._idpRequestParams = config.idpRequestParams;
    this._bearerTokenFormat = config.bearerTokenFormat;
    this._idpAccessTokenAllowedAudiences = config.idpAccessTokenAllowedAudiences;
    this._programmaticRedirectDomainWhitelist = config.programmaticRedirectDomainWhitelist;
    this._cookieName = config.cookieName;
    this._cookieExpiration = config.cookieExpiration;
    this._unconfirmedUserLimit = config.unconfirmedUserLimit;
    this._cookieSameSite = config.cookieSameSite;
    this._accessTokenLifetime = config.accessTokenLifetime;
    this._clientRouteTokenLifetime = config.clientRouteTokenLifetime;
    this._refreshTokenLifetime = config.refreshTokenLifetime;
    this._refreshTokenAbsoluteLifetime = config.refreshTokenAbsoluteLifetime;
    this._authorizationCodeLifetime = config.authorizationCodeLifetime;
    this._passIdentityHeaders = config.passIdentityHeaders;
    this._jwtClaimsHeaders = config.jwtClaimsHeaders;
    this._setResponseHeaders = config.setResponseHeaders;
    this._maxStreamsPerUser = config.maxStreamsPerUser;
    this._expiryGrace = config.expiryGrace;
    this._defaultUpstreamTimeout = config.defaultUpstreamTimeout;
    this._file.internalValue = config.file;
    this._http.internalValue = config.http;
    this._runtimeFlags.internalValue = config.runtimeFlags;
    this._idpGroupsResolver.internalValue = config.idpGroupsResolver;
    this._identityIssuers.internalValue = config.identityIssuers;
    this._directories.internalValue = config.directories;
    this._hostCertificates.internalValue = config.hostCertificates;
    this._route.internalValue = config.route;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // owner - computed: false, optional: false, required: true
  private _owner?: string; 
  public get owner() {
    return this.getStringAttribute('owner');
  }
  public set owner(value: string) {
    this._owner = value;
  }
  // Temporarily expose input value. Use with caution.
  public get ownerInput() {
    return this._owner;
  }

  // seal_key - computed: false, optional: true, required: false
  private _sealKey?: string; 
  public get sealKey() {
    return this.getStringAttribute('seal_key');
  }
  public set sealKey(value: string) {
    this._sealKey = value;
  }
  public resetSealKey() {
    this._sealKey = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get sealKeyInput() {
    return this._sealKey;
  }

  // routes - computed: false, optional: true, required: false
  private _routes?: { [key: string]: any }; 
  public get routes() {
    return this.getAnyMapAttribute('routes');
  }
  public set routes(value: { [key: string]: any }) {
    this._routes = value;
  }
  public resetRoutes() {
    this._routes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get routesInput() {
    return this._routes;
  }

  // sha256 - computed: true, optional: false, required: false
  public get sha256() {
    return this.getStringAttribute('sha256');
  }

  // generation - computed: true, optional: false, required: false
  public get generation() {
    return this.getNumberAttribute('generation');
  }

  // bundle_json - computed: true, optional: false, required: false
  public get bundleJson() {
    return this.getStringAttribute('bundle_json');
  }

  // mcp_allowed_client_id_domains - computed: false, optional: true, required: false
  private _mcpAllowedClientIdDomains?: string[]; 
  public get mcpAllowedClientIdDomains() {
    return this.getListAttribute('mcp_allowed_client_id_domains');
  }
  public set mcpAllowedClientIdDomains(value: string[]) {
    this._mcpAllowedClientIdDomains = value;
  }
  public resetMcpAllowedClientIdDomains() {
    this._mcpAllowedClientIdDomains = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpAllowedClientIdDomainsInput() {
    return this._mcpAllowedClientIdDomains;
  }

  // mcp_allowed_as_metadata_domains - computed: false, optional: true, required: false
  private _mcpAllowedAsMetadataDomains?: string[]; 
  public get mcpAllowedAsMetadataDomains() {
    return this.getListAttribute('mcp_allowed_as_metadata_domains');
  }
  public set mcpAllowedAsMetadataDomains(value: string[]) {
    this._mcpAllowedAsMetadataDomains = value;
  }
  public resetMcpAllowedAsMetadataDomains() {
    this._mcpAllowedAsMetadataDomains = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpAllowedAsMetadataDomainsInput() {
    return this._mcpAllowedAsMetadataDomains;
  }

  // mcp_allowed_origins - computed: false, optional: true, required: false
  private _mcpAllowedOrigins?: string[]; 
  public get mcpAllowedOrigins() {
    return this.getListAttribute('mcp_allowed_origins');
  }
  public set mcpAllowedOrigins(value: string[]) {
    this._mcpAllowedOrigins = value;
  }
  public resetMcpAllowedOrigins() {
    this._mcpAllowedOrigins = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpAllowedOriginsInput() {
    return this._mcpAllowedOrigins;
  }

  // mcp_allowed_private_redirect_uris - computed: false, optional: true, required: false
  private _mcpAllowedPrivateRedirectUris?: string[]; 
  public get mcpAllowedPrivateRedirectUris() {
    return this.getListAttribute('mcp_allowed_private_redirect_uris');
  }
  public set mcpAllowedPrivateRedirectUris(value: string[]) {
    this._mcpAllowedPrivateRedirectUris = value;
  }
  public resetMcpAllowedPrivateRedirectUris() {
    this._mcpAllowedPrivateRedirectUris = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpAllowedPrivateRedirectUrisInput() {
    return this._mcpAllowedPrivateRedirectUris;
  }

  // mcp_dynamic_registration - computed: false, optional: true, required: false
  private _mcpDynamicRegistration?: boolean | cdktf.IResolvable; 
  public get mcpDynamicRegistration() {
    return this.getBooleanAttribute('mcp_dynamic_registration');
  }
  public set mcpDynamicRegistration(value: boolean | cdktf.IResolvable) {
    this._mcpDynamicRegistration = value;
  }
  public resetMcpDynamicRegistration() {
    this._mcpDynamicRegistration = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpDynamicRegistrationInput() {
    return this._mcpDynamicRegistration;
  }

  // mcp_catalog - computed: false, optional: true, required: false
  private _mcpCatalog?: string; 
  public get mcpCatalog() {
    return this.getStringAttribute('mcp_catalog');
  }
  public set mcpCatalog(value: string) {
    this._mcpCatalog = value;
  }
  public resetMcpCatalog() {
    this._mcpCatalog = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get mcpCatalogInput() {
    return this._mcpCatalog;
  }

  // authorize_log_fields - computed: false, optional: true, required: false
  private _authorizeLogFields?: string[]; 
  public get authorizeLogFields() {
    return this.getListAttribute('authorize_log_fields');
  }
  public set authorizeLogFields(value: string[]) {
    this._authorizeLogFields = value;
  }
  public resetAuthorizeLogFields() {
    this._authorizeLogFields = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get authorizeLogFieldsInput() {
    return this._authorizeLogFields;
  }

  // authenticate_service_url - computed: false, optional: true, required: false
  private _authenticateServiceUrl?: string; 
  public get authenticateServiceUrl() {
    return this.getStringAttribute('authenticate_service_url');
  }
  public set authenticateServiceUrl(value: string) {
    this._authenticateServiceUrl = value;
  }
  public resetAuthenticateServiceUrl() {
    this._authenticateServiceUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get authenticateServiceUrlInput() {
    return this._authenticateServiceUrl;
  }

  // signout_redirect_url - computed: false, optional: true, required: false
  private _signoutRedirectUrl?: string; 
  public get signoutRedirectUrl() {
    return this.getStringAttribute('signout_redirect_url');
  }
  public set signoutRedirectUrl(value: string) {
    this._signoutRedirectUrl = value;
  }
  public resetSignoutRedirectUrl() {
    this._signoutRedirectUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get signoutRedirectUrlInput() {
    return this._signoutRedirectUrl;
  }

  // support_url - computed: false, optional: true, required: false
  private _supportUrl?: string; 
  public get supportUrl() {
    return this.getStringAttribute('support_url');
  }
  public set supportUrl(value: string) {
    this._supportUrl = value;
  }
  public resetSupportUrl() {
    this._supportUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get supportUrlInput() {
    return this._supportUrl;
  }

  // idp_provider_url - computed: false, optional: true, required: false
  private _idpProviderUrl?: string; 
  public get idpProviderUrl() {
    return this.getStringAttribute('idp_provider_url');
  }
  public set idpProviderUrl(value: string) {
    this._idpProviderUrl = value;
  }
  public resetIdpProviderUrl() {
    this._idpProviderUrl = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpProviderUrlInput() {
    return this._idpProviderUrl;
  }

  // idp_label - computed: false, optional: true, required: false
  private _idpLabel?: string; 
  public get idpLabel() {
    return this.getStringAttribute('idp_label');
  }
  public set idpLabel(value: string) {
    this._idpLabel = value;
  }
  public resetIdpLabel() {
    this._idpLabel = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpLabelInput() {
    return this._idpLabel;
  }

  // idp_client_id - computed: false, optional: true, required: false
  private _idpClientId?: string; 
  public get idpClientId() {
    return this.getStringAttribute('idp_client_id');
  }
  public set idpClientId(value: string) {
    this._idpClientId = value;
  }
  public resetIdpClientId() {
    this._idpClientId = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientIdInput() {
    return this._idpClientId;
  }

  // idp_client_secret - computed: false, optional: true, required: false
  private _idpClientSecret?: string; 
  public get idpClientSecret() {
    return this.getStringAttribute('idp_client_secret');
  }
  public set idpClientSecret(value: string) {
    this._idpClientSecret = value;
  }
  public resetIdpClientSecret() {
    this._idpClientSecret = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientSecretInput() {
    return this._idpClientSecret;
  }

  // idp_client_secret_ref - computed: false, optional: true, required: false
  private _idpClientSecretRef?: string; 
  public get idpClientSecretRef() {
    return this.getStringAttribute('idp_client_secret_ref');
  }
  public set idpClientSecretRef(value: string) {
    this._idpClientSecretRef = value;
  }
  public resetIdpClientSecretRef() {
    this._idpClientSecretRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientSecretRefInput() {
    return this._idpClientSecretRef;
  }

  // idp_client_secret_sealed - computed: true, optional: true, required: false
  private _idpClientSecretSealed?: string; 
  public get idpClientSecretSealed() {
    return this.getStringAttribute('idp_client_secret_sealed');
  }
  public set idpClientSecretSealed(value: string) {
    this._idpClientSecretSealed = value;
  }
  public resetIdpClientSecretSealed() {
    this._idpClientSecretSealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientSecretSealedInput() {
    return this._idpClientSecretSealed;
  }

  // idp_client_secret_wo - computed: false, optional: true, required: false
  private _idpClientSecretWo?: string; 
  public get idpClientSecretWo() {
    return this.getStringAttribute('idp_client_secret_wo');
  }
  public set idpClientSecretWo(value: string) {
    this._idpClientSecretWo = value;
  }
  public resetIdpClientSecretWo() {
    this._idpClientSecretWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientSecretWoInput() {
    return this._idpClientSecretWo;
  }

  // idp_client_secret_wo_version - computed: false, optional: true, required: false
  private _idpClientSecretWoVersion?: number; 
  public get idpClientSecretWoVersion() {
    return this.getNumberAttribute('idp_client_secret_wo_version');
  }
  public set idpClientSecretWoVersion(value: number) {
    this._idpClientSecretWoVersion = value;
  }
  public resetIdpClientSecretWoVersion() {
    this._idpClientSecretWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientSecretWoVersionInput() {
    return this._idpClientSecretWoVersion;
  }

  // idp_client_key - computed: false, optional: true, required: false
  private _idpClientKey?: string; 
  public get idpClientKey() {
    return this.getStringAttribute('idp_client_key');
  }
  public set idpClientKey(value: string) {
    this._idpClientKey = value;
  }
  public resetIdpClientKey() {
    this._idpClientKey = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientKeyInput() {
    return this._idpClientKey;
  }

  // idp_client_key_ref - computed: false, optional: true, required: false
  private _idpClientKeyRef?: string; 
  public get idpClientKeyRef() {
    return this.getStringAttribute('idp_client_key_ref');
  }
  public set idpClientKeyRef(value: string) {
    this._idpClientKeyRef = value;
  }
  public resetIdpClientKeyRef() {
    this._idpClientKeyRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientKeyRefInput() {
    return this._idpClientKeyRef;
  }

  // idp_client_key_sealed - computed: true, optional: true, required: false
  private _idpClientKeySealed?: string; 
  public get idpClientKeySealed() {
    return this.getStringAttribute('idp_client_key_sealed');
  }
  public set idpClientKeySealed(value: string) {
    this._idpClientKeySealed = value;
  }
  public resetIdpClientKeySealed() {
    this._idpClientKeySealed = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientKeySealedInput() {
    return this._idpClientKeySealed;
  }

  // idp_client_key_wo - computed: false, optional: true, required: false
  private _idpClientKeyWo?: string; 
  public get idpClientKeyWo() {
    return this.getStringAttribute('idp_client_key_wo');
  }
  public set idpClientKeyWo(value: string) {
    this._idpClientKeyWo = value;
  }
  public resetIdpClientKeyWo() {
    this._idpClientKeyWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientKeyWoInput() {
    return this._idpClientKeyWo;
  }

  // idp_client_key_wo_version - computed: false, optional: true, required: false
  private _idpClientKeyWoVersion?: number; 
  public get idpClientKeyWoVersion() {
    return this.getNumberAttribute('idp_client_key_wo_version');
  }
  public set idpClientKeyWoVersion(value: number) {
    this._idpClientKeyWoVersion = value;
  }
  public resetIdpClientKeyWoVersion() {
    this._idpClientKeyWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientKeyWoVersionInput() {
    return this._idpClientKeyWoVersion;
  }

  // idp_client_key_id - computed: false, optional: true, required: false
  private _idpClientKeyId?: string; 
  public get idpClientKeyId() {
    return this.getStringAttribute('idp_client_key_id');
  }
  public set idpClientKeyId(value: string) {
    this._idpClientKeyId = value;
  }
  public resetIdpClientKeyId() {
    this._idpClientKeyId = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientKeyIdInput() {
    return this._idpClientKeyId;
  }

  // idp_client_auth - computed: false, optional: true, required: false
  private _idpClientAuth?: string; 
  public get idpClientAuth() {
    return this.getStringAttribute('idp_client_auth');
  }
  public set idpClientAuth(value: string) {
    this._idpClientAuth = value;
  }
  public resetIdpClientAuth() {
    this._idpClientAuth = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientAuthInput() {
    return this._idpClientAuth;
  }

  // idp_client_proof_audience - computed: false, optional: true, required: false
  private _idpClientProofAudience?: string; 
  public get idpClientProofAudience() {
    return this.getStringAttribute('idp_client_proof_audience');
  }
  public set idpClientProofAudience(value: string) {
    this._idpClientProofAudience = value;
  }
  public resetIdpClientProofAudience() {
    this._idpClientProofAudience = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpClientProofAudienceInput() {
    return this._idpClientProofAudience;
  }

  // idp_push_requests - computed: false, optional: true, required: false
  private _idpPushRequests?: boolean | cdktf.IResolvable; 
  public get idpPushRequests() {
    return this.getBooleanAttribute('idp_push_requests');
  }
  public set idpPushRequests(value: boolean | cdktf.IResolvable) {
    this._idpPushRequests = value;
  }
  public resetIdpPushRequests() {
    this._idpPushRequests = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpPushRequestsInput() {
    return this._idpPushRequests;
  }

  // idp_scopes - computed: false, optional: true, required: false
  private _idpScopes?: string[]; 
  public get idpScopes() {
    return this.getListAttribute('idp_scopes');
  }
  public set idpScopes(value: string[]) {
    this._idpScopes = value;
  }
  public resetIdpScopes() {
    this._idpScopes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpScopesInput() {
    return this._idpScopes;
  }

  // idp_groups_claim - computed: false, optional: true, required: false
  private _idpGroupsClaim?: string; 
  public get idpGroupsClaim() {
    return this.getStringAttribute('idp_groups_claim');
  }
  public set idpGroupsClaim(value: string) {
    this._idpGroupsClaim = value;
  }
  public resetIdpGroupsClaim() {
    this._idpGroupsClaim = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpGroupsClaimInput() {
    return this._idpGroupsClaim;
  }

  // idp_require_email_verified - computed: false, optional: true, required: false
  private _idpRequireEmailVerified?: boolean | cdktf.IResolvable; 
  public get idpRequireEmailVerified() {
    return this.getBooleanAttribute('idp_require_email_verified');
  }
  public set idpRequireEmailVerified(value: boolean | cdktf.IResolvable) {
    this._idpRequireEmailVerified = value;
  }
  public resetIdpRequireEmailVerified() {
    this._idpRequireEmailVerified = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpRequireEmailVerifiedInput() {
    return this._idpRequireEmailVerified;
  }

  // idp_request_params - computed: false, optional: true, required: false
  private _idpRequestParams?: { [key: string]: string }; 
  public get idpRequestParams() {
    return this.getStringMapAttribute('idp_request_params');
  }
  public set idpRequestParams(value: { [key: string]: string }) {
    this._idpRequestParams = value;
  }
  public resetIdpRequestParams() {
    this._idpRequestParams = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpRequestParamsInput() {
    return this._idpRequestParams;
  }

  // bearer_token_format - computed: false, optional: true, required: false
  private _bearerTokenFormat?: string; 
  public get bearerTokenFormat() {
    return this.getStringAttribute('bearer_token_format');
  }
  public set bearerTokenFormat(value: string) {
    this._bearerTokenFormat = value;
  }
  public resetBearerTokenFormat() {
    this._bearerTokenFormat = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get bearerTokenFormatInput() {
    return this._bearerTokenFormat;
  }

  // idp_access_token_allowed_audiences - computed: false, optional: true, required: false
  private _idpAccessTokenAllowedAudiences?: string[]; 
  public get idpAccessTokenAllowedAudiences() {
    return this.getListAttribute('idp_access_token_allowed_audiences');
  }
  public set idpAccessTokenAllowedAudiences(value: string[]) {
    this._idpAccessTokenAllowedAudiences = value;
  }
  public resetIdpAccessTokenAllowedAudiences() {
    this._idpAccessTokenAllowedAudiences = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpAccessTokenAllowedAudiencesInput() {
    return this._idpAccessTokenAllowedAudiences;
  }

  // programmatic_redirect_domain_whitelist - computed: false, optional: true, required: false
  private _programmaticRedirectDomainWhitelist?: string[]; 
  public get programmaticRedirectDomainWhitelist() {
    return this.getListAttribute('programmatic_redirect_domain_whitelist');
  }
  public set programmaticRedirectDomainWhitelist(value: string[]) {
    this._programmaticRedirectDomainWhitelist = value;
  }
  public resetProgrammaticRedirectDomainWhitelist() {
    this._programmaticRedirectDomainWhitelist = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get programmaticRedirectDomainWhitelistInput() {
    return this._programmaticRedirectDomainWhitelist;
  }

  // cookie_name - computed: false, optional: true, required: false
  private _cookieName?: string; 
  public get cookieName() {
    return this.getStringAttribute('cookie_name');
  }
  public set cookieName(value: string) {
    this._cookieName = value;
  }
  public resetCookieName() {
    this._cookieName = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get cookieNameInput() {
    return this._cookieName;
  }

  // cookie_expiration - computed: false, optional: true, required: false
  private _cookieExpiration?: string; 
  public get cookieExpiration() {
    return this.getStringAttribute('cookie_expiration');
  }
  public set cookieExpiration(value: string) {
    this._cookieExpiration = value;
  }
  public resetCookieExpiration() {
    this._cookieExpiration = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get cookieExpirationInput() {
    return this._cookieExpiration;
  }

  // unconfirmed_user_limit - computed: false, optional: true, required: false
  private _unconfirmedUserLimit?: string; 
  public get unconfirmedUserLimit() {
    return this.getStringAttribute('unconfirmed_user_limit');
  }
  public set unconfirmedUserLimit(value: string) {
    this._unconfirmedUserLimit = value;
  }
  public resetUnconfirmedUserLimit() {
    this._unconfirmedUserLimit = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get unconfirmedUserLimitInput() {
    return this._unconfirmedUserLimit;
  }

  // cookie_same_site - computed: false, optional: true, required: false
  private _cookieSameSite?: string; 
  public get cookieSameSite() {
    return this.getStringAttribute('cookie_same_site');
  }
  public set cookieSameSite(value: string) {
    this._cookieSameSite = value;
  }
  public resetCookieSameSite() {
    this._cookieSameSite = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get cookieSameSiteInput() {
    return this._cookieSameSite;
  }

  // access_token_lifetime - computed: false, optional: true, required: false
  private _accessTokenLifetime?: string; 
  public get accessTokenLifetime() {
    return this.getStringAttribute('access_token_lifetime');
  }
  public set accessTokenLifetime(value: string) {
    this._accessTokenLifetime = value;
  }
  public resetAccessTokenLifetime() {
    this._accessTokenLifetime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get accessTokenLifetimeInput() {
    return this._accessTokenLifetime;
  }

  // client_route_token_lifetime - computed: false, optional: true, required: false
  private _clientRouteTokenLifetime?: string; 
  public get clientRouteTokenLifetime() {
    return this.getStringAttribute('client_route_token_lifetime');
  }
  public set clientRouteTokenLifetime(value: string) {
    this._clientRouteTokenLifetime = value;
  }
  public resetClientRouteTokenLifetime() {
    this._clientRouteTokenLifetime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientRouteTokenLifetimeInput() {
    return this._clientRouteTokenLifetime;
  }

  // refresh_token_lifetime - computed: false, optional: true, required: false
  private _refreshTokenLifetime?: string; 
  public get refreshTokenLifetime() {
    return this.getStringAttribute('refresh_token_lifetime');
  }
  public set refreshTokenLifetime(value: string) {
    this._refreshTokenLifetime = value;
  }
  public resetRefreshTokenLifetime() {
    this._refreshTokenLifetime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get refreshTokenLifetimeInput() {
    return this._refreshTokenLifetime;
  }

  // refresh_token_absolute_lifetime - computed: false, optional: true, required: false
  private _refreshTokenAbsoluteLifetime?: string; 
  public get refreshTokenAbsoluteLifetime() {
    return this.getStringAttribute('refresh_token_absolute_lifetime');
  }
  public set refreshTokenAbsoluteLifetime(value: string) {
    this._refreshTokenAbsoluteLifetime = value;
  }
  public resetRefreshTokenAbsoluteLifetime() {
    this._refreshTokenAbsoluteLifetime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get refreshTokenAbsoluteLifetimeInput() {
    return this._refreshTokenAbsoluteLifetime;
  }

  // authorization_code_lifetime - computed: false, optional: true, required: false
  private _authorizationCodeLifetime?: string; 
  public get authorizationCodeLifetime() {
    return this.getStringAttribute('authorization_code_lifetime');
  }
  public set authorizationCodeLifetime(value: string) {
    this._authorizationCodeLifetime = value;
  }
  public resetAuthorizationCodeLifetime() {
    this._authorizationCodeLifetime = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get authorizationCodeLifetimeInput() {
    return this._authorizationCodeLifetime;
  }

  // pass_identity_headers - computed: false, optional: true, required: false
  private _passIdentityHeaders?: boolean | cdktf.IResolvable; 
  public get passIdentityHeaders() {
    return this.getBooleanAttribute('pass_identity_headers');
  }
  public set passIdentityHeaders(value: boolean | cdktf.IResolvable) {
    this._passIdentityHeaders = value;
  }
  public resetPassIdentityHeaders() {
    this._passIdentityHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get passIdentityHeadersInput() {
    return this._passIdentityHeaders;
  }

  // jwt_claims_headers - computed: false, optional: true, required: false
  private _jwtClaimsHeaders?: { [key: string]: string }; 
  public get jwtClaimsHeaders() {
    return this.getStringMapAttribute('jwt_claims_headers');
  }
  public set jwtClaimsHeaders(value: { [key: string]: string }) {
    this._jwtClaimsHeaders = value;
  }
  public resetJwtClaimsHeaders() {
    this._jwtClaimsHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get jwtClaimsHeadersInput() {
    return this._jwtClaimsHeaders;
  }

  // set_response_headers - computed: false, optional: true, required: false
  private _setResponseHeaders?: { [key: string]: string }; 
  public get setResponseHeaders() {
    return this.getStringMapAttribute('set_response_headers');
  }
  public set setResponseHeaders(value: { [key: string]: string }) {
    this._setResponseHeaders = value;
  }
  public resetSetResponseHeaders() {
    this._setResponseHeaders = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get setResponseHeadersInput() {
    return this._setResponseHeaders;
  }

  // max_streams_per_user - computed: false, optional: true, required: false
  private _maxStreamsPerUser?: number; 
  public get maxStreamsPerUser() {
    return this.getNumberAttribute('max_streams_per_user');
  }
  public set maxStreamsPerUser(value: number) {
    this._maxStreamsPerUser = value;
  }
  public resetMaxStreamsPerUser() {
    this._maxStreamsPerUser = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get maxStreamsPerUserInput() {
    return this._maxStreamsPerUser;
  }

  // expiry_grace - computed: false, optional: true, required: false
  private _expiryGrace?: string; 
  public get expiryGrace() {
    return this.getStringAttribute('expiry_grace');
  }
  public set expiryGrace(value: string) {
    this._expiryGrace = value;
  }
  public resetExpiryGrace() {
    this._expiryGrace = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get expiryGraceInput() {
    return this._expiryGrace;
  }

  // default_upstream_timeout - computed: false, optional: true, required: false
  private _defaultUpstreamTimeout?: string; 
  public get defaultUpstreamTimeout() {
    return this.getStringAttribute('default_upstream_timeout');
  }
  public set defaultUpstreamTimeout(value: string) {
    this._defaultUpstreamTimeout = value;
  }
  public resetDefaultUpstreamTimeout() {
    this._defaultUpstreamTimeout = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get defaultUpstreamTimeoutInput() {
    return this._defaultUpstreamTimeout;
  }

  // file - computed: false, optional: true, required: false
  private _file = new BundleFileOutputReference(this, "file");
  public get file() {
    return this._file;
  }
  public putFile(value: BundleFile) {
    this._file.internalValue = value;
  }
  public resetFile() {
    this._file.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get fileInput() {
    return this._file.internalValue;
  }

  // http - computed: false, optional: true, required: false
  private _http = new BundleHttpOutputReference(this, "http");
  public get http() {
    return this._http;
  }
  public putHttp(value: BundleHttp) {
    this._http.internalValue = value;
  }
  public resetHttp() {
    this._http.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get httpInput() {
    return this._http.internalValue;
  }

  // runtime_flags - computed: false, optional: true, required: false
  private _runtimeFlags = new BundleRuntimeFlagsOutputReference(this, "runtime_flags");
  public get runtimeFlags() {
    return this._runtimeFlags;
  }
  public putRuntimeFlags(value: BundleRuntimeFlags) {
    this._runtimeFlags.internalValue = value;
  }
  public resetRuntimeFlags() {
    this._runtimeFlags.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get runtimeFlagsInput() {
    return this._runtimeFlags.internalValue;
  }

  // idp_groups_resolver - computed: false, optional: true, required: false
  private _idpGroupsResolver = new BundleIdpGroupsResolverOutputReference(this, "idp_groups_resolver");
  public get idpGroupsResolver() {
    return this._idpGroupsResolver;
  }
  public putIdpGroupsResolver(value: BundleIdpGroupsResolver) {
    this._idpGroupsResolver.internalValue = value;
  }
  public resetIdpGroupsResolver() {
    this._idpGroupsResolver.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get idpGroupsResolverInput() {
    return this._idpGroupsResolver.internalValue;
  }

  // identity_issuers - computed: false, optional: true, required: false
  private _identityIssuers = new BundleIdentityIssuersMap(this, "identity_issuers");
  public get identityIssuers() {
    return this._identityIssuers;
  }
  public putIdentityIssuers(value: { [key: string]: BundleIdentityIssuers } | cdktf.IResolvable) {
    this._identityIssuers.internalValue = value;
  }
  public resetIdentityIssuers() {
    this._identityIssuers.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get identityIssuersInput() {
    return this._identityIssuers.internalValue;
  }

  // directories - computed: false, optional: true, required: false
  private _directories = new BundleDirectoriesMap(this, "directories");
  public get directories() {
    return this._directories;
  }
  public putDirectories(value: { [key: string]: BundleDirectories } | cdktf.IResolvable) {
    this._directories.internalValue = value;
  }
  public resetDirectories() {
    this._directories.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get directoriesInput() {
    return this._directories.internalValue;
  }

  // host_certificates - computed: false, optional: true, required: false
  private _hostCertificates = new BundleHostCertificatesMap(this, "host_certificates");
  public get hostCertificates() {
    return this._hostCertificates;
  }
  public putHostCertificates(value: { [key: string]: BundleHostCertificates } | cdktf.IResolvable) {
    this._hostCertificates.internalValue = value;
  }
  public resetHostCertificates() {
    this._hostCertificates.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get hostCertificatesInput() {
    return this._hostCertificates.internalValue;
  }

  // route - computed: false, optional: true, required: false
  private _route = new BundleRouteMap(this, "route");
  public get route() {
    return this._route;
  }
  public putRoute(value: { [key: string]: BundleRoute } | cdktf.IResolvable) {
    this._route.internalValue = value;
  }
  public resetRoute() {
    this._route.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get routeInput() {
    return this._route.internalValue;
  }

  // =========
  // SYNTHESIS
  // =========

  protected synthesizeAttributes(): { [name: string]: any } {
    return {
      owner: cdktf.stringToTerraform(this._owner),
      seal_key: cdktf.stringToTerraform(this._sealKey),
      routes: cdktf.hashMapper(cdktf.anyToTerraform)(this._routes),
      mcp_allowed_client_id_domains: cdktf.listMapper(cdktf.stringToTerraform, false)(this._mcpAllowedClientIdDomains),
      mcp_allowed_as_metadata_domains: cdktf.listMapper(cdktf.stringToTerraform, false)(this._mcpAllowedAsMetadataDomains),
      mcp_allowed_origins: cdktf.listMapper(cdktf.stringToTerraform, false)(this._mcpAllowedOrigins),
      mcp_allowed_private_redirect_uris: cdktf.listMapper(cdktf.stringToTerraform, false)(this._mcpAllowedPrivateRedirectUris),
      mcp_dynamic_registration: cdktf.booleanToTerraform(this._mcpDynamicRegistration),
      mcp_catalog: cdktf.stringToTerraform(this._mcpCatalog),
      authorize_log_fields: cdktf.listMapper(cdktf.stringToTerraform, false)(this._authorizeLogFields),
      authenticate_service_url: cdktf.stringToTerraform(this._authenticateServiceUrl),
      signout_redirect_url: cdktf.stringToTerraform(this._signoutRedirectUrl),
      support_url: cdktf.stringToTerraform(this._supportUrl),
      idp_provider_url: cdktf.stringToTerraform(this._idpProviderUrl),
      idp_label: cdktf.stringToTerraform(this._idpLabel),
      idp_client_id: cdktf.stringToTerraform(this._idpClientId),
      idp_client_secret: cdktf.stringToTerraform(this._idpClientSecret),
      idp_client_secret_ref: cdktf.stringToTerraform(this._idpClientSecretRef),
      idp_client_secret_sealed: cdktf.stringToTerraform(this._idpClientSecretSealed),
      idp_client_secret_wo: cdktf.stringToTerraform(this._idpClientSecretWo),
      idp_client_secret_wo_version: cdktf.numberToTerraform(this._idpClientSecretWoVersion),
      idp_client_key: cdktf.stringToTerraform(this._idpClientKey),
      idp_client_key_ref: cdktf.stringToTerraform(this._idpClientKeyRef),
      idp_client_key_sealed: cdktf.stringToTerraform(this._idpClientKeySealed),
      idp_client_key_wo: cdktf.stringToTerraform(this._idpClientKeyWo),
      idp_client_key_wo_version: cdktf.numberToTerraform(this._idpClientKeyWoVersion),
      idp_client_key_id: cdktf.stringToTerraform(this._idpClientKeyId),
      idp_client_auth: cdktf.stringToTerraform(this._idpClientAuth),
      idp_client_proof_audience: cdktf.stringToTerraform(this._idpClientProofAudience),
      idp_push_requests: cdktf.booleanToTerraform(this._idpPushRequests),
      idp_scopes: cdktf.listMapper(cdktf.stringToTerraform, false)(this._idpScopes),
      idp_groups_claim: cdktf.stringToTerraform(this._idpGroupsClaim),
      idp_require_email_verified: cdktf.booleanToTerraform(this._idpRequireEmailVerified),
      idp_request_params: cdktf.hashMapper(cdktf.stringToTerraform)(this._idpRequestParams),
      bearer_token_format: cdktf.stringToTerraform(this._bearerTokenFormat),
      idp_access_token_allowed_audiences: cdktf.listMapper(cdktf.stringToTerraform, false)(this._idpAccessTokenAllowedAudiences),
      programmatic_redirect_domain_whitelist: cdktf.listMapper(cdktf.stringToTerraform, false)(this._programmaticRedirectDomainWhitelist),
      cookie_name: cdktf.stringToTerraform(this._cookieName),
      cookie_expiration: cdktf.stringToTerraform(this._cookieExpiration),
      unconfirmed_user_limit: cdktf.stringToTerraform(this._unconfirmedUserLimit),
      cookie_same_site: cdktf.stringToTerraform(this._cookieSameSite),
      access_token_lifetime: cdktf.stringToTerraform(this._accessTokenLifetime),
      client_route_token_lifetime: cdktf.stringToTerraform(this._clientRouteTokenLifetime),
      refresh_token_lifetime: cdktf.stringToTerraform(this._refreshTokenLifetime),
      refresh_token_absolute_lifetime: cdktf.stringToTerraform(this._refreshTokenAbsoluteLifetime),
      authorization_code_lifetime: cdktf.stringToTerraform(this._authorizationCodeLifetime),
      pass_identity_headers: cdktf.booleanToTerraform(this._passIdentityHeaders),
      jwt_claims_headers: cdktf.hashMapper(cdktf.stringToTerraform)(this._jwtClaimsHeaders),
      set_response_headers: cdktf.hashMapper(cdktf.stringToTerraform)(this._setResponseHeaders),
      max_streams_per_user: cdktf.numberToTerraform(this._maxStreamsPerUser),
      expiry_grace: cdktf.stringToTerraform(this._expiryGrace),
      default_upstream_timeout: cdktf.stringToTerraform(this._defaultUpstreamTimeout),
      file: bundleFileToTerraform(this._file.internalValue),
      http: bundleHttpToTerraform(this._http.internalValue),
      runtime_flags: bundleRuntimeFlagsToTerraform(this._runtimeFlags.internalValue),
      idp_groups_resolver: bundleIdpGroupsResolverToTerraform(this._idpGroupsResolver.internalValue),
      identity_issuers: cdktf.hashMapper(bundleIdentityIssuersToTerraform)(this._identityIssuers.internalValue),
      directories: cdktf.hashMapper(bundleDirectoriesToTerraform)(this._directories.internalValue),
      host_certificates: cdktf.hashMapper(bundleHostCertificatesToTerraform)(this._hostCertificates.internalValue),
      route: cdktf.hashMapper(bundleRouteToTerraform)(this._route.internalValue),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      owner: {
        value: cdktf.stringToHclTerraform(this._owner),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      seal_key: {
        value: cdktf.stringToHclTerraform(this._sealKey),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      routes: {
        value: cdktf.hashMapperHcl(cdktf.anyToHclTerraform)(this._routes),
        isBlock: false,
        type: "map",
        storageClassType: "anyMap",
      },
      mcp_allowed_client_id_domains: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._mcpAllowedClientIdDomains),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      mcp_allowed_as_metadata_domains: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._mcpAllowedAsMetadataDomains),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      mcp_allowed_origins: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._mcpAllowedOrigins),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      mcp_allowed_private_redirect_uris: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._mcpAllowedPrivateRedirectUris),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      mcp_dynamic_registration: {
        value: cdktf.booleanToHclTerraform(this._mcpDynamicRegistration),
        isBlock: false,
        type: "simple",
        storageClassType: "boolean",
      },
      mcp_catalog: {
        value: cdktf.stringToHclTerraform(this._mcpCatalog),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      authorize_log_fields: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._authorizeLogFields),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      authenticate_service_url: {
        value: cdktf.stringToHclTerraform(this._authenticateServiceUrl),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      signout_redirect_url: {
        value: cdktf.stringToHclTerraform(this._signoutRedirectUrl),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      support_url: {
        value: cdktf.stringToHclTerraform(this._supportUrl),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_provider_url: {
        value: cdktf.stringToHclTerraform(this._idpProviderUrl),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_label: {
        value: cdktf.stringToHclTerraform(this._idpLabel),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_id: {
        value: cdktf.stringToHclTerraform(this._idpClientId),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_secret: {
        value: cdktf.stringToHclTerraform(this._idpClientSecret),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_secret_ref: {
        value: cdktf.stringToHclTerraform(this._idpClientSecretRef),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_secret_sealed: {
        value: cdktf.stringToHclTerraform(this._idpClientSecretSealed),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_secret_wo: {
        value: cdktf.stringToHclTerraform(this._idpClientSecretWo),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_secret_wo_version: {
        value: cdktf.numberToHclTerraform(this._idpClientSecretWoVersion),
        isBlock: false,
        type: "simple",
        storageClassType: "number",
      },
      idp_client_key: {
        value: cdktf.stringToHclTerraform(this._idpClientKey),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_key_ref: {
        value: cdktf.stringToHclTerraform(this._idpClientKeyRef),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_key_sealed: {
        value: cdktf.stringToHclTerraform(this._idpClientKeySealed),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_key_wo: {
        value: cdktf.stringToHclTerraform(this._idpClientKeyWo),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_key_wo_version: {
        value: cdktf.numberToHclTerraform(this._idpClientKeyWoVersion),
        isBlock: false,
        type: "simple",
        storageClassType: "number",
      },
      idp_client_key_id: {
        value: cdktf.stringToHclTerraform(this._idpClientKeyId),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_auth: {
        value: cdktf.stringToHclTerraform(this._idpClientAuth),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_client_proof_audience: {
        value: cdktf.stringToHclTerraform(this._idpClientProofAudience),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_push_requests: {
        value: cdktf.booleanToHclTerraform(this._idpPushRequests),
        isBlock: false,
        type: "simple",
        storageClassType: "boolean",
      },
      idp_scopes: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._idpScopes),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      idp_groups_claim: {
        value: cdktf.stringToHclTerraform(this._idpGroupsClaim),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_require_email_verified: {
        value: cdktf.booleanToHclTerraform(this._idpRequireEmailVerified),
        isBlock: false,
        type: "simple",
        storageClassType: "boolean",
      },
      idp_request_params: {
        value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(this._idpRequestParams),
        isBlock: false,
        type: "map",
        storageClassType: "stringMap",
      },
      bearer_token_format: {
        value: cdktf.stringToHclTerraform(this._bearerTokenFormat),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      idp_access_token_allowed_audiences: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._idpAccessTokenAllowedAudiences),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      programmatic_redirect_domain_whitelist: {
        value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(this._programmaticRedirectDomainWhitelist),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      cookie_name: {
        value: cdktf.stringToHclTerraform(this._cookieName),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      cookie_expiration: {
        value: cdktf.stringToHclTerraform(this._cookieExpiration),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      unconfirmed_user_limit: {
        value: cdktf.stringToHclTerraform(this._unconfirmedUserLimit),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      cookie_same_site: {
        value: cdktf.stringToHclTerraform(this._cookieSameSite),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      access_token_lifetime: {
        value: cdktf.stringToHclTerraform(this._accessTokenLifetime),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      client_route_token_lifetime: {
        value: cdktf.stringToHclTerraform(this._clientRouteTokenLifetime),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      refresh_token_lifetime: {
        value: cdktf.stringToHclTerraform(this._refreshTokenLifetime),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      refresh_token_absolute_lifetime: {
        value: cdktf.stringToHclTerraform(this._refreshTokenAbsoluteLifetime),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      authorization_code_lifetime: {
        value: cdktf.stringToHclTerraform(this._authorizationCodeLifetime),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      pass_identity_headers: {
        value: cdktf.booleanToHclTerraform(this._passIdentityHeaders),
        isBlock: false,
        type: "simple",
        storageClassType: "boolean",
      },
      jwt_claims_headers: {
        value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(this._jwtClaimsHeaders),
        isBlock: false,
        type: "map",
        storageClassType: "stringMap",
      },
      set_response_headers: {
        value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(this._setResponseHeaders),
        isBlock: false,
        type: "map",
        storageClassType: "stringMap",
      },
      max_streams_per_user: {
        value: cdktf.numberToHclTerraform(this._maxStreamsPerUser),
        isBlock: false,
        type: "simple",
        storageClassType: "number",
      },
      expiry_grace: {
        value: cdktf.stringToHclTerraform(this._expiryGrace),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      default_upstream_timeout: {
        value: cdktf.stringToHclTerraform(this._defaultUpstreamTimeout),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      file: {
        value: bundleFileToHclTerraform(this._file.internalValue),
        isBlock: true,
        type: "struct",
        storageClassType: "BundleFile",
      },
      http: {
        value: bundleHttpToHclTerraform(this._http.internalValue),
        isBlock: true,
        type: "struct",
        storageClassType: "BundleHttp",
      },
      runtime_flags: {
        value: bundleRuntimeFlagsToHclTerraform(this._runtimeFlags.internalValue),
        isBlock: true,
        type: "struct",
        storageClassType: "BundleRuntimeFlags",
      },
      idp_groups_resolver: {
        value: bundleIdpGroupsResolverToHclTerraform(this._idpGroupsResolver.internalValue),
        isBlock: true,
        type: "struct",
        storageClassType: "BundleIdpGroupsResolver",
      },
      identity_issuers: {
        value: cdktf.hashMapperHcl(bundleIdentityIssuersToHclTerraform)(this._identityIssuers.internalValue),
        isBlock: true,
        type: "map",
        storageClassType: "BundleIdentityIssuersMap",
      },
      directories: {
        value: cdktf.hashMapperHcl(bundleDirectoriesToHclTerraform)(this._directories.internalValue),
        isBlock: true,
        type: "map",
        storageClassType: "BundleDirectoriesMap",
      },
      host_certificates: {
        value: cdktf.hashMapperHcl(bundleHostCertificatesToHclTerraform)(this._hostCertificates.internalValue),
        isBlock: true,
        type: "map",
        storageClassType: "BundleHostCertificatesMap",
      },
      route: {
        value: cdktf.hashMapperHcl(bundleRouteToHclTerraform)(this._route.internalValue),
        isBlock: true,
        type: "map",
        storageClassType: "BundleRouteMap",
      },
    };

    // remove undefined attributes
    return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined ))
  }
}
