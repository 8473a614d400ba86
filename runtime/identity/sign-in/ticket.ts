/**
 * What a sign-in carries in addresses: the ticket that takes a browser to the authenticate host and back, and the `state` that
 * takes it to the provider and back. Both are sealed and hold everything that the next step needs, so a browser keeps only a
 * short proof of each sign-in it began (`identity/cookie.ts`), and a sign-in whose proof is gone still knows its way.
 */
import type { Site } from "../sites.ts";
import { callbackPath } from "./choose-provider.ts";
import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { hashSecret, type Keys, randomSecret } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { SessionHandle } from "../cookie.ts";

export interface Ticket {
  readonly signInId: string;
  /** Host that the browser goes back to. */
  readonly host: string;
  /** Path and query on that host. */
  readonly returnTo: string;
  readonly expiresAt: number;
  /** Names of the providers that help there; absent: all. */
  readonly providers?: readonly string[];
  /** An existing session is not enough. */
  readonly isFresh?: true;
  /** Signed in, and sent for tokens that outlive the provider's session. */
  readonly isOffline?: true;
  /** How often this sign-in began again, because the browser could not prove that it began it. */
  readonly restarts?: number;
  /** On the way back: the session that the code stands for. */
  readonly session?: Pick<SessionHandle, "sessionId" | "userId">;
}

/** What the provider sends back unread. */
export interface ProviderStep {
  /** Without `returnTo` where that waits in the store. */
  readonly ticket: Omit<Ticket, "returnTo"> & Partial<Pick<Ticket, "returnTo">>;
  /** The host of sign-in pages that it left from. */
  readonly from: string;
  /** Nonce and PKCE verifier are made from it. */
  readonly secret: string;
  /** The only provider to which a code may go. `name` is absent for the first one. */
  readonly provider: { readonly name?: string; readonly url: string };
  /** Present: the user shows again who they are, and this session continues if it is theirs. */
  readonly fresh?: { readonly sessionId?: string };
  /** Present: the session that goes on, whatever the provider answers (offline-step.ts). */
  readonly offline?: Pick<SessionHandle, "sessionId" | "userId">;
  readonly expiresAt: number;
}

/** `ticket`: to the authenticate host. `return`: back to the route's host. */
export type TicketWay = "ticket" | "return";

export interface SignInTickets {
  seal(ticket: Ticket, way?: TicketWay): string;
  /** @returns undefined when forged or changed; past its end it still says where the user wanted to go */
  open(text: string, way?: TicketWay): Ticket | undefined;
  sealState(step: ProviderStep): string;
  /** @returns undefined when forged or changed; past its end it still says where the user wanted to go */
  openState(text: string): ProviderStep | undefined;
  isOver(sealed: { readonly expiresAt: number }): boolean;
}

export function createTickets(deps: { readonly keys: Keys; readonly clock: Clock }): SignInTickets {
  const sealer = deps.keys.sealer("sign-in-ticket");
  /** "-2": tickets of earlier versions do not say where the user wanted to go. */
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
    isOver: ({ expiresAt }) => expiresAt <= epochSeconds(deps.clock),
  };
}

export function stepSecret(): string {
  return randomSecret();
}

/** The checks of one step (OpenID Connect nonce, RFC 7636 verifier): neither tells the other. */
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
