/** Requests to the admin listener and their responses, without sockets. */
import type { IncomingHttpHeaders } from "node:http";

import { ADMIN_ERROR_DOCS } from "../config/surfaces/documentation-pages.ts";
import type { WorkloadRight } from "./publish-workloads.ts";

export interface AdminRequest {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  /** Without its "?"; absent if there is none. */
  readonly query?: string;
  readonly headers: IncomingHttpHeaders;
  /** Name of the caller for records, see `AdminCaller`. */
  readonly caller: string;
  /** Scope of the token; undefined: the operator's, which has all permissions. */
  readonly scope: PublishScope | undefined;
  /** SHA-256 (base64url) of a token in the main configuration file; undefined: it was issued for minutes. */
  readonly token: string | undefined;
  /** Present for a job with its platform's token. */
  readonly rights?: readonly WorkloadRight[] | undefined;
  /**
   * The whole body; undefined when it is longer.
   *
   * @throws TokenRefused when the token is no longer valid by the time the body has arrived
   * @throws Error when the sender disconnected
   */
  readBody(maxBytes: number): Promise<Buffer | undefined>;
}

/** The token ended while the body was arriving, which may take a minute: nothing is done for it. */
export class TokenRefused extends Error {
  readonly refusal: TokenRefusal;

  constructor(refusal: TokenRefusal) {
    super("the token is no longer valid");
    this.refusal = refusal;
  }
}

export interface AdminReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Paths below the admin listener that a part serves itself; called only with the token. */
export interface AdminEndpoint {
  handles(path: string): boolean;
  /** Also under a host name that is not ours; for paths that are never opened in a browser. */
  readonly anyHost?: boolean;
  /** Also open to owners' tokens: the endpoint must respect the request's `scope`. */
  readonly forOwners?: boolean;
  /** Also open to jobs with a platform's token: the endpoint must respect the request's `rights`. */
  readonly forWorkloads?: boolean;
  answer(request: AdminRequest): Promise<AdminReply>;
}

/** Errors also say where their codes are documented. */
export function json(status: number, value: object, headers: Readonly<Record<string, string>> = {}): AdminReply {
  const body = status >= 400 && "error" in value ? { ...value, docs: ADMIN_ERROR_DOCS } : value;
  return { status, type: "application/json", body: `${JSON.stringify(body)}\n`, headers };
}

/** "unavailable": the store, which has the issued tokens, is down. */
export type TokenRefusal = "no-token-set" | "missing" | "wrong" | "unavailable";

export interface PublishScope {
  /** Entry of `owners` in the main configuration file. */
  readonly entry: string;
  covers(owner: string): boolean;
}
