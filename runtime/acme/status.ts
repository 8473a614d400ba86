/** Automatic certificates as reports show them. */

/** For `/status` and the console; times are epoch seconds. */
export interface AcmeStatus {
  readonly directory: string;
  /** Hosts for which certificates are requested. */
  readonly hosts: number;
  /** Those without a certificate in use. */
  readonly missing: number;
  /** Hosts above the bounds, which get no certificate. */
  readonly omitted: number;
  readonly paused: { readonly until: number; readonly reason: string } | null;
  /** The first ones. */
  readonly failing: readonly AcmeFailing[];
}

export interface AcmeFailing {
  readonly host: string;
  readonly reason: string;
  readonly failures: number;
  readonly next_at: number;
  /** Expiry of the certificate in use; absent: there is none. */
  readonly ends?: number;
}
