/**
 * Responses of clients with sessions to what the gateway asks them for a member without sessions (MCP 2026-07-28, multi-round
 * requests). The call waits in one process, and the response may come to any other: it is then left in the store.
 */
import { randomBytes } from "node:crypto";

import { answerKey, type AnswerRecord } from "../../mcp/federation/answer-records.ts";
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import { task } from "../../shared/faults/guard.ts";
import { ignore } from "../../shared/ignore.ts";
import type { Keys } from "../../shared/keys.ts";

/** The shared store, as far as it matters here. */
export interface AnswerStore {
  put(key: string, value: unknown, options: { readonly expiresAt: number }): Promise<unknown>;
  take(key: string): Promise<{ readonly value: unknown } | undefined>;
}

export interface PendingAnswersDeps {
  readonly keys: Keys;
  /** Absent: there is one process. */
  readonly answerStore?: AnswerStore | undefined;
}

/** Time that a user may take. */
export const ANSWER_MS = 300_000;
const LOOK_MS = 500;
/** As many as one call may ask. */
const MAX_OF_USER = 16;
const MAX_WAITING = 1_000;
const MAX_BYTES = 65_536;

export class PendingAnswers {
  readonly #deps: PendingAnswersDeps;
  readonly #waiting = new Map<string, (answer: MessageJson) => void>();
  /** By user. */
  readonly #open = new Map<string, number>();

  constructor(deps: PendingAnswersDeps) {
    this.#deps = deps;
  }

  /** A new question. @returns undefined: too many are open; its answer is undefined if it does not come in time */
  begin(
    userId: string,
    signal: AbortSignal,
  ): { readonly key: string; readonly answer: Promise<MessageJson | undefined> } | undefined {
    const ofUser = this.#open.get(userId) ?? 0;
    if (this.#waiting.size >= MAX_WAITING || ofUser >= MAX_OF_USER) return undefined;
    this.#open.set(userId, ofUser + 1);
    const key = randomBytes(16).toString("base64url");
    const answer = new Promise<MessageJson | undefined>((resolve) => {
      const settle = (given: MessageJson | undefined): void => {
        clearInterval(looks);
        clearTimeout(end);
        if (this.#waiting.delete(key)) this.#release(userId);
        resolve(given);
      };
      const look = (): void => void this.#look(key).then((found) => found && settle(found), ignore);
      const looks = setInterval(task("look for the answer of a client", look), LOOK_MS);
      const end = setTimeout(
        task("end of a wait for a client", () => settle(undefined)),
        ANSWER_MS,
      );
      this.#waiting.set(key, settle);
      if (signal.aborted) settle(undefined);
      else signal.addEventListener("abort", () => settle(undefined), { once: true });
    });
    return { key, answer };
  }

  /** @param answer the client's response @returns false if it is too large */
  async deliver(key: string, answer: MessageJson): Promise<boolean> {
    const text = JSON.stringify(answer);
    if (text.length > MAX_BYTES) return false;
    const waiting = this.#waiting.get(key);
    if (waiting) waiting(answer);
    else {
      const expiresAt = Math.ceil((Date.now() + ANSWER_MS) / 1_000);
      const sealed = this.#deps.keys.sealer("mcp-session").seal(text, `answer ${key}`);
      await this.#deps.answerStore?.put(answerKey(key), { sealed } satisfies AnswerRecord, { expiresAt });
    }
    return true;
  }

  #release(userId: string): void {
    const left = (this.#open.get(userId) ?? 1) - 1;
    if (left === 0) this.#open.delete(userId);
    else this.#open.set(userId, left);
  }

  async #look(key: string): Promise<MessageJson | undefined> {
    const found = await this.#deps.answerStore?.take(answerKey(key));
    const { sealed } = recordOf(found?.value);
    const sealer = this.#deps.keys.sealer("mcp-session");
    const opened = typeof sealed === "string" ? sealer.open(sealed, `answer ${key}`) : undefined;
    return opened && (JSON.parse(opened.toString()) as MessageJson);
  }
}
