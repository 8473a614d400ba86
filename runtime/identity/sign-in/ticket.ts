/**
 * Sealed state of a sign-in in URLs: the ticket, for the way to the authenticate host and back, and the `state`, for
 * the way to the provider and back.
 *
 * Both contain everything that the next step needs. The browser stores only a short proof per sign-in
 * (`identity/cookie.ts`), and a sign-in without its proof still knows its return address.
 */
import type { Site } from "../sites.ts";
import { callbackPath } from "./choose-provider.ts";
import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { hashSecret, type Keys, randomSecret } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { SessionHandle } from "../cookie.ts";

export interface Ticket {
  readonly signInId: string;
  /** Host to which the browser returns. */
  readonly host: string;
  /** Path and query on that host. */
  readonly returnTo: string;
  readonly expiresAt: number;
  /** Names of acceptable providers; absent: all. */
  readonly providers?: readonly string[];
  /** An existing session is not enough. */
  readonly isFresh?: true;
  /** The user is signed in, and tokens that outlive the provider's session are requested. */
  readonly isOffline?: true;
  /** Number of restarts because the browser could not prove that it started the sign-in. */
  readonly restarts?: number;
  /** On the return: the session of the code. */
  readonly session?: Pick<SessionHandle, "sessionId" | "userId">;
}

/** Content of `state`, which the provider returns unread. */
export interface ProviderStep {
  /** Without `returnTo` if that is in the store. */
  readonly ticket: Omit<Ticket, "returnTo"> & Partial<Pick<Ticket, "returnTo">>;
  /** The host of sign-in pages where it started. */
  readonly from: string;
  /** Nonce and PKCE verifier are derived from it. */
  readonly secret: string;
  /** The only provider that may receive the code. `name` is absent for the first one. */
  readonly provider: { readonly name?: string; readonly url: string };
  /** Present: the user authenticates again, and this session continues if it is theirs. */
  readonly fresh?: { readonly sessionId?: string };
  /** Present: the session that continues whatever the provider responds (offline-step.ts). */
  readonly offline?: Pick<SessionHandle, "sessionId" | "userId">;
  readonly expiresAt: number;
}

/** `ticket`: to the authenticate host. `return`: back to the route's host. */
export type TicketWay = "ticket" | "return";

export interface SignInTickets {
  seal(ticket: Ticket, way?: TicketWay): string;
  /** @returns undefined if forged or changed; an expired ticket still contains the return address */
  open(text: string, way?: TicketWay): Ticket | undefined;
  sealState(step: ProviderStep): string;
  /** @returns undefined if forged or changed; an expired state still contains the return address */
  openState(text: string): ProviderStep | undefined;
  isExpired(sealed: { readonly expiresAt: number }): boolean;
}

export function createTickets(deps: { readonly keys: Keys; readonly clock: Clock }): SignInTickets {
  const sealer = deps.keys.sealer("sign-in-ticket");
  /** "-2": tickets of earlier versions have no return address. */
  const context = (way: TicketWay | "state"): string => `${way}-2`;
  const open = (text: string, way: TicketWay | "state"): unknown => {
    const bytes = sealer.open(text, context(way));
    return bytes && JSON.parse(bytes.toString());
  };
  return {
    seal: (ticket, way = "ticket") => sealer.seal(JSON.stringify(ticket), context(way)),
    open: (text, way = "ticket") => open(text, way) as Ticket | undefined,
    sealState: (step) => sealer.seal(JSON.stringify(step), context("state")),
    openState: (text) => open(text, "state") as ProviderStep | undefined,
    isExpired: ({ expiresAt }) => expiresAt <= epochSeconds(deps.clock),
  };
}

export function stepSecret(): string {
  return randomSecret();
}

/** Checks of one step (OpenID Connect nonce, RFC 7636 verifier). Neither can be derived from the other. */
export function checksOf({ secret }: Pick<ProviderStep, "secret">): {
  readonly nonce: string;
  readonly codeVerifier: string;
} {
  return { nonce: hashSecret(`nonce ${secret}`), codeVerifier: hashSecret(`verifier ${secret}`) };
}

export function startedAt({ issuerName: name, providerUrl: url }: IdpSettings): ProviderStep["provider"] {
  return { ...(name === undefined ? {} : { name }), url };
}

export function isSameProvider(started: ProviderStep["provider"], { issuerName, providerUrl }: IdpSettings): boolean {
  return started.name === issuerName && started.url === providerUrl;
}

export function redirectUri(site: Site, { issuerName }: IdpSettings): string {
  return site.origin + callbackPath(issuerName);
}
