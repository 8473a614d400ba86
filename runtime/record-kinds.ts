/** All kinds of stored records with their formats. Every command that opens a store uses this list. */
import { ACME_FORMATS } from "./acme/records.ts";
import { APPROVAL_FORMATS } from "./approvals/approval-records.ts";
import { AUDIT_FORMATS } from "./records/heads.ts";
import { SAVED_VIEW_FORMATS } from "./administration/saved-views.ts";
import { DRAFT_FORMATS } from "./simulation/draft-records.ts";
import { SECRET_FORMATS } from "./bundle/secret-use.ts";
import { HEALTH_FORMATS } from "./health/tiers.ts";
import { MINTED_FORMATS } from "./admin-listener/minted-tokens.ts";
import { API_ANSWER_FORMATS } from "./admin-listener/objects/idempotency.ts";
import { MCP_ANSWER_FORMATS } from "./mcp/federation/answer-records.ts";
import { DRIFT_FORMATS } from "./mcp/tool-locks/shared-drift.ts";
import { ISSUER_FORMATS } from "./oauth/server/grant-records.ts";
import { RUN_FORMATS } from "./oauth/server/runs/run-records.ts";
import { DIRECTORY_FORMATS } from "./directories/records.ts";
import { SESSION_FORMATS } from "./identity/identity-records.ts";
import type { RecordFormats } from "./store/formats.ts";
import { withFormats } from "./store/formats.ts";
import { openStore, type StoreDeps } from "./store/open.ts";
import type { Store } from "./store/store.ts";
import { WEBHOOK_FORMATS } from "./webhook/event-records.ts";
import { UPSTREAM_FORMATS } from "./oauth/client/connection-records.ts";

export const recordFormats: RecordFormats = {
  ...APPROVAL_FORMATS,
  ...SESSION_FORMATS,
  ...DIRECTORY_FORMATS,
  ...ISSUER_FORMATS,
  ...RUN_FORMATS,
  ...UPSTREAM_FORMATS,
  ...MINTED_FORMATS,
  ...API_ANSWER_FORMATS,
  ...DRIFT_FORMATS,
  ...MCP_ANSWER_FORMATS,
  ...WEBHOOK_FORMATS,
  ...AUDIT_FORMATS,
  ...DRAFT_FORMATS,
  ...SAVED_VIEW_FORMATS,
  ...HEALTH_FORMATS,
  ...SECRET_FORMATS,
  ...ACME_FORMATS,
};

/** @throws GatewayError like `openStore` */
export async function openRecords(url: string, deps: StoreDeps): Promise<Store> {
  return withFormats(await openStore(url, deps), recordFormats);
}
