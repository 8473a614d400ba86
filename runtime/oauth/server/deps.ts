/** Dependencies of the authorization server on the rest of the gateway, as narrow as possible. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import type { Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { CurrentPrincipal } from "../../identity/current-principal.ts";
import type { Proofs } from "../../identity/dpop/proofs.ts";
import type { ExternalTokens } from "../../identity/external-token.ts";
import type { AssertedUsers } from "../../identity/users/asserted-users.ts";
import type { IssuerKeys } from "../../issuers/issuer-keys.ts";
import type { Principal } from "../../identity/principal.ts";
import type { KnownTools } from "../../policy/mcp/tool-names.ts";
import type { Authenticator, BrowserSessions, Csrf, Identities, Revocations } from "../../identity/interfaces.ts";
import type { Store } from "../../store/store.ts";
import type { AgentRun } from "./runs/runs.ts";
import type { FetchDocument } from "./clients/remote-document.ts";

/** The used part of identity/. */
export interface IssuerSession {
  readonly identities: Identities;
  readonly assertedUsers: AssertedUsers;
  readonly csrf: Csrf;
  readonly revocations: Revocations;
  readonly externalTokens: ExternalTokens;
  readonly proofs: Proofs;
  /** Finds blocked callers as well, like on routes: they are denied afterwards. */
  readonly callers: Pick<Authenticator, "bearer">;
  readonly browser: BrowserSessions;
  /** Checks against the current records. */
  readonly current: CurrentPrincipal;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find">;
}

/** The upstream side, as far as an authorization needs it: first sign-ins also connect the upstream. */
export interface UpstreamStep {
  /**
   * URL where a browser connects the missing upstreams of these routes, and then returns to `returnTo`.
   *
   * @param back text of a button that leads back without connecting
   * @returns undefined if nothing is missing
   */
  connectUrl(
    principal: Principal,
    routes: readonly CompiledRoute[],
    returnTo: string,
    back: string,
  ): Promise<string | undefined>;
  /** Keys of routes whose server did not respond to a probe for its need of a token. Takes some seconds at most. */
  unanswered(routes: readonly CompiledRoute[]): Promise<ReadonlySet<string>>;
  /** Returns true if tokens for these routes are useless until the user has connected. */
  mustConnect(userId: string, routes: readonly CompiledRoute[]): Promise<boolean>;
}

export interface RunEvents {
  /** @param page address of the page where the user decides */
  onPending(run: AgentRun, page: string): void;
  onDecided(run: AgentRun): void;
}

export interface IssuerDeps {
  readonly snapshots: Snapshots;
  readonly store: Store;
  readonly session: IssuerSession;
  readonly keys: Keys;
  readonly log: Log;
  readonly clock: Clock;
  /** Known tool names of a server, for the consent page. */
  readonly knownTools?: ((route: CompiledRoute, userId: string) => KnownTools) | undefined;
  /** Absent: no upstream is ever connected. */
  readonly upstream?: UpstreamStep | undefined;
  /** Absent: assertions of issuers are never accepted. */
  readonly issuerKeys?: IssuerKeys | undefined;
  /** Reports agent runs to administrators. */
  readonly runEvents?: RunEvents | undefined;
  /** Reads documents about clients. Absent: URL client ids are off, and the metadata says so. */
  readonly fetchClientDocument?: FetchDocument;
}
