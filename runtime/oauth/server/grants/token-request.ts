/** Input of the grant types: an authenticated token request, and its dependencies. */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { IssuerKeys } from "../../../issuers/issuer-keys.ts";
import type { LeasedRefreshes } from "../../../shared/leased-refresh.ts";
import type { FailureLimit } from "../../../shared/rate-limit.ts";
import type { StepResult } from "../answer.ts";
import type { ClientKeys } from "../clients/client-keys.ts";
import type { Client, ClientDeps } from "../clients/client.ts";
import type { IssuerSession, UpstreamStep } from "../deps.ts";
import type { Issuer } from "../find-issuer.ts";
import type { Runs } from "../runs/runs.ts";
import type { GrantDeps } from "./grants.ts";
import type { TokenAnswer } from "./refresh-token.ts";

export interface TokenDeps extends GrantDeps {
  readonly clients: ClientDeps;
  readonly clientKeys: ClientKeys;
  readonly failedProofs: FailureLimit;
  readonly runs: Runs;
  readonly session: IssuerSession;
  /** Absent: assertions of issuers are never accepted. */
  readonly issuerKeys?: IssuerKeys | undefined;
  readonly upstream?: UpstreamStep | undefined;
  /** By token hash and resource. */
  readonly refreshes: LeasedRefreshes<StepResult<TokenAnswer>>;
}

/** An authenticated token request. */
export interface TokenRequest {
  readonly issuer: Issuer;
  readonly client: Client;
  /** Without empty values. */
  readonly form: ReadonlyMap<string, string>;
  readonly snapshot: Snapshot;
  /** The key of the request's DPoP proof: new tokens are bound to it. SHA-256, RFC 7638. */
  readonly keyThumbprint: string | undefined;
  /** Address of the sender. */
  readonly peer: string;
  /** Epoch seconds. */
  readonly now: number;
  /** Epoch milliseconds of the arrival, before the body was read. */
  readonly arrivedMs: number;
}
