/** A difference as text, for reviewers without a manual. */
import type { Item } from "./items.ts";
import type { ComparedPlace } from "./places.ts";
import { namesOf, type DiffStatement } from "./statements.ts";

export interface Words {
  /** Whether values of arguments and addresses in rules may be shown. */
  readonly withExamples: boolean;
}

const MAX_NAMES = 8;

/** "group staff gains the tool merge, such as with {"env":"dev"}" */
export function statementText(statement: DiffStatement, { withExamples }: Words): string {
  const { who, people, unchanged, still } = statement;
  const subject = namesOf(who);
  const effect = predicate(statement, subject.length > 1);
  const example = withExamples ? exampleText(statement) : "";
  const except = [
    ...(unchanged.length === 0
      ? []
      : [`${statement.direction === "loses" ? "not" : "could already"}: ${list(namesOf(unchanged))}`]),
    ...(still.length === 0 ? [] : [`still not: ${list(namesOf(still))}`]),
  ];
  const exceptions = except.length === 0 ? "" : ` (${except.join("; ")})`;
  if (people === undefined) return `${list(subject)} ${effect}${example}${exceptions}`;
  return `${subject.length} of ${people} given users ${effect}${example}: ${list(subject)}`;
}

function predicate(statement: DiffStatement, isMany: boolean): string {
  const { direction } = statement;
  const verb = (one: string, many: string): string => (isMany ? many : one);
  switch (direction) {
    case "gains":
      return gainText(statement, verb);
    case "loses":
      return lossText(statement, verb);
    case "mixed":
      return `${verb("gains", "gain")} some ${whatText(statement, true)} and ${verb("loses", "lose")} others`;
    case "approvers":
      return `${verb("has", "have")} other approvers for ${whatText(statement, false)}`;
    case "shown":
      return `${verb("sees", "see")} ${whatText(statement, false)} in lists; no request was found that is allowed`;
    case "hidden":
      return `no longer ${verb("sees", "see")} ${whatText(statement, false)} in lists; no request was found that was allowed`;
  }
  return direction satisfies never;
}

type Verb = (one: string, many: string) => string;

function gainText(statement: DiffStatement, verb: Verb): string {
  const { before, after } = statement;
  const moves = statement.moves.filter((move) => move !== "11");
  const isAll = after === "all" || after === "approval";
  const more = before === "none" ? "" : "more ";
  const some = whatText(statement, true);
  const what = !isAll
    ? `some ${more}${some}`
    : before === "some"
      ? `all ${some}, not only some`
      : whatText(statement, false);
  if (moves.every((move) => move === "12")) return `no longer ${verb("needs", "need")} approval for ${what}`;
  const isPartly = moves.includes("01") ? (moves.length > 1 ? ", in part with an approval" : ", with an approval") : "";
  return `${verb("gains", "gain")} ${what}${isPartly}`;
}

function lossText(statement: DiffStatement, verb: Verb): string {
  const { before, after } = statement;
  const moves = statement.moves.filter((move) => move !== "11");
  const [what, some] = [whatText(statement, false), whatText(statement, true)];
  if (moves.every((move) => move === "21")) {
    return `${verb("needs", "need")} an approval for ${after === "approval" ? what : `some ${some}`}`;
  }
  if (moves.includes("21"))
    return `${verb("loses", "lose")} some ${some} and ${verb("needs", "need")} an approval for others`;
  if (after !== "none") return `${verb("loses", "lose")} some ${some}`;
  const so =
    before === "some" ? ", of which some were allowed" : before === "approval" ? ", so far with an approval" : "";
  return `${verb("loses", "lose")} ${what}${so}`;
}

/** @param isPart whether the text follows "some" */
function whatText({ items, isEverything, wholeKinds }: DiffStatement, isPart: boolean): string {
  if (isEverything) return isPart ? "requests" : "everything";
  const kinds = [...new Set(items.map(({ kind }) => kind))];
  const texts = kinds.map((kind) => {
    const own = items.filter((item) => item.kind === kind);
    return kindText(kind, own, wholeKinds.has(kind), isPart);
  });
  return list(texts, Infinity);
}

const WHOSE = "whose ";

const UNITS: Readonly<Record<Item["kind"], string>> = {
  message: "messages for ",
  tool: "calls of ",
  prompt: "uses of ",
  resource: "reads of ",
  method: "messages of ",
  request: "of the ",
};

function kindText(kind: Item["kind"], items: readonly Item[], isWhole: boolean, isPart: boolean): string {
  const unit = isPart ? UNITS[kind] : "";
  if (kind === "message") return `${unit}connecting and listing`;
  const named = items.filter(({ isRest }) => !isRest).map(({ name }) => name);
  const hasRest = items.some(({ isRest }) => isRest);
  if (kind === "request") return unit + list(items.map(({ name }) => name));
  if (isWhole && hasRest) return `${unit}${kind === "method" ? "all other methods" : `all ${kind}s`}`;
  const texts = named.filter((name) => !name.startsWith(WHOSE));
  const own = texts.length === 0 ? [] : [`the ${kind}${texts.length > 1 ? "s" : ""} ${list(texts)}`];
  const sorts = named.filter((name) => name.startsWith(WHOSE)).map((name) => `${kind}s ${name}`);
  return unit + list([...own, ...sorts, ...(hasRest ? [`every other ${kind}`] : [])]);
}

function exampleText({ example, direction, after, items }: DiffStatement): string {
  const one = direction === "loses" ? example?.loss : (example?.gain ?? example?.loss);
  if (example === undefined || one === undefined || one.description === "") return "";
  if ((direction === "gains" && after === "all") || (direction === "loses" && after === "none")) return "";
  const what = items.length > 1 ? `${example.item.name} ` : "";
  return `, such as ${what}${one.arguments === undefined ? "" : "with "}${one.description}`;
}

/** "a, b and c"; of long lists the first items and the number of the others. */
export function list(texts: readonly string[], most = MAX_NAMES): string {
  const shown = texts.length > most + 1 ? [...texts.slice(0, most), `${texts.length - most} more`] : texts;
  const last = shown.at(-1) ?? "";
  // Items that contain "and" are separated by semicolons.
  if (shown.some((text) => text.includes(" and "))) return shown.join("; ");
  return shown.length < 2 ? last : `${shown.slice(0, -1).join(", ")} and ${last}`;
}

/** "acme/github  https://github.example.com (new)" */
export function placeText(place: ComparedPlace): string {
  const { old, new: next, address } = place;
  return `${(next ?? old)?.key ?? ""}  ${address}${standing(place)}`;
}

function standing({ old, new: next, elsewhere }: ComparedPlace): string {
  if (!old) return elsewhere === undefined ? " (new)" : ` (previously only at ${elsewhere})`;
  if (!next) return elsewhere === undefined ? " (removed)" : ` (now only at ${elsewhere})`;
  if (old.key !== next.key) return ` (was served by ${old.key})`;
  if (old.place !== next.place) return ` (was at ${old.address})`;
  return old.isServer === next.isServer
    ? ""
    : next.isServer
      ? " (is now an MCP server)"
      : " (is no longer an MCP server)";
}

/** Names from outside must not steer the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}
