/**
 * Sign-in on the host of a route: redirects the browser with a ticket, and accepts its return with a one-time code.
 *
 * Untrusted input: the request and the return. Promises: only the browser that started gets a session (proven by a
 * cookie of this host), only once (the code is deleted from the store), and returns only to its original address
 * (sealed in the URL). A browser without that proof cannot use the code and starts again. A session cookie is only ever
 * created from a code that the authenticate host stored.
 */
import type { Snapshot } from "../../config/snapshot.ts";
import { isLoopbackHost } from "../../settings/values.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { ErrorCode, StatusOf } from "../../http/codes.ts";
import type { Exchange } from "../../http/exchange.ts";
import { parseQuery } from "../../shared/http/query.ts";
import { acceptsHtml, redirect, respondAgainLater, respondError, respondHtml } from "../../http/respond.ts";
import { hashSecret, randomSecret, type Keys } from "../../shared/keys.ts";
import { continuePage } from "../../pages/signed-out.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { SIGN_IN_SECONDS, type Cookies } from "../cookie.ts";
import type { Blocks } from "../blocks.ts";
import type { IdentityService } from "../identities.ts";
import type { SessionRecords } from "../identity-records.ts";
import { respondBlocked } from "../refuse-blocked.ts";
import type { Revocations, SignIn, SignInAt } from "../interfaces.ts";
import { findSite, isLocalPath, type Site } from "../sites.ts";
import { createTickets, type Ticket } from "./ticket.ts";

export interface SignInDeps {
  readonly records: SessionRecords;
  readonly cookies: Cookies;
  readonly revocations: Pick<Revocations, "isRevoked">;
  readonly identities: Pick<IdentityService, "find">;
  readonly blocks: Blocks;
  readonly keys: Keys;
  readonly clock: Clock;
}

export interface RouteSignIn extends SignIn {
  /** Starts a sign-in that returns to `returnTo` on this host. */
  start(exchange: Exchange, snapshot: Snapshot, site: Site, returnTo: string, at?: SignInAt): Promise<void>;
  /** `/.gateway/return`: redeems the one-time code, or restarts a sign-in that could not finish. */
  readonly handleReturn: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
}

const MAX_RETURN_CHARACTERS = 2048;
/** After this many restarts the browser probably stores no cookies, or restarting cannot help. */
const MAX_RESTARTS = 2;

export function createSignIn(deps: SignInDeps): RouteSignIn {
  const { records, cookies, clock } = deps;
  const tickets = createTickets(deps);
  const start = async (
    exchange: Exchange,
    snapshot: Snapshot,
    site: Site,
    returnTo: string,
    { providers, isFresh = false, isOffline = false, isSignedIn = isFresh || isOffline }: SignInAt = {},
    restarts = 0,
  ): Promise<void> => {
    const { settings } = snapshot;
    if (settings.providers.length === 0)
      return refuse(exchange, 503, "sign-in.not-configured", "Sign-in is not set up on this gateway.");
    if (!site.secure && !isLoopbackHost(site.hostname)) {
      // Without https, anyone on the network path could read and set cookies.
      return refuse(exchange, 403, "sign-in.insecure", "Signing in requires https on this address.");
    }
    const id = randomSecret(16);
    const expiresAt = epochSeconds(clock) + SIGN_IN_SECONDS;
    const headers = [
      ...cookies.trimPile(exchange, site, settings.cookie),
      "set-cookie",
      cookies.setBegun(site, settings.cookie, "sign_in", id),
    ];
    // Delete an invalid cookie, so that it does not shadow the new one.
    if (!isSignedIn && cookies.readSession(exchange, site, settings.cookie) !== undefined) {
      headers.push("set-cookie", cookies.clearSession(site, settings.cookie));
    }
    const ticket = tickets.seal({
      signInId: id,
      host: site.host,
      returnTo: isReturnPath(returnTo) ? returnTo : "/",
      expiresAt,
      ...(providers && { providers }),
      ...(isFresh && { isFresh }),
      ...(isOffline && { isOffline }),
      ...(restarts > 0 && { restarts }),
    });
    redirect(exchange, 302, `${site.authenticateOrigin}/.gateway/sign_in?ticket=${ticket}`, headers);
  };

  /** The browser cannot finish this sign-in. Start a new one, mostly without user interaction. */
  const restart = (exchange: Exchange, snapshot: Snapshot, site: Site, ticket: Ticket): Promise<void> => {
    const { returnTo, providers, isFresh = false, restarts = 0 } = ticket;
    // A session from another tab stays signed in.
    if (restarts < MAX_RESTARTS)
      return start(exchange, snapshot, site, returnTo, { providers, isFresh, isSignedIn: true }, restarts + 1);
    refuseReturn(exchange, "The sign-in took too long, or the browser rejects cookies.", returnTo);
    return Promise.resolve();
  };

  return {
    start: (exchange, snapshot, site, returnTo, at) =>
      withStore(exchange, () => start(exchange, snapshot, site, returnTo, at)),

    async redirect(exchange, snapshot, at) {
      const site = findSite(snapshot, exchange.host);
      if (!site || !isNavigation(exchange)) {
        return refuse(exchange, 401, "sign-in.required", "Sign in with a browser to use this address.", CHALLENGE);
      }
      await withStore(exchange, () => start(exchange, snapshot, site, exchange.path + exchange.query, at));
    },

    handleReturn: (exchange, snapshot) =>
      withStore(exchange, async () => {
        // 1. Match the sign-in: it must be of this host.
        const query = parseQuery(exchange.query);
        const code = query.ok ? query.values.get("code") : undefined;
        const sealed = query.ok ? query.values.get("to") : undefined;
        const site = findSite(snapshot, exchange.host);
        const ticket = sealed === undefined ? undefined : tickets.open(sealed, "return");
        if (!site || ticket?.host !== site.host) return refuseReturn(exchange, "This address needs a sign-in code.");
        if (code === undefined) return restart(exchange, snapshot, site, ticket);
        // 2. Redeem the code, which works once, and check the proof that this browser started this very sign-in.
        const issued = await records.signInCodes.take(hashSecret(code));
        const { cookie } = snapshot.settings;
        const { signInId, returnTo, session: shown } = ticket;
        const isOurs = issued?.value.signInId === signInId && !tickets.isExpired(ticket);
        if (
          !isOurs ||
          shown?.sessionId !== issued.value.sessionId ||
          !cookies.isBegun(exchange, site, cookie, "sign_in", signInId)
        )
          return restart(exchange, snapshot, site, ticket);
        const { sessionId, userId } = shown;
        // 3. The session, which may have ended since.
        const session = await records.sessions.get(sessionId);
        if (
          !session?.expiresAt ||
          session.value.userId !== userId ||
          deps.revocations.isRevoked([`session:${sessionId}`])
        ) {
          return refuseReturn(exchange, "The session has ended.", returnTo);
        }
        // Looked up only if there are blocks at all.
        const user = deps.blocks.size === 0 ? undefined : await deps.identities.find(session.value.userId);
        if (deps.blocks.find({ user: user ?? { id: session.value.userId, email: "" } }))
          return respondBlocked(exchange);
        const headers = [
          "set-cookie",
          cookies.setSession({ sessionId, userId, expiresAt: session.expiresAt }, site, cookie),
          "set-cookie",
          cookies.clearBegun(site, cookie, "sign_in", signInId),
        ];
        if (cookie.sameSite !== "strict") return redirect(exchange, 302, returnTo, headers);
        // Browsers withhold a strict cookie from redirects that started at the provider, so a page of this host continues.
        respondHtml(exchange, 200, continuePage({ title: "Signed in", href: returnTo }), [
          ...headers,
          "refresh",
          `0;url=${returnTo}`,
        ]);
      }),
  };
}

/** Returns true for a browser that opens a page, as opposed to scripts, images and programs. */
export function isNavigation(exchange: Exchange): boolean {
  if (exchange.method !== "GET" && exchange.method !== "HEAD") return false;
  if (exchange.header("x-requested-with") !== undefined) return false;
  const mode = exchange.header("sec-fetch-mode");
  return mode === undefined ? acceptsHtml(exchange) : mode === "navigate";
}

/** Returns true for a path with query that is a safe return address. */
export function isReturnPath(path: string): boolean {
  return path.length <= MAX_RETURN_CHARACTERS && isLocalPath(path);
}

/** "The server generating a 401 response MUST send a WWW-Authenticate header field" (RFC 9110 §15.5.2). */
export const CHALLENGE: readonly string[] = ["www-authenticate", "Bearer"];

function refuse<Code extends ErrorCode>(
  exchange: Exchange,
  status: StatusOf<Code>,
  code: Code,
  message: string,
  headers: readonly string[] = [],
): void {
  respondError(exchange, status, { code, message }, headers);
}

/** @param returnTo the page that the user requested, on this host */
function refuseReturn(exchange: Exchange, message: string, returnTo?: string): void {
  respondError(exchange, 400, {
    code: "sign-in.return",
    message: `${message} Please open the page again.`,
    ...(returnTo !== undefined && { links: [{ href: returnTo, text: "Sign in again" }] }),
  });
}

/** Responds with 503 if the store is unavailable: a new sign-in would fail as well. */
export async function withStore(exchange: Exchange, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== "store.unavailable") throw error;
    refuseUnavailable(exchange);
  }
}

/** Responds that signing in is temporarily impossible. */
export function refuseUnavailable(exchange: Exchange, headers: readonly string[] = []): void {
  const message = "Signing in is not possible right now. Please try again in a moment.";
  respondAgainLater(exchange, { code: "sign-in.unavailable", message }, headers);
}
