/** Where each request must be recorded (`audit_required`), none passes while none can be. */
import type { RecordWriter } from "../../audit/record-writer.ts";
import { respondAgainLater } from "../../http/respond.ts";
import { routeCorsHeaders } from "../cors.ts";
import type { RequestContext } from "../request-context.ts";
import type { StepOutcome } from "../steps.ts";

export interface RecordingDeps {
  readonly records: RecordWriter;
  readonly auditRequired?: boolean;
}

/** False: what comes cannot be kept, and nothing may pass that is not. */
export function canRecord({ auditRequired, records }: RecordingDeps): boolean {
  return auditRequired !== true || records.thread?.canKeep !== false;
}

/** Leaves no record, since none would be kept. */
export function refuseUnrecorded({ exchange, trace, corsOrigin }: RequestContext): StepOutcome {
  trace?.refused("records-unavailable");
  respondAgainLater(
    exchange,
    { code: "records.unavailable", message: "Requests cannot be recorded at the moment, try again shortly" },
    routeCorsHeaders(corsOrigin),
  );
  return "done";
}
