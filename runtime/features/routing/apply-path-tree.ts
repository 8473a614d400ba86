/**
 * Tree of prefixes and of literal prefixes of patterns, by whole segments.
 *
 * Most nodes have at most one child, so only nodes with more have a map: a lookup among 100,000 prefixes of a host then
 * fits the processor's caches. Segments without a branch or an end have no separate node: however deep prefixes are,
 * there are at most twice as many nodes.
 */
export class PathNode<P, R> {
  /** Item for "/a" and everything below it. */
  prefix: P | undefined = undefined;
  /** Patterns whose literal prefix ends here. */
  patterns: R | undefined = undefined;
  /** Segments after the first one, without a node: "b/c" of "a/b/c". */
  #rest: string;
  #onlySegment = "";
  #onlyChild: PathNode<P, R> | undefined = undefined;
  #children: Map<string, PathNode<P, R>> | undefined = undefined;

  constructor(rest = "") {
    this.#rest = rest;
  }

  get isLeaf(): boolean {
    return this.#onlyChild === undefined && this.#children === undefined;
  }

  /** End of this node's segments in a path, starting after the first one. @returns -1 if the path has others */
  endIn(path: string, end: number): number {
    const rest = this.#rest;
    if (rest === "") return end;
    if (!path.startsWith(rest, end + 1)) return -1;
    const restEnd = end + 1 + rest.length;
    return restEnd === path.length || path.charCodeAt(restEnd) === SLASH ? restEnd : -1;
  }

  /**
   * @returns the child whose first segment is the one of `path` between `start` and `end`: `endIn()` checks the other
   *   segments
   */
  find(path: string, start: number, end: number): PathNode<P, R> | undefined {
    if (this.#children !== undefined) return this.#children.get(path.slice(start, end));
    if (end - start !== this.#onlySegment.length || !path.startsWith(this.#onlySegment, start)) return undefined;
    return this.#onlyChild;
  }

  /** The node at these segments, "a/b/c"; created if absent. */
  grow(path: string): PathNode<P, R> {
    // oxlint-disable-next-line typescript/no-this-alias -- the walk starts at this node, as deep as prefixes are
    let node: PathNode<P, R> = this;
    for (let start = 0; start < path.length;) {
      const end = segmentEnd(path, start);
      const child = node.find(path, start, end);
      if (child === undefined) return node.#add(path.slice(start, end), new PathNode(path.slice(end + 1)));
      if (child.endIn(path, end) === -1) child.#divide(path, end + 1);
      start = child.endIn(path, end) + 1;
      node = child;
    }
    return node;
  }

  #add(segment: string, child: PathNode<P, R>): PathNode<P, R> {
    if (this.isLeaf) {
      this.#onlySegment = segment;
      this.#onlyChild = child;
    } else {
      this.#children ??= new Map([[this.#onlySegment, this.#onlyChild as PathNode<P, R>]]);
      this.#children.set(segment, child);
    }
    return child;
  }

  /**
   * Splits this node after the segments it shares with the path from `start` on: its content moves to a node below it.
   */
  #divide(path: string, start: number): void {
    const rest = this.#rest;
    let shared = 0;
    for (let at = 0; at <= rest.length;) {
      const end = segmentEnd(rest, at);
      if (segmentEnd(path, start + at) !== start + end || !path.startsWith(rest.slice(at, end), start + at)) break;
      shared = end;
      at = end + 1;
    }
    const below = shared === 0 ? 0 : shared + 1;
    const end = segmentEnd(rest, below);
    const lower = new PathNode<P, R>(rest.slice(end + 1));
    lower.prefix = this.prefix;
    lower.patterns = this.patterns;
    lower.#onlySegment = this.#onlySegment;
    lower.#onlyChild = this.#onlyChild;
    lower.#children = this.#children;
    this.#rest = rest.slice(0, shared);
    this.prefix = this.patterns = undefined;
    this.#onlyChild = this.#children = undefined;
    this.#add(rest.slice(below, end), lower);
  }
}

const SLASH = 0x2f;

function segmentEnd(path: string, start: number): number {
  const end = path.indexOf("/", start);
  return end === -1 ? path.length : end;
}
