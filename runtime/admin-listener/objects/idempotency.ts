/**
 * One response for each Idempotency-Key of a caller: a client that repeats a request because the response was lost gets
 * that response, and nothing is done a second time.
 *
 * Promises: the same key with the same request gets the same response for 24 hours, from every process of the store.
 * With another request it is rejected, and so is a second one while the first is in progress. The store has hashes of
 * key and request, and the response, which has no secret. A process that dies during the work leaves the key for a
 * minute: a repeated request then runs again, so actions of the API must be idempotent.
 *
 * @see draft-ietf-httpapi-idempotency-key-header, "The Idempotency-Key HTTP Request Header Field"
 */
import { sha256 } from "../../shared/canonical-json.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { ignore } from "../../shared/ignore.ts";
import { hashSecret } from "../../shared/keys.ts";
import { firstFormats } from "../../store/formats.ts";
import type { Store } from "../../store/store.ts";
import { json, type AdminReply } from "../answer.ts";

interface AnswerRow {
  /** SHA-256 of the request. */
  readonly request: string;
  /** Absent while it is in progress. */
  readonly answer?: Pick<AdminReply, "status" | "body">;
}

export const API_ANSWER_FORMATS = firstFormats(["api-answer"]);

const ANSWER_SECONDS = 24 * 3600;
const IN_PROGRESS_SECONDS = 60;

/** With or without the quotation marks of a structured field. @returns undefined when missing or invalid */
export function readIdempotencyKey(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === "string" ? header : "";
  return /^("?)([A-Za-z0-9._~:-]{1,128})\1$/.exec(text)?.[2];
}

interface Once {
  /** Hash of the caller's token. */
  readonly caller: string;
  readonly key: string;
  /** All content of the request. */
  readonly what: unknown;
}

/** @throws GatewayError `store.unavailable`, and errors of `run`: the key is then free again */
export async function answerOnce(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { caller, key, what }: Once,
  run: () => Promise<AdminReply>,
): Promise<AdminReply> {
  const name = `api-answer:${hashSecret(JSON.stringify([caller, key]))}`;
  const request = sha256(JSON.stringify(what));
  const inProgress = { ifVersion: 0, expiresAt: epochSeconds(clock) + IN_PROGRESS_SECONDS };
  if (!(await store.put(name, { request }, inProgress)).ok) {
    const known = await store.get<AnswerRow>(name);
    if (known && known.value.request !== request)
      return json(422, { error: "idempotency-key", message: "this key was used for another request" });
    const { answer } = known?.value ?? {};
    if (answer) return { ...answer, type: "application/json" };
    const message = "the request with this key is in progress";
    return json(409, { error: "idempotency-key", message }, { "retry-after": "1" });
  }
  let answer: AdminReply;
  try {
    answer = await run();
  } catch (error) {
    await store.delete(name).catch(ignore);
    throw error;
  }
  const { status, body } = answer;
  const entry = { request, answer: { status, body } };
  // The action is done: without the store the caller still gets the response, once.
  await store.put(name, entry, { expiresAt: epochSeconds(clock) + ANSWER_SECONDS }).catch(ignore);
  return answer;
}
