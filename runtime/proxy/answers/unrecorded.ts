/** With `audit_required` no request passes while records cannot be stored. */
import type { RecordWriter } from "../../audit/record-writer.ts";
import { respondAgainLater } from "../../http/respond.ts";
import { routeCorsHeaders } from "../cors.ts";
import type { RequestContext } from "../request-context.ts";
import type { StepOutcome } from "../steps.ts";

export interface RecordingDeps {
  readonly records: RecordWriter;
  readonly auditRequired?: boolean;
}

/** False: records cannot be stored, and no unrecorded request may pass. */
export function canRecord({ auditRequired, records }: RecordingDeps): boolean {
  return auditRequired !== true || records.thread?.canKeep !== false;
}

/** Leaves no record, since it could not be stored. */
export function refuseUnrecorded({ exchange, trace, corsOrigin }: RequestContext): StepOutcome {
  trace?.refused("records-unavailable");
  respondAgainLater(
    exchange,
    { code: "records.unavailable", message: "Requests cannot be recorded at the moment, try again shortly" },
    routeCorsHeaders(corsOrigin),
  );
  return "done";
}
