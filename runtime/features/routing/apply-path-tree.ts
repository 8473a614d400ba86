/**
 * Prefixes and beginnings of patterns, by whole segments.
 *
 * Most nodes have one child or none, so only those with more have a map: 100,000 prefixes of a host then stay small enough
 * for a look-up to find them in the caches of the processor.
 */
export class PathNode<P, R> {
  /** What takes "/a" and everything below it. */
  prefix: P | undefined = undefined;
  /** Patterns whose literal beginning ends here. */
  patterns: R | undefined = undefined;
  #onlySegment = "";
  #onlyChild: PathNode<P, R> | undefined = undefined;
  #children: Map<string, PathNode<P, R>> | undefined = undefined;

  get isLeaf(): boolean {
    return this.#onlyChild === undefined && this.#children === undefined;
  }

  /** @returns the child for the segment of `path` between `start` and `end` */
  find(path: string, start: number, end: number): PathNode<P, R> | undefined {
    if (this.#children !== undefined) return this.#children.get(path.slice(start, end));
    if (end - start !== this.#onlySegment.length || !path.startsWith(this.#onlySegment, start)) return undefined;
    return this.#onlyChild;
  }

  /** The child for a segment; made when there is none. */
  grow(segment: string): PathNode<P, R> {
    const known = this.find(segment, 0, segment.length);
    if (known) return known;
    const child = new PathNode<P, R>();
    if (this.isLeaf) {
      this.#onlySegment = segment;
      this.#onlyChild = child;
    } else {
      this.#children ??= new Map([[this.#onlySegment, this.#onlyChild as PathNode<P, R>]]);
      this.#children.set(segment, child);
    }
    return child;
  }
}
