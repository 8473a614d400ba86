/**
 * The body of a list as it arrives. In a long one, the members that only the gateway may send are replaced on the way
 * (mcp/operations/answer-members.ts): all at once would hold up other requests. In a short one they are replaced at its end,
 * unless the list is known.
 */
import { GrowingBytes } from "../../mcp/lists/growing-bytes.ts";
import { AnswerMembers } from "../../mcp/operations/answer-members.ts";

/** Far above most lists. If it consists of the gateway's codes, replacing them takes about 40 ms. */
const SHORT_BYTES = 1024 * 1024;

export class ListBody {
  readonly #bytes = new GrowingBytes();
  /** Present in a long list. */
  #members: AnswerMembers | undefined;

  get length(): number {
    return this.#bytes.length;
  }

  /** @param isCacheable see `AnswerMembers` @returns false for input that no server writes */
  push(chunk: Buffer, isCacheable: boolean): boolean {
    let piece = chunk;
    if (this.#members === undefined) {
      this.#bytes.push(chunk);
      if (this.#bytes.length <= SHORT_BYTES) return true;
      this.#members = new AnswerMembers(isCacheable);
      piece = this.#bytes.take();
    }
    const passed = this.#members.push(piece);
    if (passed !== undefined) this.#bytes.push(passed);
    return passed !== undefined;
  }

  /** Returns all of it, and starts the next one. @returns `isReplaced`: it was a long one */
  take(): { readonly bytes: Buffer; readonly isReplaced: boolean } {
    const members = this.#members;
    this.#members = undefined;
    if (members !== undefined) this.#bytes.push(members.end());
    return { bytes: this.#bytes.take(), isReplaced: members !== undefined };
  }
}
