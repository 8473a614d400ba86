/** Assembles the parts of approvals. */
import type { Endpoint } from "../http/endpoint.ts";
import type { BrowserSessions, Csrf } from "../identity/interfaces.ts";
import type { UserSection } from "../identity/users/user-endpoints.ts";
import { approvalEndpoints, approvalSection } from "./approval-page.ts";
import { createApprovals, type ApprovalDeps } from "./approvals.ts";
import { APPROVAL_EVENTS, type ApprovalEvent, type Approvals } from "./interfaces.ts";

export interface ApprovalModule {
  readonly approvals: Approvals;
  readonly endpoints: readonly Endpoint[];
  readonly userSection: UserSection;
  /** Number of each event. */
  readonly counts: ReadonlyMap<ApprovalEvent, number>;
}

export interface ApprovalModuleDeps extends Omit<ApprovalDeps, "revocations" | "onEvent"> {
  readonly session: Pick<ApprovalDeps, "revocations"> & { readonly browser: BrowserSessions; readonly csrf: Csrf };
}

export function createApprovalModule(deps: ApprovalModuleDeps): ApprovalModule {
  const { session } = deps;
  const counts = new Map<ApprovalEvent, number>(APPROVAL_EVENTS.map((event) => [event, 0]));
  const onEvent = (event: ApprovalEvent): void => void counts.set(event, (counts.get(event) ?? 0) + 1);
  const approvals = createApprovals({ ...deps, revocations: session.revocations, onEvent });
  return {
    counts,
    approvals,
    endpoints: approvalEndpoints({ approvals, browser: session.browser, csrf: session.csrf }),
    userSection: approvalSection({ approvals }),
  };
}
