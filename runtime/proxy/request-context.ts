/** One request on its way through the proxy: what each step has found out for the next ones. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot, Snapshots } from "../config/snapshot.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Keys } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import type { Decision, Facts } from "../policy/facts.ts";
import type { RecordWriter } from "../audit/record-writer.ts";
import type { Clock } from "../shared/clock.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { AuthFailureReason, Principal } from "../identity/principal.ts";
import type {
  ApplicationTokens,
  Assertions,
  Authenticator,
  DeviceProofs,
  ProgramCredentials,
  ProviderTokens,
  Revocations,
  SignIn,
} from "../identity/interfaces.ts";
import type { RequestTrace, Tracing } from "../tracing/tracing.ts";
import type { OpenedAddress } from "./announced-address.ts";
import type { InternalToken, UpstreamTokens } from "./internal-token.ts";
import type { RoutePlan } from "./prepared-route.ts";

export interface ProxyDeps {
  readonly snapshots: Snapshots;
  /** Own addresses of all modules. */
  readonly endpoints: readonly Endpoint[];
  readonly authenticator: Authenticator;
  readonly signIn: SignIn;
  /** Absent = nobody is led to prove a device. */
  readonly deviceProofs?: DeviceProofs;
  /** Absent = programs have no way into ordinary routes. */
  readonly programs?: ProgramCredentials;
  /** Who a principal is by now, for answers that stay open; absent = they are not asked about. */
  readonly current?: (principal: Principal) => Promise<Principal | undefined>;
  readonly assertions: Assertions;
  readonly applicationTokens: ApplicationTokens;
  readonly revocations: Revocations;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Blocks;
  readonly records: RecordWriter;
  /** For the seals around upstream session ids. */
  readonly keys: Keys;
  /** Value of WWW-Authenticate for a request without a good token; `origin` is the route's. */
  readonly challenge: (
    route: CompiledRoute,
    origin: string,
    failure: AuthFailureReason | "not-connected",
    requestPath: string | undefined,
  ) => string;
  /** Internal Tokens for MCP server routes; absent = none are ever sent. */
  readonly upstream?: UpstreamTokens | undefined;
  /** See `RequestHeaderDeps`. */
  readonly trustedProxyHeaders?: ReadonlySet<string> | undefined;
  /** Routes answer 495 to clients without a valid certificate (`downstream_mtls`). */
  readonly requiresClientCertificate?: boolean;
  readonly metrics?: ProxyMetrics;
  /** Absent: requests belong to no trace of ours. */
  readonly tracing?: Tracing | undefined;
  readonly log: Log;
  readonly clock: Clock;
}

/** What the proxy tells about its work; all calls are synchronous and must not throw. */
export interface ProxyMetrics {
  /** @param status 0 when the client went away or the connection was cut before an answer was complete */
  answered(route: CompiledRoute, status: number, durationMs: number): void;
  /** An upstream gave no answer, or half of one. @param failure one of few, ours */
  upstreamFailed(route: CompiledRoute, failure: string): void;
  /** Answers held open: event streams and bodies of unknown end. */
  openStreams(count: number): void;
  /** One check, as recorded; also of requests that were refused before their policy was asked. */
  decided(decision: Decision): void;
  /** Refused before there was a route. @param reason one of few, ours */
  refused(reason: string): void;
}

export interface Passage {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly plan: RoutePlan;
  /** The path as servers read it that cut parameters off; undefined where both are the same. */
  readonly otherPath: string | undefined;
  /** Undefined on routes that let anonymous requests pass. */
  principal: Principal | undefined;
  /** Set when the policy was asked. */
  facts: Facts | undefined;
  providerTokens: ProviderTokens;
  /** Set on the way upstream where the route rewrites paths; judged. */
  rewrittenPath: string | undefined;
  /** MCP server routes: where below `to` the request goes, see mcp-paths.ts. */
  mcpPath: string | undefined;
  /** MCP server routes: the request came to a sealed address; it goes there and nowhere else. */
  messageAddress: OpenedAddress | undefined;
  /** MCP server routes: the inspected message; the only body that may go upstream there. */
  message: Buffer | undefined;
  /** MCP server routes: the upstream's own session id, opened. */
  upstreamSession: string | undefined;
  /** MCP server routes: the user's token for the upstream. */
  internalToken: InternalToken | undefined;
  /** The request came through a gateway before: its mark, brought forward. */
  passes: string | undefined;
  /** MCP server routes: Origin of a page that may call; its answers carry CORS headers. */
  corsOrigin: string | undefined;
  /** Present with `tracing`. */
  readonly trace: RequestTrace | undefined;
}

const NO_PROVIDER_TOKENS: ProviderTokens = { accessToken: "", idToken: "" };

export function beginPassage(
  exchange: Exchange,
  snapshot: Snapshot,
  plan: RoutePlan,
  trace: RequestTrace | undefined,
  otherPath?: string,
): Passage {
  return {
    exchange,
    snapshot,
    plan,
    otherPath,
    principal: undefined,
    facts: undefined,
    providerTokens: NO_PROVIDER_TOKENS,
    rewrittenPath: undefined,
    mcpPath: undefined,
    messageAddress: undefined,
    message: undefined,
    upstreamSession: undefined,
    internalToken: undefined,
    passes: undefined,
    corsOrigin: undefined,
    trace,
  };
}
