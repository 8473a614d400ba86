/** Why a certificate was not issued, and how much else is affected. */

/** "directory": no certificate can be had now. "host": only this one. */
export type FailureScope = "directory" | "host";

export interface FailureDetail {
  readonly scope: FailureScope;
  /** The authority's own request to wait. */
  readonly retryAfterMs?: number | undefined;
  /** Last part of the problem type of RFC 8555 §6.7, such as "rateLimited". */
  readonly type?: string | undefined;
}

export class AcmeFailure extends Error implements FailureDetail {
  override readonly name = "AcmeFailure";
  readonly scope: FailureScope;
  readonly retryAfterMs: number | undefined;
  readonly type: string | undefined;

  constructor(message: string, { scope, retryAfterMs, type, cause }: FailureDetail & { readonly cause?: unknown }) {
    super(message, { cause });
    this.scope = scope;
    this.retryAfterMs = retryAfterMs;
    this.type = type;
  }
}
