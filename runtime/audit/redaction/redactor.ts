/** Redacts tool arguments as declared: in the log, and in copies for the record store and sinks. */
import { hasExactNumbers, parseExactly } from "../../policy/mcp/argument-values.ts";
import { parseVerbatim } from "../../shared/canonical-json.ts";
import { isRecord, type Members } from "../../shared/is-record.ts";
import { plainJsonText } from "../record-text.ts";
import { createDigests } from "../replay/digests.ts";
import { createPlans, type DeclaredArguments } from "./plan.ts";
import { redactArguments, type RedactedArguments, type Redaction } from "./redact.ts";

/** Plain data: each thread creates its own redactor. */
export interface RedactorOptions {
  /** 32 bytes or more. */
  readonly key: Uint8Array;
}

export interface Redactor {
  /**
   * Returns two members for a line of the log, the arguments and the changes to them, with a comma before each.
   * @param text of the arguments, JSON
   * @returns undefined when nothing is redacted
   */
  lineMembers(declared: DeclaredArguments | undefined, tool: string, text: string): string | undefined;
  /** The same for one route. */
  lineOf(declared: DeclaredArguments | undefined): ((tool: string, text: string) => string | undefined) | undefined;
  /**
   * Returns the fields of a copy, with arguments as they may leave the log: undeclared ones as digests.
   * @param fields of one line, or those that the log omits; a digest in the log stays that digest
   * @param text JSON with these as its top-level members: numbers are read from it as written
   */
  copyFields(fields: Members, text: string): Members;
  /** Sets the routes with declarations, by key. Called whenever a configuration takes effect. */
  setRoutes(routes: ReadonlyMap<string, DeclaredArguments>): void;
}

const ARGUMENTS = "mcp-tool-parameters";
const CHANGED = "mcp-tool-parameters-redacted";
const TOO_LONG = "mcp-tool-parameters-omitted";

export function createRedactor({ key }: RedactorOptions): Redactor {
  const digests = createDigests(key);
  const plans = createPlans();
  let routes: ReadonlyMap<string, DeclaredArguments> = new Map();

  const changedOf = ({ digest, omit }: RedactedArguments): object => ({ key: digests.id, digest, omit });

  const redactCopy = (fields: Members, given: unknown): Members => {
    const { [ARGUMENTS]: _, [CHANGED]: changed, ...others } = fields;
    const before = readChanged(changed);
    // The arguments are already one digest.
    if (before.digest.has("")) return fields;
    const declared = routes.get(textOf(fields["route"]));
    const plan = plans(declared, textOf(fields["mcp-tool"]));
    const redaction: Redaction = { plan, otherwise: "digest", digests, digested: before.digest };
    const redacted = redactArguments(given, redaction);
    if (redacted === undefined) return { ...others, [TOO_LONG]: JSON.stringify(given).length };
    const omit = [...new Set([...before.omit, ...redacted.omit])];
    const value = JSON.parse(redacted.text) as unknown;
    if (redacted.digest.length + omit.length === 0) return { ...others, [ARGUMENTS]: value };
    return { ...others, [ARGUMENTS]: value, [CHANGED]: changedOf({ ...redacted, omit }) };
  };

  const lineMembers: Redactor["lineMembers"] = (declared, tool, text) => {
    if (declared === undefined) return undefined;
    const plan = plans(declared, tool);
    if (!plan.isRedacting) return undefined;
    const redacted = readStrictly(text, (given) => redactArguments(given, { plan, otherwise: "plain", digests }));
    // Which parts are safe to show is unknown.
    if (redacted === undefined) return `,"${TOO_LONG}":${text.length}`;
    if (redacted.digest.length + redacted.omit.length === 0) return undefined;
    return `,"${ARGUMENTS}":${redacted.text},"${CHANGED}":${changedText(redacted, digests.id)}`;
  };

  return {
    lineMembers,
    lineOf: (declared) => declared && ((tool, text) => lineMembers(declared, tool, text)),
    copyFields(fields, text) {
      const found = fields[ARGUMENTS];
      if (found === undefined) return fields;
      if (hasExactNumbers(text)) return redactCopy(fields, found);
      const exact = parseVerbatim(text);
      return redactCopy(fields, isRecord(exact) ? exact[ARGUMENTS] : found);
    },
    setRoutes: (given) => void (routes = given),
  };
}

function changedText({ digest, omit }: RedactedArguments, id: string): string {
  const list = (pointers: readonly string[]): string => `[${pointers.map(plainJsonText).join(",")}]`;
  return `{"key":"${id}","digest":${list(digest)},"omit":${list(omit)}}`;
}

/** Reads the member of a log line. */
function readChanged(value: unknown): { readonly digest: ReadonlySet<string>; readonly omit: readonly string[] } {
  if (!isRecord(value)) return { digest: new Set(), omit: [] };
  return { digest: new Set(textsOf(value["digest"])), omit: textsOf(value["omit"]) };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function readStrictly<T>(text: string, use: (given: unknown) => T): T | undefined {
  try {
    return use(parseExactly(text));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
