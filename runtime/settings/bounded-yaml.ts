/**
 * YAML text → the reader's document, which is not read past a depth and a number of tokens.
 *
 * Untrusted input: the text. The reader makes some 300 bytes of tree for each token and recurses into it: text that is all
 * brackets took 2.4 GiB and a minute. Promise: what is too much is found at its token, before more of a tree is made.
 */
import { Composer, type CST, type Document, Lexer, Parser, YAMLParseError } from "yaml";

import { MAX_DEPTH } from "./plain-json.ts";

/** Some 5,000 routes written by hand, and 150 MiB at most. */
export const MAX_TOKENS = 500_000;
/** A level of a value is up to two of the reader's: a block and a member of it. */
const MAX_LEVELS = 2 * MAX_DEPTH + 8;

/** Text of which there is too much. */
export class TooMuchYaml extends Error {
  readonly excess: "too many" | "too deep";
  /** Where, in characters from the beginning. */
  readonly offset: number;

  constructor(excess: TooMuchYaml["excess"], offset: number) {
    super(`YAML text has ${excess} values`);
    this.excess = excess;
    this.offset = offset;
  }
}

/** The first document; that there is a second one is among its errors. @throws TooMuchYaml */
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
