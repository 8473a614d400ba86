/**
 * A tool's arguments in a record, where some are redacted.
 *
 * Untrusted input: the arguments. Promises: the result contains nothing of a value that is omitted or a digest, nor any
 * undeclared name inside of it; time and length are bounded by the arguments and `MAX_DIGESTS`. Pure.
 *
 * A digest is one letter for the type ("t" text, "n" number, "b" flag, "z" null, "l" list, "o" object) and 96 bits in
 * base64url: equal values have equal digests, numbers by their value, objects in any order of their members. A list or
 * an object is one digest. Only for the arguments as a whole, each argument is one: their names are those of the tool's
 * schema, and appear in plain text if they look like such names.
 */
import { NumberToken } from "../../shared/canonical-json.ts";
import { isRecord, type Members } from "../../shared/is-record.ts";
import { plainJsonText } from "../record-text.ts";
import { escapeStep, hiddenName, isSchemaName, type Digests } from "../replay/digests.ts";
import {
  begin,
  declaredAt,
  element,
  namesExactly,
  placeOf,
  step,
  type Place,
  type Plan,
  type Treatment,
} from "./plan.ts";

export interface Redaction {
  readonly plan: Plan;
  /** Treatment of undeclared values. */
  readonly otherwise: "plain" | "digest";
  readonly digests: Digests;
  /** Pointers to values that are already digests. */
  readonly digested?: ReadonlySet<string>;
}

export interface RedactedArguments {
  /** JSON on one line, without characters that a terminal or log viewer would obey. */
  readonly text: string;
  /** Pointers into `text` to its digests. */
  readonly digest: readonly string[];
  /** Declared pointers to values omitted from `text`. In lists they are replaced by `null`. */
  readonly omit: readonly string[];
}

/** Each costs 3 µs; a call with more gets one digest. */
const MAX_DIGESTS = 128;

/** @param given as returned by `parseExactly` @returns undefined unless they are arguments */
export function redactArguments(given: unknown, redaction: Redaction): RedactedArguments | undefined {
  if (!isRecord(given)) return undefined;
  const { plan, digests } = redaction;
  const work = new Work(redaction);
  try {
    const text = work.container(given, begin(plan), "");
    return { text, digest: work.digested, omit: [...work.omitted] };
  } catch (error) {
    if (!(error instanceof TooMany)) throw error;
    // One digest of everything would also cover values to omit.
    return plan.mayOmit
      ? { text: "{}", digest: [], omit: [""] }
      : { text: `"${digests.value(given)}"`, digest: [""], omit: [] };
  }
}

class TooMany extends Error {}

class Work {
  readonly digested: string[] = [];
  readonly omitted = new Set<string>();
  readonly #redaction: Redaction;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  /** An object or a list with mixed treatments, or all arguments. */
  container(value: Members | readonly unknown[], place: Place, pointer: string): string {
    const treatment = this.#treatmentOf(place);
    if (treatment === "omit") this.#omit(place);
    if (isList(value)) {
      const elements = value.map((each, index) => {
        const below = element(place, index);
        return this.#value(each, below, `${pointer}/${index}`) ?? "null";
      });
      return `[${elements.join(",")}]`;
    }
    const members: string[] = [];
    for (const [name, each] of Object.entries(value)) {
      const below = step(place, name);
      const isShown = this.#redaction.digested?.has(`${pointer}/${escapeStep(name)}`) === true;
      const shown = isShown ? name : this.#name(name, place, this.#treatmentOf(below));
      const text = this.#value(each, below, `${pointer}/${escapeStep(shown)}`);
      if (text !== undefined) members.push(`${plainJsonText(shown)}:${text}`);
    }
    return `{${members.join(",")}}`;
  }

  /** @returns undefined for an omitted value */
  #value(value: unknown, around: Place, pointer: string): string | undefined {
    const { digests, digested } = this.#redaction;
    const place = placeOf(around, value);
    if (place.leadsOn && (isList(value) || isObject(value))) return this.container(value, place, pointer);
    const treatment = this.#treatmentOf(place);
    if (treatment === "omit") {
      this.#omit(place);
      return undefined;
    }
    if (treatment === "plain") return plainText(value);
    this.#digest(pointer);
    return digested?.has(pointer) === true ? plainText(value) : `"${digests.value(value)}"`;
  }

  #name(name: string, parent: Place, treatment: Treatment): string {
    const { otherwise, digests } = this.#redaction;
    if (namesExactly(parent, name)) return name;
    const around = declaredAt(parent)?.treatment ?? otherwise;
    if (around === "plain" && treatment === "plain") return name;
    // Below the top level, names may be written by others.
    const isOfSchema = isSchemaName(name) && (around === "plain" || parent.isRoot);
    return isOfSchema ? name : hiddenName(digests, name);
  }

  #treatmentOf(place: Place): Treatment {
    return declaredAt(place)?.treatment ?? this.#redaction.otherwise;
  }

  #digest(pointer: string): void {
    this.digested.push(pointer);
    if (this.digested.length > MAX_DIGESTS) throw new TooMany();
  }

  #omit(place: Place): void {
    this.omitted.add(declaredAt(place)?.pointer ?? "");
  }
}

function plainText(value: unknown): string {
  if (typeof value === "string") return plainJsonText(value);
  if (value instanceof NumberToken) return value.text;
  if (isList(value)) return `[${value.map(plainText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, each]) => `${plainJsonText(name)}:${plainText(each)}`)
    .join(",")}}`;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Members {
  return isRecord(value) && !(value instanceof NumberToken);
}
