/** Number of uses of each value, so that the end of the last use is noticed without a search. */
export class Counted<T> {
  readonly #uses = new Map<T, number>();

  add(value: T): void {
    this.#uses.set(value, (this.#uses.get(value) ?? 0) + 1);
  }

  remove(value: T): void {
    const rest = (this.#uses.get(value) ?? 1) - 1;
    if (rest === 0) this.#uses.delete(value);
    else this.#uses.set(value, rest);
  }

  has(value: T): boolean {
    return this.#uses.has(value);
  }

  entries(): Iterable<[T, number]> {
    return this.#uses;
  }
}
