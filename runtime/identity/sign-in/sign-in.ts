/**
 * Sign-in as the host of a route sees it: send the browser away with a ticket, take it back with a one-time code.
 *
 * Untrusted input: the request, and whatever brings the browser back. Promises: only the browser that left gets a session
 * (it shows the proof of this sign-in, a cookie of this host), only once (the code is taken from the store); it goes only to where
 * it was (sealed in the address). A browser without that proof gets nothing of the code: it begins again, as if it had opened the
 * page itself. A session cookie is never made from anything but a code that the authenticate host stored.
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
  /** Begins a sign-in that ends at `returnTo` on this host. */
  start(exchange: Exchange, snapshot: Snapshot, site: Site, returnTo: string, at?: SignInAt): Promise<void>;
  /** `/.gateway/return`: takes the one-time code, or begins a sign-in again that could not be finished. */
  readonly handleReturn: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
}

const MAX_RETURN_CHARACTERS = 2048;
/** Past it the browser keeps no cookies, or something else cannot be helped by beginning again. */
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
      // Without https a cookie could be read and planted by anybody on the way.
      return refuse(exchange, 403, "sign-in.insecure", "Signing in needs https on this address.");
    }
    const id = randomSecret(16);
    const expiresAt = epochSeconds(clock) + SIGN_IN_SECONDS;
    const headers = [
      ...cookies.trimPile(exchange, site, settings.cookie),
      "set-cookie",
      cookies.setBegun(site, settings.cookie, "sign_in", id),
    ];
    // A cookie that no longer opens anything must not stay behind and shadow the next one.
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

  /** What the browser shows cannot finish this sign-in; a new one may, mostly without another question. */
  const restart = (exchange: Exchange, snapshot: Snapshot, site: Site, ticket: Ticket): Promise<void> => {
    const { returnTo, providers, isFresh = false, restarts = 0 } = ticket;
    // Whose session another tab got meanwhile stays signed in.
    if (restarts < MAX_RESTARTS)
      return start(exchange, snapshot, site, returnTo, { providers, isFresh, isSignedIn: true }, restarts + 1);
    refuseReturn(exchange, "The sign-in took too long, or the browser takes no cookies.", returnTo);
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
        // 1. Which sign-in this is the end of: one of this host.
        const query = parseQuery(exchange.query);
        const code = query.ok ? query.values.get("code") : undefined;
        const sealed = query.ok ? query.values.get("to") : undefined;
        const site = findSite(snapshot, exchange.host);
        const ticket = sealed === undefined ? undefined : tickets.open(sealed, "return");
        if (!site || ticket?.host !== site.host) return refuseReturn(exchange, "This address needs a sign-in code.");
        if (code === undefined) return restart(exchange, snapshot, site, ticket);
        // 2. The code, taken so that nobody has it twice, and the proof that this browser began this very sign-in.
        const issued = await records.signInCodes.take(hashSecret(code));
        const { cookie } = snapshot.settings;
        const { signInId, returnTo, session: shown } = ticket;
        const isOurs = issued?.value.signInId === signInId && !tickets.isOver(ticket);
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
        // Asked only where something is blocked at all.
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
        // A strict cookie is withheld from redirects that began at the provider: let a page of this host go on.
        respondHtml(exchange, 200, continuePage({ title: "Signed in", href: returnTo }), [
          ...headers,
          "refresh",
          `0;url=${returnTo}`,
        ]);
      }),
  };
}

/** True for a person's browser going to a page, as opposed to a script, an image or a program asking. */
export function isNavigation(exchange: Exchange): boolean {
  if (exchange.method !== "GET" && exchange.method !== "HEAD") return false;
  if (exchange.header("x-requested-with") !== undefined) return false;
  const mode = exchange.header("sec-fetch-mode");
  return mode === undefined ? acceptsHtml(exchange) : mode === "navigate";
}

/** A path with query that a person may be led back to. */
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

/** @param returnTo where the user wanted to go, on this host */
function refuseReturn(exchange: Exchange, message: string, returnTo?: string): void {
  respondError(exchange, 400, {
    code: "sign-in.return",
    message: `${message} Please open the page again.`,
    ...(returnTo !== undefined && { links: [{ href: returnTo, text: "Sign in again" }] }),
  });
}

/** Answers 503 when the store is away: a new sign-in cannot be had then, and nothing else is tried. */
export async function withStore(exchange: Exchange, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== "store.unavailable") throw error;
    refuseUnavailable(exchange);
  }
}

/** A new sign-in cannot be had at the moment. */
export function refuseUnavailable(exchange: Exchange, headers: readonly string[] = []): void {
  const message = "Signing in is not possible right now. Please try again in a moment.";
  respondAgainLater(exchange, { code: "sign-in.unavailable", message }, headers);
}
