/** The newest records, parsed, so that a receiver that keeps up parses nothing. */
import type { RecordCopy } from "../audit/record-consumer.ts";

/** About one batch of the record store. */
const MOST = 2_048;

export class RecentValues {
  readonly #numbers = new Float64Array(MOST);
  readonly #values: (RecordCopy["value"] | undefined)[] = Array.from({ length: MOST }, () => undefined);

  put(number: number, value: RecordCopy["value"]): void {
    this.#numbers[number % MOST] = number;
    this.#values[number % MOST] = value;
  }

  get(number: number): RecordCopy["value"] | undefined {
    return this.#numbers[number % MOST] === number ? this.#values[number % MOST] : undefined;
  }
}
