/**
 * What traffic does and what it learns, by kind of operation: the words in which traffic (`traffic/`) tells checks (`checks/`) what
 * happened. Tokens, codes and ids of sessions never stand here themselves, but by their `mark` (history.ts), which is equal for equal
 * values.
 *
 * Each kind has `begin` (known before it is sent) and `end` (known from the answer; absent where none came).
 */

/** A thing that can be redeemed once. */
export type Redeemable = "code" | "refresh-token" | "assertion" | "approval";

/** What an administrator or user takes away. */
export type Right = "session" | "grant" | "user";

/** What is looked for at the end on every replica, whether it should be there or not. */
export type Kept = "session" | "grant" | "consent" | "connection" | "publish" | "block";

/** By what a request is let in: all that could be taken away from it. */
export interface Credential {
  readonly user?: string;
  readonly session?: string;
  readonly grant?: string;
  readonly client?: string;
}

/** Of requests whose records cannot be told from those of others. */
export const UNTAGGED = "";

export interface Operations {
  /** One request to a route, a tool call included; its record shows its `tag`, see `tagOf`. */
  request: {
    begin: Credential & { readonly tag: string; readonly route: string; readonly how: "page" | "tool" };
    end: { readonly status: number; readonly bundle?: number };
  };
  /** A stream or WebSocket that is held open; it ends when its last byte has come. */
  stream: {
    begin: Credential & { readonly tag: string; readonly route: string; readonly how: "sse" | "websocket" };
    end: { readonly status: number; readonly lastByteAt?: number };
  };
  "sign-in": {
    begin: { readonly user: string };
    end: { readonly session: string };
  };
  /** Of one session, at the gateway. */
  "sign-out": { begin: { readonly session: string; readonly user: string }; end: object };
  /** The user's "yes" for a client; a code follows. */
  consent: {
    begin: { readonly user: string; readonly client: string };
    end: { readonly code?: string };
  };
  /** A client asks for what can be had once. `value` is its mark, of an approval the call's `key`; `made` the mark of the new refresh token. */
  redeem: {
    begin: {
      readonly what: Redeemable;
      readonly value: string;
      readonly user?: string;
      readonly client?: string;
      readonly grant?: string;
    };
    end: {
      readonly status: number;
      readonly made?: string;
      readonly grant?: string;
      readonly error?: string;
    };
  };
  /**
   * Taken away by a user's page, a client (RFC 7009), or an administrator's command. `target` names a session or grant, or all of
   * a user's. With `withdraws` the remembered consent goes too: "<user> <client>".
   */
  revoke: {
    begin: { readonly right: Right; readonly target: string; readonly withdraws?: string };
    end: object;
  };
  block: { begin: { readonly user: string }; end: object };
  unblock: { begin: { readonly user: string }; end: object };
  connect: { begin: { readonly user: string; readonly route: string }; end: object };
  disconnect: { begin: { readonly user: string; readonly route: string }; end: object };
  /** A person's yes to the one call with this `key` among its arguments. */
  approve: { begin: { readonly key: string; readonly by: string }; end: object };
  /** A bundle whose routes answer with its `number`; `owner` is whose slice it is. */
  publish: {
    begin: { readonly owner: string; readonly number: number };
    end: { readonly generation?: number; readonly status: number };
  };
  /**
   * One look at the end, on one replica: whether it is there. `id` is the name of a session or grant, a blocked user, an owner, or
   * "<user> <client>", "<user> <route>". Of a slice `bundle` is the number that is served.
   */
  look: {
    begin: { readonly what: Kept; readonly id: string };
    end: { readonly found: boolean; readonly bundle?: number };
  };
}

export type Kind = keyof Operations;

/**
 * - `ok`: done, the answer says so.
 * - `refused`: the answer says that nothing was done.
 * - `unknown`: no answer, or one that says neither (a 5xx): done or not.
 */
export type Outcome = "ok" | "refused" | "unknown";

/** What happened, once. Times are milliseconds since the soak began, of one clock. */
export type Operation<K extends Kind = Kind> = {
  [P in K]: {
    readonly id: number;
    readonly kind: P;
    /** Who did it, "browser-2". */
    readonly actor: string;
    /** The replica that was asked; absent where a balancer chose. */
    readonly replica?: string;
    readonly began: number;
    /** Infinity while it is open, and where it never ended. */
    readonly ended: number;
    readonly outcome: Outcome;
    readonly facts: Operations[P]["begin"] & Partial<Operations[P]["end"]>;
  };
}[K];
