/**
 * Literal text in Terraform's JSON syntax.
 *
 * Terraform reads every string of `cdk.tf.json` as a template: `${…}` and `%{…}` in it are code. Literal text, above all the
 * product's own `${gateway.…}`, must arrive unchanged, while real references (tokens of the framework, which become
 * `${aws_lb.main.dns_name}`) must stay code.
 */
import { Fn, Token, Tokenization } from "../framework.ts";

/** The framework's form of a token inside a string. */
const TOKEN = /\$\{TfToken\[[a-zA-Z0-9:._-]+\]\}/g;

/** A piece of text that is either completely literal or exactly one token. */
export interface Piece {
  readonly text: string;
  readonly isToken: boolean;
}

/** Cuts a string at its tokens; literal pieces are never empty. */
export function splitTokens(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isToken: false });
    pieces.push({ text: match[0], isToken: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isToken: false });
  return pieces;
}

/** Text that Terraform evaluates to exactly `text`; tokens in it stay references. */
export function escapeForTerraform(text: string): string {
  const pieces = splitTokens(text);
  if (pieces.every((piece) => !piece.isToken)) {
    // The escape consumes only the last of several "$" before "{", so the product's "$$" survives.
    return text.replaceAll(/[$%]\{/g, (opening) => opening[0] + opening);
  }
  return pieces.map((piece) => (piece.isToken ? piece.text : escapeBesideTokens(piece.text))).join("");
}

/**
 * `escapeForTerraform()` for a literal piece of a string with tokens. "$${" cannot be used here: the framework counts "${" as
 * an opening brace and would print a following token without its own braces; and a "$" right before a token would escape the
 * token. `${"$"}` is balanced and evaluates to the same character.
 */
function escapeBesideTokens(text: string): string {
  return text.replaceAll("%{", "%%{").replace(/\$+(?=\{|$)/g, (dollars) => `\${"${dollars}"}`);
}

/**
 * A JSON document for a Terraform string attribute.
 *
 * The value of a token is JSON-encoded when Terraform evaluates it: a quote in a value known only at apply must not change
 * the document around it. (The framework's own `Fn.jsonencode` of a whole document does not escape quotes of literals.)
 *
 * @param value plain JSON; strings may contain tokens, and any other value may be one
 */
export function jsonForTerraform(value: unknown): string {
  return escapeForTerraform(jsonWithTokens(value));
}

function jsonWithTokens(value: unknown): string {
  if (typeof value === "string") {
    const pieces = splitTokens(JSON.stringify(value));
    return pieces.map(({ text, isToken }) => (isToken ? jsonStringContent(text) : text)).join("");
  }
  if (Token.isUnresolved(value)) return Fn.jsonencode(value);
  if (Array.isArray(value)) return `[${value.map(jsonWithTokens).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${jsonWithTokens(member)}`);
  return `{${members.join(",")}}`;
}

function jsonStringContent(token: string): string {
  const quote = Fn.rawString('"');
  return Fn.trimsuffix(Fn.trimprefix(Fn.jsonencode(token), quote), quote);
}

/** True when a value, or a part of it, is only known to Terraform. */
export function hasUnresolved(value: unknown): boolean {
  if (Token.isUnresolved(value) || Tokenization.isResolvable(value)) return true;
  if (Array.isArray(value)) return value.some(hasUnresolved);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, member]) => Token.isUnresolved(key) || hasUnresolved(member));
}

/** `escapeForTerraform` on every string of a plain JSON value, keys included. */
export function escapeAllForTerraform(value: unknown): unknown {
  if (typeof value === "string") return escapeForTerraform(value);
  // A token for a whole list or map is one object of the framework: rebuilding it would lose it.
  if (typeof value !== "object" || value === null || Token.isUnresolved(value)) return value;
  if (Array.isArray(value)) return value.map(escapeAllForTerraform);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [escapeForTerraform(key), escapeAllForTerraform(member)]),
  );
}
