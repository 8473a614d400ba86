/** Composition of caller identity: sign-in and sign-out, credentials, and the identity sent to upstreams. */
import type { BootSettings } from "./config/compiled.ts";
import type { Snapshot, Snapshots } from "./config/snapshot.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { createSafeFetch } from "./http/fetch/safe-fetch.ts";
import { createOperatorFetch, type OperatorFetch } from "./http/fetch/operator-fetch.ts";
import type { Keys } from "./shared/keys.ts";
import type { Log } from "./shared/log.ts";
import type { Clock, Closable, SignOutResult, TokenRefresh } from "./shared/clock.ts";
import type { UserId } from "./shared/user-id.ts";
import type { Store } from "./store/store.ts";
import { createApplicationTokens } from "./identity/tokens/application-token.ts";
import { loadAssertionKeys } from "./identity/tokens/assertion-keys.ts";
import type { GroupsOmitted } from "./features/headers/upstream-claims.ts";
import { createAssertions } from "./identity/tokens/assertion.ts";
import { createAuthenticator } from "./identity/authenticate.ts";
import { NO_BLOCKS, type Blocks } from "./identity/blocks.ts";
import { currentPrincipal, type CurrentPrincipal } from "./identity/current-principal.ts";
import { createCookies } from "./identity/cookie.ts";
import { createCsrf } from "./identity/csrf.ts";
import { createProofs, type Proofs } from "./identity/dpop/proofs.ts";
import { createExternalTokens, type ExternalTokens } from "./identity/external-token.ts";
import { createIdJags } from "./identity/id-jags.ts";
import { createIdentities } from "./identity/identities.ts";
import { createEntraGroups } from "./identity/provider/entra-groups.ts";
import { createAssertedUsers, type AssertedUsers } from "./identity/users/asserted-users.ts";
import type { IssuerKeys } from "./issuers/issuer-keys.ts";
import { logoutEndpoints } from "./identity/logout/logout.ts";
import { createGroupsResolver } from "./identity/provider/groups-resolver.ts";
import { createDiscovery } from "./identity/provider/idp-discovery.ts";
import { createIdpTokens } from "./identity/provider/idp-tokens.ts";
import { createIdp } from "./identity/provider/idp.ts";
import { createProviderKeys } from "./identity/provider/provider-keys.ts";
import { createWorkloadCredentials } from "./identity/tokens/workload-credentials.ts";
import { createProgramCredentials } from "./identity/tokens/program-credentials.ts";
import { APPROVE_PATH, createProgrammaticLogin, LOGIN_PATH } from "./identity/sign-in/programmatic-login.ts";
import { createDirectories } from "./directories/directories.ts";
import { scimEndpoints } from "./directories/requests.ts";
import {
  assertedUsersWithDirectories,
  identitiesWithDirectories,
  idpTokensWithDirectories,
} from "./directories/with-directories.ts";
import { createRecords, type SessionRecords } from "./identity/identity-records.ts";
import type { Principal } from "./identity/principal.ts";
import { refuseBlockedCallers, refuseBlockedSignIn } from "./identity/refuse-blocked.ts";
import { createRevocations } from "./identity/revocations.ts";
import type {
  ApplicationTokens,
  Assertions,
  Authenticator,
  BrowserSessions,
  Csrf,
  Identities,
  IdJags,
  LastSignIn,
  ProgramCredentials,
  Revocations,
  SignIn,
} from "./identity/interfaces.ts";
import { callbackPath } from "./identity/sign-in/choose-provider.ts";
import { createProviderSignIn } from "./identity/sign-in/sign-in-provider.ts";
import { createSignIn } from "./identity/sign-in/sign-in.ts";
import { task } from "./shared/faults/guard.ts";
import { createOfflineStep } from "./identity/sign-in/offline-step.ts";
import { createSignOut } from "./identity/sign-in/sign-out.ts";
import { createUserEndpoints, type UserSection } from "./identity/users/user-endpoints.ts";
import { createCredentialUse } from "./identity/users/credential-use.ts";

export interface PeopleOptions {
  readonly snapshots: Snapshots;
  readonly store: Store;
  readonly keys: Keys;
  readonly boot: Pick<BootSettings, "development" | "signingKeys">;
  readonly log: Log;
  readonly clock: Clock;
  /** Absent: no user is ever blocked. */
  readonly blocks?: Blocks;
  /** Absent: issuers cannot revoke sessions, and platform tokens are not accepted. */
  readonly issuerKeys?: IssuerKeys;
  /** HTTP client for the identity provider. Default: `createOperatorFetch()`. */
  readonly fetch?: OperatorFetch;
  /** Sections of other parts on the portal. */
  readonly userSections?: readonly UserSection[];
  readonly onRefresh?: (refresh: TokenRefresh) => void;
  /** A sign-out was requested, with its result. */
  readonly onSignOut?: (signOut: SignOutResult) => void;
  /** A signed identity header was issued without the user's groups. */
  readonly onGroupsOmitted?: (why: GroupsOmitted) => void;
  /** A directory revoked a user's sessions and grants. */
  readonly onEndedByDirectory?: (directory: string, userId: UserId) => void;
  /** A provider's metadata was requested. @param problem absent: it responded */
  readonly onProviderAsked?: ((name: string, problem?: string) => void) | undefined;
}

const IDP_TIMEOUT_MS = 10_000;

export interface People extends Closable {
  /** For our own endpoints: a blocked user counts as not signed in. */
  readonly authenticator: Authenticator;
  /** For routes: blocked users are included, since the policy denies them and records their names. */
  readonly callers: Authenticator;
  readonly blocks: Blocks;
  readonly programs: ProgramCredentials;
  readonly current: CurrentPrincipal;
  readonly signIn: SignIn;
  readonly assertions: Assertions;
  readonly applicationTokens: ApplicationTokens;
  readonly externalTokens: ExternalTokens;
  readonly proofs: Proofs;
  readonly revocations: Revocations;
  readonly identities: Identities;
  readonly idJags: IdJags;
  readonly assertedUsers: AssertedUsers;
  readonly csrf: Csrf;
  readonly endpoints: readonly Endpoint[];
  /** For our own pages. */
  readonly browser: BrowserSessions;
  readonly lastSignIn: LastSignIn;
}

/** @throws GatewayError `assertion.signing-key` if `signing_key` cannot be used */
export function createPeople(deps: PeopleOptions): People {
  const { snapshots, store, keys, clock, log, issuerKeys, blocks = NO_BLOCKS } = deps;
  const assertionKeys = loadAssertionKeys(deps.boot.signingKeys, keys);
  const records = createRecords(store);
  const cookies = createCookies({ keys, clock });
  const csrf = createCsrf({ keys });
  const externalTokens = createExternalTokens({ keys, clock });
  const revocations = createRevocations({
    store,
    clock,
    log,
    longestLifetime: () => longestLifetime(snapshots.current()),
    onEnded: (userId) => releaseOffline(userId),
  });
  const fetch = deps.fetch ?? createOperatorFetch({ timeoutMs: IDP_TIMEOUT_MS });
  const discover = createDiscovery({
    development: deps.boot.development,
    clock,
    fetch,
    guarded: createSafeFetch({ development: deps.boot.development }),
    onAsked: deps.onProviderAsked,
  });
  const groups = createGroupsResolver({ entra: createEntraGroups({ fetch, clock }), log });
  const providerKeys = createProviderKeys({ clock });
  const idp = createIdp({ discover, keys: providerKeys, groups, clock });
  const { onRefresh, onSignOut } = deps;
  const common = { store, records, snapshots, revocations, clock, keys, log };
  const recordedIdentities = createIdentities({ ...common, idp, onRefresh });
  const directories = createDirectories({ ...common, onEnded: deps.onEndedByDirectory });
  const identities = identitiesWithDirectories(recordedIdentities, directories.lookup);
  const use = createCredentialUse(common);
  const callers = createAuthenticator({ ...common, identities, externalTokens, cookies, use });
  const authenticator = refuseBlockedCallers(callers, blocks);
  const idpTokens = idpTokensWithDirectories(
    createIdpTokens({ discover, groups, keys: providerKeys, clock }),
    directories.lookup,
  );
  const workloads = issuerKeys && createWorkloadCredentials({ issuerKeys, snapshots, clock, log });
  const programs = createProgramCredentials({ ...common, authenticator: callers, idpTokens, workloads });
  const routeSignIn = createSignIn({ ...common, cookies, identities, blocks });
  const signIn = refuseBlockedSignIn(routeSignIn, authenticator, blocks);
  const offline = createOfflineStep({ ...common, idp });
  // Does not delay the sign-out: the provider may be unavailable.
  const releaseOffline = task("the revocation of a user's offline tokens", (userId: string) => offline.release(userId));
  const provider = createProviderSignIn({
    ...common,
    offline,
    cookies,
    authenticator,
    identities,
    idp,
    blocks,
    signIn: routeSignIn,
  });
  // Blocked users can sign out.
  const signOut = createSignOut({ ...common, identities, cookies, authenticator: callers, idp, csrf, onSignOut });
  const login = createProgrammaticLogin({ authenticator, signIn, externalTokens, csrf, keys, clock });
  const user = createUserEndpoints({
    authenticator,
    signIn,
    csrf,
    clock,
    assertionKeys,
    userSections: deps.userSections ?? [],
  });

  return {
    authenticator,
    callers: {
      ...callers,
      // A program's own presented token first; all other tokens come from the provider.
      providerTokens: (principal) =>
        Promise.resolve(programs.presentedBy(principal) ?? callers.providerTokens(principal)),
    },
    blocks,
    programs,
    current: (principal) => currentPrincipal({ store, records, identities, snapshots, programs, clock }, principal),
    signIn,
    assertions: createAssertions({
      keys: assertionKeys,
      clock,
      claimHeaders: () => snapshots.current().settings.jwtClaimsHeaders,
      onGroupsOmitted: deps.onGroupsOmitted,
    }),
    applicationTokens: createApplicationTokens({ externalTokens, snapshots, clock }),
    externalTokens,
    proofs: createProofs({ keys, clock }),
    revocations,
    identities,
    idJags: createIdJags({ records, identities, snapshots, discover, keys, clock }),
    assertedUsers: assertedUsersWithDirectories(createAssertedUsers(common), directories.lookup),
    csrf,
    endpoints: [
      { methods: ["GET"], path: "/.well-known/gateway/jwks.json", cors: true, handle: user.handleJwks },
      { methods: ["GET"], path: "/.gateway/", handle: user.handlePage },
      { methods: ["GET"], path: "/.gateway/user", handle: user.handleJson },
      { methods: ["GET"], path: "/.gateway/sign_in", handle: provider.handleSignIn },
      { methods: ["GET"], path: callbackPath("*"), handle: provider.handleCallback },
      { methods: ["GET"], path: "/.gateway/return", handle: routeSignIn.handleReturn },
      { methods: ["GET", "POST"], path: "/.gateway/sign_out", handle: signOut.handleSignOut },
      ...(issuerKeys ? logoutEndpoints({ ...common, issuerKeys, onSignOut }) : []),
      ...scimEndpoints({ ...directories.parts, clock, log }),
      { methods: ["GET"], path: LOGIN_PATH, handle: login.handleLogin },
      { methods: ["GET", "POST"], path: APPROVE_PATH, handle: login.handleApprove },
      { methods: ["GET"], path: "/.gateway/signed_out", handle: signOut.handleSignedOut },
    ],
    browser: {
      principal: async (exchange) => authenticator.cookie(exchange),
      requireSignIn: (exchange, snapshot, at) => signIn.redirect(exchange, snapshot, at),
      lacksOffline: (userId) => offline.isMissing(userId),
    },
    lastSignIn: (principal) => lastSignIn(records, principal),
    async close() {
      programs.close();
      await identities.close();
      await revocations.close();
    },
  };
}

async function lastSignIn({ sessions }: SessionRecords, { sessionId }: Principal): Promise<number> {
  const session = sessionId === undefined ? undefined : await sessions.get(sessionId);
  // The session has no authentication time: the provider may not have asked the user at all.
  return session?.value.authenticatedAt ?? 0;
}

/** Maximum lifetime of a cookie or an External Token, in seconds. */
function longestLifetime(snapshot: Snapshot): number {
  const { cookie, lifetimes } = snapshot.settings;
  return Math.max(cookie.expirationSeconds, lifetimes.accessToken, lifetimes.clientRouteToken);
}
