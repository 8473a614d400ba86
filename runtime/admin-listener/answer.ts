/** Requests to the admin listener and answers from it, apart from sockets. */
import type { IncomingHttpHeaders } from "node:http";

import type { WorkloadRight } from "./publish-workloads.ts";

export interface AdminRequest {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  /** Without its "?"; absent where there is none. */
  readonly query?: string;
  readonly headers: IncomingHttpHeaders;
  /** Of the token; undefined: the operator's, who may do everything. */
  readonly scope: PublishScope | undefined;
  /** SHA-256 (base64url) of the token, which the boot file has; undefined: it was minted for minutes. */
  readonly token: string | undefined;
  /** Present: of a job with its platform's token. */
  readonly rights?: readonly WorkloadRight[] | undefined;
  /**
   * The whole body; undefined when it is longer.
   *
   * @throws TokenRefused when the token is not good any more by the time that it is there
   * @throws Error when the sender went away
   */
  readBody(maxBytes: number): Promise<Buffer | undefined>;
}

/** Nothing is done for a token that ended while the body was on its way, for which its sender may take a minute. */
export class TokenRefused extends Error {
  readonly refusal: TokenRefusal;

  constructor(refusal: TokenRefusal) {
    super("the token is not good any more");
    this.refusal = refusal;
  }
}

export interface AdminReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Paths below the admin listener that a part answers by itself; asked only with the token. */
export interface AdminEndpoint {
  handles(path: string): boolean;
  /** Also when asked by a name that is not ours; for what nobody opens in a browser. */
  readonly anyHost?: boolean;
  /** Also for tokens of owners: it keeps to `scope` of the request. */
  readonly forOwners?: boolean;
  /** Also for jobs with the token of their platform: it keeps to `rights` of the request. */
  readonly forWorkloads?: boolean;
  answer(request: AdminRequest): Promise<AdminReply>;
}

export function json(status: number, value: object, headers: Readonly<Record<string, string>> = {}): AdminReply {
  return { status, type: "application/json", body: `${JSON.stringify(value)}\n`, headers };
}

/** "unavailable": the store is down, which knows the tokens that were minted. */
export type TokenRefusal = "no-token-set" | "missing" | "wrong" | "unavailable";

export interface PublishScope {
  /** As `owners` of the boot file has it. */
  readonly entry: string;
  covers(owner: string): boolean;
}
