/** Why a text is not accepted as JSON. */
export type ScanReason = "malformed-json" | "duplicate-key" | "too-deep" | "too-many-members";

/** Thrown inside a scan and caught where the scan began. */
export class ScanError extends Error {
  readonly reason: ScanReason;

  constructor(reason: ScanReason) {
    super(reason);
    this.name = "ScanFault";
    this.reason = reason;
  }
}
