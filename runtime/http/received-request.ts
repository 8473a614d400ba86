/** Parts of an exchange that come from the request's head, for both HTTP versions, and state attached to it. */
import type { AddedHeaders } from "../features/headers/apply-added.ts";
import type { Branding } from "../pages/branding.ts";
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

/** The half of an Exchange that is the same for all HTTP versions. */
export abstract class ReceivedRequest {
  readonly id: string = createRequestId();
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly rawHeaders: readonly string[];
  readonly headerTraits: readonly HeaderTraits[];
  readonly hasBody: boolean;
  routedHost: string | undefined = undefined;
  upgrade: UpgradeOffer | undefined = undefined;
  forwardedFor: ForwardedFor | undefined = undefined;
  addedHeaders: AddedHeaders | undefined = undefined;
  supportUrl: string | undefined = undefined;
  branding: Branding | undefined = undefined;
  meantStatus: number | undefined = undefined;
  isBroken = false;
  started = false;
  /** The client whose memory and upstream connections it uses; set before the request begins. */
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

  /** Called for a bug of ours in handling it. */
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

  /** Counts received bytes of its body that were not read yet. @returns false when there is no room for them */
  protected holdUnread(bytes: number): boolean {
    if (!this.#take(bytes - this.#unreadBytes)) return false;
    if (!this.#isGivenBack) this.#unreadBytes = bytes;
    return true;
  }

  /** Counts bytes of its response that the client has not read. @returns false when there is no room for them */
  protected holdUnsent(bytes: number): boolean {
    if (!this.#take(bytes - this.#unsentBytes)) return false;
    if (!this.#isGivenBack) this.#unsentBytes = bytes;
    return true;
  }

  /** The request is over: gives back all held memory. */
  protected giveBack(): void {
    this.#isGivenBack = true;
    this.party?.give(this.#heldBytes + this.#unreadBytes + this.#unsentBytes);
    this.#heldBytes = 0;
    this.#unreadBytes = 0;
    this.#unsentBytes = 0;
  }

  /** Ignores bytes after the end: they would never be given back. */
  #take(more: number): boolean {
    if (more === 0 || this.#isGivenBack || this.party === undefined) return true;
    if (more > 0) return this.party.take(more);
    this.party.give(-more);
    return true;
  }
}
