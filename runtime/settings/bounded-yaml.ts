/**
 * Parses YAML text into the reader's document, up to a limited depth and number of tokens.
 *
 * Untrusted input: the text. The reader makes some 300 bytes of tree for each token and recurses into it: text of only
 * brackets took 2.4 GiB and a minute. Promise: an excess is found at its token, before more of the tree is built.
 */
import { Composer, type CST, type Document, Lexer, Parser, YAMLParseError } from "yaml";

import { MAX_DEPTH } from "./plain-json.ts";

/** Some 5,000 hand-written routes, and 150 MiB at most. */
export const MAX_TOKENS = 500_000;
/** A level of a value takes up to two of the reader's: a block and a member of it. */
const MAX_LEVELS = 2 * MAX_DEPTH + 8;

/** Text beyond a limit. */
export class TooMuchYaml extends Error {
  readonly excess: "too many" | "too deep";
  /** Offset in characters from the start. */
  readonly offset: number;

  constructor(excess: TooMuchYaml["excess"], offset: number) {
    super(`YAML text has ${excess} values`);
    this.excess = excess;
    this.offset = offset;
  }
}

/** The first document; a second one is among its errors. @throws TooMuchYaml */
export function parseBoundedYaml(text: string): Document.Parsed | undefined {
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
    stringKeys: false,
  });
  let first: Document.Parsed | undefined;
  for (const document of composer.compose(boundedTokens(text), true, text.length)) {
    if (!first) first = document;
    else {
      first.errors.push(
        new YAMLParseError([document.range[0], document.range[1]], "MULTIPLE_DOCS", "has a second document"),
      );
      break;
    }
  }
  return first;
}

function* boundedTokens(text: string): Generator<CST.Token, void> {
  const parser = new Parser();
  let tokens = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (++tokens > MAX_TOKENS) throw new TooMuchYaml("too many", parser.offset);
    yield* parser.next(lexeme);
    if (parser.stack.length > MAX_LEVELS) throw new TooMuchYaml("too deep", parser.offset);
  }
  yield* parser.end();
}
