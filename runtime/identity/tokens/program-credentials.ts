/**
 * Credentials of programs on ordinary routes: the gateway's own tokens (service accounts, programmatic login)
 * everywhere, and tokens of the identity provider or a platform where `bearer_token_format` allows.
 *
 * Untrusted input: the headers. Promises: an External Token of an MCP client or an application is invalid on ordinary
 * routes. A program's token is valid only on its host. A provider's verdict is cached for `FRESH_MS`, but never past
 * the token's expiry. A revocation of the user causes a new verification immediately, even during one. Each token has
 * at most one verification at a time, and the total is limited.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Exchange } from "../../http/exchange.ts";
import { refusal } from "../confirm-credential.ts";
import { EXTERNAL_TOKEN_PREFIX } from "../external-token.ts";
import type { Authenticator, ProgramCredentials, ProviderTokens } from "../interfaces.ts";
import type { AuthResult, Principal } from "../principal.ts";
import { findSite } from "../sites.ts";
import { type PresentedTokenDeps, PresentedTokens } from "./presented-tokens.ts";
import type { WorkloadCredentials } from "./workload-credentials.ts";

export interface ProgramCredentialDeps extends PresentedTokenDeps {
  readonly authenticator: Pick<Authenticator, "bearer">;
  /** Absent: platform tokens are not accepted. */
  readonly workloads?: WorkloadCredentials | undefined;
}

export interface ProviderTokenCredentials extends ProgramCredentials {
  /** The token of a principal, for `${gateway.access_token}`; undefined for other kinds of principals. */
  presentedBy(principal: Principal): ProviderTokens | undefined;
  /** Verifies the principal's token again if that is due. @returns undefined if it is no longer valid */
  again(principal: Principal): Promise<Principal | undefined>;
  close(): void;
}

export function createProgramCredentials(deps: ProgramCredentialDeps): ProviderTokenCredentials {
  const presented = new PresentedTokens(deps);
  const workloads = new WeakMap<
    Principal,
    { readonly token: string; readonly route: CompiledRoute; readonly origin: string }
  >();

  const ownToken = (token: string, { routedHost, host }: Exchange): AuthResult | Promise<AuthResult> => {
    const site = routedHost === undefined ? findSite(deps.snapshots.current(), host) : undefined;
    if (!site) return refusal("wrong-audience");
    const result = deps.authenticator.bearer(token, { resource: "", origin: site.origin, isWeb: true });
    return result instanceof Promise ? result.then(onlyPrograms) : onlyPrograms(result);
  };

  const workloadToken = (token: string, { host }: Exchange, route: CompiledRoute): AuthResult | Promise<AuthResult> => {
    const site = findSite(deps.snapshots.current(), host);
    if (!site || !deps.workloads) return refusal("wrong-audience");
    const note = (result: AuthResult): AuthResult => {
      if (result.ok && !workloads.has(result.principal))
        workloads.set(result.principal, { token, route, origin: site.origin });
      return result;
    };
    const result = deps.workloads.principal(token, site.origin, route);
    return result instanceof Promise ? result.then(note) : note(result);
  };

  return {
    providerBearer(exchange, route) {
      const token = bearerOf(exchange.header("authorization"));
      if (token === undefined) return undefined;
      // Our own tokens have a prefix and are accepted in addition to the provider's.
      if (token.startsWith(EXTERNAL_TOKEN_PREFIX)) return ownToken(token, exchange);
      // No credential counts on the plain listener.
      if (exchange.routedHost !== undefined) return refusal("wrong-audience");
      return route.bearerTokenFormat === "jwt"
        ? workloadToken(token, exchange, route)
        : presented.verify(token, route, exchange.remoteAddress);
    },
    ownBearer(exchange) {
      const own = exchange.header("x-gateway-authorization");
      const authorization = own === undefined ? exchange.header("authorization") : undefined;
      // The common case of requests without a cookie.
      if (own === undefined && authorization === undefined) return undefined;
      const token = own ?? bearerOf(authorization);
      return token?.startsWith(EXTERNAL_TOKEN_PREFIX) === true ? ownToken(token, exchange) : undefined;
    },
    presentedBy(principal) {
      const shown = presented.of(principal);
      if (!shown) return undefined;
      const isAccess = shown.route.bearerTokenFormat === "idp_access_token";
      return { accessToken: isAccess ? shown.token : "", idToken: isAccess ? "" : shown.token };
    },
    async again(principal) {
      const shown = presented.of(principal);
      const workload = workloads.get(principal);
      if (!shown && !workload) return undefined;
      const result = shown
        ? await presented.verify(shown.token, shown.route, undefined)
        : workload && (await deps.workloads?.principal(workload.token, workload.origin, workload.route));
      if (!result) return undefined;
      if (result.ok) return result.principal;
      // An unreachable provider revokes nothing. The token has its own expiry.
      return result.reason === "unavailable" ? principal : undefined;
    },
    close: () => presented.close(),
  };
}

/** Other External Tokens were issued for MCP servers, and some are visible to language models. */
function onlyPrograms(result: AuthResult): AuthResult {
  if (!result.ok) return result;
  const { kind } = result.principal;
  return kind === "service-account" || kind === "programmatic" ? result : refusal("wrong-kind");
}

/** RFC 6750 §2.1: the scheme is case-insensitive. */
function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization ?? "")?.[1];
}
