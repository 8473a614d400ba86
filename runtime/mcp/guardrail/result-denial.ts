/** The response to a call whose result must not pass. */
import { ACCESS_DENIED_CODE, errorBody } from "../refuse.ts";
import type { GuardrailDenial } from "./denial.ts";

/** JSON-RPC error instead of a result that the guardrail denies. @param id JSON text */
export function resultDenial(id: string | undefined, { reason, words }: GuardrailDenial, requestId: string): string {
  const message = `The tool was called, but its result is denied by ${words} (request ID ${requestId})`;
  return errorBody(id, { code: ACCESS_DENIED_CODE, message, data: { reason, request_id: requestId } });
}
