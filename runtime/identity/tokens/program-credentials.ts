/**
 * Credentials of programs on ordinary routes: the gateway's own tokens (service accounts, programmatic login) everywhere,
 * and tokens of the identity provider, or of a platform about its workloads, where `bearer_token_format` says so.
 *
 * Untrusted input: the headers. Promises: an External Token of an MCP client or of an application opens no ordinary
 * route; a program's token opens only the host it was made for; what the provider said of a token is believed for
 * `FRESH_MS` and never past the token's end; a revoked user is asked about again at once, also when the question was under
 * way. The provider is asked about one token once at a time, and about few tokens at once.
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
  /** Absent: tokens of platforms open nothing. */
  readonly workloads?: WorkloadCredentials | undefined;
}

export interface ProviderTokenCredentials extends ProgramCredentials {
  /** The token that a principal presented, for `${gateway.access_token}`; undefined for other principals. */
  presentedBy(principal: Principal): ProviderTokens | undefined;
  /** Asks about the principal's token again when that is due. @returns undefined when it is worth nothing any more */
  again(principal: Principal): Promise<Principal | undefined>;
  close(): void;
}

export function createProgramCredentials(deps: ProgramCredentialDeps): ProviderTokenCredentials {
  const presented = new PresentedTokens(deps);
  const workloads = new WeakMap<
    Principal,
    { readonly token: string; readonly route: CompiledRoute; readonly origin: string }
  >();

  const ownToken = (token: string, { host }: Exchange): AuthResult | Promise<AuthResult> => {
    const site = findSite(deps.snapshots.current(), host);
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
      // Our own tokens are told by their prefix and pass beside the provider's.
      if (token.startsWith(EXTERNAL_TOKEN_PREFIX)) return ownToken(token, exchange);
      return route.bearerTokenFormat === "jwt"
        ? workloadToken(token, exchange, route)
        : presented.verify(token, route, exchange.remoteAddress);
    },
    ownBearer(exchange) {
      const own = exchange.header("x-gateway-authorization");
      const authorization = own === undefined ? exchange.header("authorization") : undefined;
      // Most requests without a cookie carry neither.
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
      // A provider that is away ends nothing; the token has its own end.
      return result.reason === "unavailable" ? principal : undefined;
    },
    close: () => presented.close(),
  };
}

/** Other External Tokens were given out for MCP servers, some of them to language models. */
function onlyPrograms(result: AuthResult): AuthResult {
  if (!result.ok) return result;
  const { kind } = result.principal;
  return kind === "service-account" || kind === "programmatic" ? result : refusal("wrong-kind");
}

/** RFC 6750 §2.1: the scheme knows no case. */
function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization ?? "")?.[1];
}
