/** What the authorization server is given: the rest of the gateway, as narrow as it needs it. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import type { Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { CurrentPrincipal } from "../../identity/current-principal.ts";
import type { ExternalTokens } from "../../identity/external-token.ts";
import type { AssertedUsers } from "../../identity/users/asserted-users.ts";
import type { IssuerKeys } from "../../issuers/issuer-keys.ts";
import type { Principal } from "../../identity/principal.ts";
import type { Authenticator, BrowserSessions, Csrf, Identities, Revocations } from "../../identity/interfaces.ts";
import type { Store } from "../../store/store.ts";
import type { FetchDocument } from "./clients/remote-document.ts";

/** The part of session/ that this part asks. */
export interface IssuerSession {
  readonly identities: Identities;
  readonly assertedUsers: AssertedUsers;
  readonly csrf: Csrf;
  readonly revocations: Revocations;
  readonly externalTokens: ExternalTokens;
  /** As routes ask it: who is blocked is found, and refused afterwards. */
  readonly callers: Pick<Authenticator, "bearer">;
  readonly browser: BrowserSessions;
  /** By the records of now. */
  readonly current: CurrentPrincipal;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find">;
}

/** The upstream side, as far as an authorization needs it: first logins connect the upstream too. */
export interface UpstreamStep {
  /**
   * Where the browser connects what is missing for these routes; it comes back to `returnTo`.
   *
   * @param back what stands on a button that leads back without having connected
   * @returns undefined when nothing is missing
   */
  connectUrl(
    principal: Principal,
    routes: readonly CompiledRoute[],
    returnTo: string,
    back: string,
  ): Promise<string | undefined>;
  /** Keys of those whose server did not respond when it was asked whether it needs a token; asked for some seconds at most. */
  unanswered(routes: readonly CompiledRoute[]): Promise<ReadonlySet<string>>;
  /** Whether tokens for these routes would open nothing until the user has connected. */
  mustConnect(userId: string, routes: readonly CompiledRoute[]): Promise<boolean>;
}

export interface IssuerDeps {
  readonly snapshots: Snapshots;
  readonly store: Store;
  readonly session: IssuerSession;
  readonly keys: Keys;
  readonly log: Log;
  readonly clock: Clock;
  /** Absent = no upstream is ever connected. */
  readonly upstream?: UpstreamStep | undefined;
  /** Absent: assertions of issuers are never accepted. */
  readonly issuerKeys?: IssuerKeys | undefined;
  /** Reads documents about clients; while it is absent, URL client ids are off and the metadata says so. */
  readonly fetchClientDocument?: FetchDocument;
}
