/**
 * Arguments and claims in a record: their structure, with values as digests.
 *
 * The first character of every text is its kind. "=" a text and "+" a number as written, both in plain text; "t" a
 * text, "n" a number, "b" a flag, each followed by its digest, or by nothing without a key; "?" a number that cannot be
 * compared; "x" an omitted value. `null` has no meaning. Member names appear in plain text if they look like names of
 * schemas. Others, and all names inside a declared digest, are "#" and digests.
 */
import { Withheld, type WithheldType } from "../../policy/recorded/withheld.ts";
import { NumberToken, OmittedToken } from "../../shared/canonical-json.ts";
import { isRecord, type Members } from "../../shared/is-record.ts";
import { plainJsonText } from "../record-text.ts";
import {
  begin,
  declaredAt,
  element,
  namesExactly,
  NO_PLAN,
  placeOf,
  step,
  type Place,
  type Plan,
} from "../redaction/plan.ts";
import { hiddenName, isSchemaName, type Digests } from "./digests.ts";

export interface WriteOptions {
  readonly digests: Digests | undefined;
  /** Their declarations; absent: none. */
  readonly plan?: Plan;
  /** Claims: numbers and flags count by their text. */
  readonly isByText?: boolean;
}

/** Each costs a digest, 3 µs, and its name up to two. */
const MAX_VALUES = 128;
const ODD_NUMBER = "?";
const OMITTED = "x";

/**
 * @returns JSON; undefined for more values than are worth their digests, for names that only a key could hide, and if
 *   everything is omitted
 */
export function writeTree(value: unknown, options: WriteOptions): string | undefined {
  let left = MAX_VALUES;
  const { digests, plan = NO_PLAN, isByText = false } = options;

  const write = (each: unknown, around: Place): string => {
    const place = placeOf(around, each);
    left -= 1;
    if (left < 0) return "null";
    const treatment = declaredAt(place)?.treatment;
    // Also where something below may be in plain text: the rest must not be revealed.
    if (treatment === "omit") {
      if (place.isRoot) left = -1;
      return `"${OMITTED}"`;
    }
    if (each === null || each === undefined) return "null";
    if (Array.isArray(each)) return `[${each.map((one, index) => write(one, element(place, index))).join(",")}]`;
    if (typeof each === "object" && !(each instanceof NumberToken)) {
      const members = Object.entries(each).map(
        ([name, one]) => `${plainJsonText(nameOf(name, place))}:${write(one, step(place, name))}`,
      );
      return `{${members.join(",")}}`;
    }
    return writeScalar(each as Scalar, treatment === "plain");
  };
  const writeScalar = (each: Scalar, shown: boolean): string => {
    const token = each instanceof NumberToken ? each.text : String(each);
    if (typeof each === "string" || isByText)
      return shown ? plainJsonText(`=${token}`) : `"t${digests?.text(token) ?? ""}"`;
    if (typeof each === "boolean") return shown ? token : `"b${digests?.flag(each) ?? ""}"`;
    if (shown) return `"+${token}"`;
    if (digests === undefined) return `"n"`;
    const digest = digests.number(token);
    return digest === undefined ? `"${ODD_NUMBER}"` : `"n${digest}"`;
  };
  const nameOf = (name: string, place: Place): string => {
    const treatment = declaredAt(place)?.treatment;
    const isHidden = treatment === "digest" && !place.isRoot && !namesExactly(place, name);
    if (!isHidden && isSchemaName(name)) return name;
    if (treatment === "plain") return `=${name}`;
    if (digests === undefined) {
      left = -1;
      return "#";
    }
    return hiddenName(digests, name);
  };

  const text = write(value, begin(plan));
  return left < 0 ? undefined : text;
}

type Scalar = string | number | boolean | NumberToken;

/** Represents a number that cannot be compared with any policy's number: comparisons with it are unknown. */
const ODD = new NumberToken("1e9999999");

/** Maps digests back to values and names. */
export interface Known {
  /** Reads unknown values as a text that no policy names. For claims, which are compared only with texts. */
  readonly isByText?: boolean;
  /** ID of the key; undefined without one: digests then reveal only the type of a value. */
  readonly keyId: string | undefined;
  /** @param written "t" and a digest … @returns undefined for a value that no policy names */
  value(written: string): string | number | boolean | undefined;
  /** @param written "#" and digests @returns a name that matches like it: the name itself if a policy has it */
  name(written: string): string;
}

/** @throws RangeError for anything that `writeTree` never writes, and for names that cannot be read without the key */
export function readTree(written: unknown, known: Known): unknown {
  if (written === null || typeof written === "boolean") return written;
  if (typeof written === "string") return readScalar(written, known);
  if (Array.isArray(written)) return written.map((each) => readTree(each, known));
  if (!isRecord(written)) throw noForm();
  return readMembers(written, known);
}

/** Does the same for an object. @param wanted names of members; default: all */
export function readMembers(written: Members, known: Known, wanted?: ReadonlySet<string>): Members {
  const read: Record<string, unknown> = {};
  for (const writtenName of Object.keys(written)) {
    const name = readName(writtenName, known);
    if (wanted?.has(name) === false) continue;
    const value = readTree(written[writtenName], known);
    // Defined as an ordinary member: an assignment would set the prototype.
    if (name === "__proto__") Object.defineProperty(read, name, { value, enumerable: true });
    else read[name] = value;
  }
  return read;
}

function readScalar(written: string, known: Known): unknown {
  switch (written[0]) {
    case "=":
      return written.slice(1);
    case "+":
      return new NumberToken(written.slice(1));
    case ODD_NUMBER:
      return ODD;
    case OMITTED:
      return new OmittedToken();
    case "t":
      return known.value(written) ?? withheld("string", written, known);
    case "n":
      return known.value(written) ?? withheld("number", written, known);
    case "b":
      return known.value(written) ?? withheld("boolean", written, known);
    default:
      throw noForm();
  }
}

function withheld(type: WithheldType, written: string, { keyId, isByText }: Known): Withheld | string {
  if (isByText === true) return `\0${written}`;
  return new Withheld(type, keyId === undefined || written.length === 1 ? undefined : written.slice(1));
}

function readName(written: string, known: Known): string {
  if (written.startsWith("=")) return written.slice(1);
  return written.startsWith("#") ? known.name(written) : written;
}

function noForm(): RangeError {
  return new RangeError('a value of "replay" has no form that a gateway writes');
}
