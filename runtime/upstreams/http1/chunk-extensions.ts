/** Extensions of the chunks of an answer: they end here, so that any text may stand there. */
import type { ChunkExtensions } from "../../shared/http/chunk-lines.ts";
import { VALUE } from "../../shared/http/field-lines.ts";

/** Of one chunk. */
const MAX_BYTES = 4_096;

export class AnswerExtensions implements ChunkExtensions {
  #bytes = 0;

  reset(): void {}

  begin(): void {
    this.#bytes = 0;
  }

  take(byte: number): string | undefined {
    this.#bytes += 1;
    if (VALUE[byte] === 0) return "a chunk extension has a control character";
    return this.#bytes > MAX_BYTES ? "a chunk extension is too long" : undefined;
  }

  end(): undefined {}
}
