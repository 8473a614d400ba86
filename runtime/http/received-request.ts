/** What an exchange knows of its request by the head, whichever way it came, and what is noted beside it. */
import type { AddedHeaders } from "../features/headers/apply-added.ts";
import { allHeaders, findKnownHeader } from "../shared/http/header-lookup.ts";
import type { HeaderTraits } from "../shared/http/header-traits.ts";
import { createRequestId } from "../shared/http/request-id.ts";
import type { Party } from "./admission/parties.ts";
import { endBroken } from "./end-broken.ts";
import type { Exchange, UpgradeOffer } from "./exchange.ts";
import type { ForwardedFor } from "./listener/forwarded-for.ts";

/** Canonical, as in an Exchange. */
export interface RequestTarget {
  readonly path: string;
  readonly query: string;
  readonly host: string;
}

/** The half of an Exchange that is the same for all. */
export abstract class ReceivedRequest {
  readonly id: string = createRequestId();
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly rawHeaders: readonly string[];
  readonly headerTraits: readonly HeaderTraits[];
  readonly hasBody: boolean;
  upgrade: UpgradeOffer | undefined = undefined;
  forwardedFor: ForwardedFor | undefined = undefined;
  addedHeaders: AddedHeaders | undefined = undefined;
  supportUrl: string | undefined = undefined;
  meantStatus: number | undefined = undefined;
  isBroken = false;
  started = false;
  /** Whose memory and upstream connections it takes; set before the request begins. */
  party: Party | undefined = undefined;
  #heldBytes = 0;
  #unreadBytes = 0;
  #unsentBytes = 0;
  #isGivenBack = false;

  /** @param headerTraits of each name, in their order */
  constructor(
    method: string,
    { path, query, host }: RequestTarget,
    rawHeaders: readonly string[],
    headerTraits: readonly HeaderTraits[],
    hasBody: boolean,
  ) {
    this.method = method;
    this.path = path;
    this.query = query;
    this.host = host;
    this.rawHeaders = rawHeaders;
    this.headerTraits = headerTraits;
    this.hasBody = hasBody;
  }

  /** A mistake of ours in handling it. */
  broke(error: unknown): void {
    endBroken(this as unknown as Exchange, error);
  }

  takeBack(): boolean {
    return false;
  }

  header(lowerName: string): string | undefined {
    return findKnownHeader(this.rawHeaders, this.headerTraits, lowerName);
  }

  headerValues(lowerName: string): readonly string[] {
    return allHeaders(this.rawHeaders, lowerName);
  }

  hold(bytes: number): boolean {
    if (!this.#take(bytes)) return false;
    if (!this.#isGivenBack) this.#heldBytes += bytes;
    return true;
  }

  /** Counts what has come of its body and was not read yet. @returns false when there is no room for it */
  protected holdUnread(bytes: number): boolean {
    if (!this.#take(bytes - this.#unreadBytes)) return false;
    if (!this.#isGivenBack) this.#unreadBytes = bytes;
    return true;
  }

  /** Counts what of its answer the client has not taken. @returns false when there is no room for it */
  protected holdUnsent(bytes: number): boolean {
    if (!this.#take(bytes - this.#unsentBytes)) return false;
    if (!this.#isGivenBack) this.#unsentBytes = bytes;
    return true;
  }

  /** The request is over: nothing is held for it any longer. */
  protected giveBack(): void {
    this.#isGivenBack = true;
    this.party?.give(this.#heldBytes + this.#unreadBytes + this.#unsentBytes);
    this.#heldBytes = 0;
    this.#unreadBytes = 0;
    this.#unsentBytes = 0;
  }

  /** What comes behind its end would never be given back. */
  #take(more: number): boolean {
    if (more === 0 || this.#isGivenBack || this.party === undefined) return true;
    if (more > 0) return this.party.take(more);
    this.party.give(-more);
    return true;
  }
}
