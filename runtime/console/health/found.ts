/** A problem, as one process has it. */
import type { HealthProblem } from "../../pages/console/health/health.ts";
import type { ProcessReport } from "../../health/process-report.ts";

/** Without where it is: equal ones of several processes become one. */
export type FoundProblem = Omit<HealthProblem, "where"> & { readonly of?: ProcessReport };
