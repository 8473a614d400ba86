/** A reader of the HCL that `gateway import` and exports write: blocks, attributes, literals and `jsonencode`, nothing else. */

export interface HclBlock {
  readonly type: string;
  readonly labels: readonly string[];
  readonly attributes: ReadonlyMap<string, unknown>;
  readonly blocks: readonly HclBlock[];
}

/** Output of `jsonencode(…)`. */
export class Encoded {
  readonly text: string;

  constructor(value: unknown) {
    this.text = JSON.stringify(value);
  }
}

/** @throws Error for everything that is not a literal */
export function readHcl(text: string): HclBlock {
  const reader = new Reader(text);
  const body = reader.body("");
  return { type: "", labels: [], ...body };
}

const SPACE = /(?:[ \n]|#[^\n]*\n)*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_-]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?/y;
const TEXT =
  // oxlint-disable-next-line no-control-regex -- exactly these must not stand in texts
  /"((?:[^"\\\x00-\x1f\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff]|\\(?:[nrt"\\]|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4}))*)"/y;
const ADDRESS = /gateway_bundle\.[a-z_][a-z0-9_-]*/y;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  body(end: string): Pick<HclBlock, "attributes" | "blocks"> {
    const attributes = new Map<string, unknown>();
    const blocks: HclBlock[] = [];
    while (!this.#skips(end)) {
      const name = this.#take(NAME)[0];
      if (this.#skips("=")) {
        if (attributes.has(name)) throw new Error(`twice: ${name}`);
        attributes.set(
          name,
          name === "to" && end === "}" && this.#peek(ADDRESS) ? this.#take(ADDRESS)[0] : this.#value(),
        );
        continue;
      }
      const labels: string[] = [];
      while (this.#peek(TEXT)) labels.push(this.#string());
      if (!this.#skips("{")) throw this.#wrong();
      blocks.push({ type: name, labels, ...this.body("}") });
    }
    return { attributes, blocks };
  }

  #value(): unknown {
    if (this.#peek(TEXT)) return this.#string();
    if (this.#peek(NUMBER)) return Number(this.#take(NUMBER)[0]);
    if (this.#skips("[")) {
      const items: unknown[] = [];
      while (!this.#skips("]")) {
        items.push(this.#value());
        if (!this.#skips(",")) {
          if (!this.#skips("]")) throw this.#wrong();
          break;
        }
      }
      return items;
    }
    if (this.#skips("{")) return this.#object();
    const word = this.#take(NAME)[0];
    if (word === "jsonencode" && this.#skips("(")) {
      const encoded = new Encoded(this.#value());
      if (!this.#skips(")")) throw this.#wrong();
      return encoded;
    }
    const literal = new Map([
      ["true", true],
      ["false", false],
      ["null", null],
    ]).get(word);
    if (literal === undefined) throw this.#wrong();
    return literal;
  }

  #object(): Readonly<Record<string, unknown>> {
    const members: [string, unknown][] = [];
    while (!this.#skips("}")) {
      const isText = this.#peek(TEXT);
      const name = isText ? this.#string() : this.#take(NAME)[0];
      if (!isText && ["for", "null", "true", "false"].includes(name)) throw this.#wrong();
      if (!this.#skips("=")) throw this.#wrong();
      members.push([name, this.#value()]);
      this.#skips(",");
    }
    return Object.fromEntries(members);
  }

  #string(): string {
    const [, content = ""] = this.#take(TEXT);
    if (/[$%]\{/.test(content.replaceAll(/([$%])\1\{/g, " "))) throw new Error(`code in a text: ${content}`);
    const units = content.replaceAll(/\\(?:U([0-9a-f]{8})|.)/g, (whole, hex?: string) =>
      hex === undefined ? whole : String.fromCodePoint(Number.parseInt(hex, 16)),
    );
    return JSON.parse(`"${units.replaceAll(/([$%])\1\{/g, "$1{")}"`) as string;
  }

  #peek(pattern: RegExp): boolean {
    this.#skipSpace();
    pattern.lastIndex = this.#at;
    return pattern.test(this.#text);
  }

  #take(pattern: RegExp): RegExpExecArray {
    this.#skipSpace();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (!found) throw this.#wrong();
    this.#at += found[0].length;
    return found;
  }

  /** "" is the end of the text. */
  #skips(sign: string): boolean {
    this.#skipSpace();
    if (sign === "") return this.#at === this.#text.length;
    if (!this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    this.#at += SPACE.exec(this.#text)?.[0].length ?? 0;
  }

  #wrong(): Error {
    return new Error(`not a literal: ${this.#text.slice(this.#at, this.#at + 60)}`);
  }
}
