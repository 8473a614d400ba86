/** Problems of a configuration with links to the settings they are about. */
import type { Field } from "../../settings/field.ts";
import { formatProblem, parsePath, type Problem, type ValuePath } from "../../settings/problem.ts";
import { secretOfAttribute } from "../../settings/secret-forms.ts";
import { shapeOf } from "../../settings/shapes.ts";
import { DOCUMENTATION, rowAnchor } from "./documentation-pages.ts";
import { routeFields } from "../route.ts";
import { settingsFields } from "../settings.ts";
import { settingsPages } from "./reference.ts";

/** Links below a list of problems; further settings have none. */
const MAX_LINKS = 5;

/** One problem per line, then one line with the settings in the reference. */
export function problemsText(problems: readonly Problem[]): string {
  return [...problems.map(formatProblem), ...documentationLine(problems)].join("\n");
}

/** "Documentation: …", or nothing. @param problems with paths, or with their text */
export function documentationLine(problems: readonly { readonly path: ValuePath | string }[]): readonly string[] {
  const links = problems.map(({ path }) => docsOfSetting(typeof path === "string" ? parsePath(path) : path));
  let before = "";
  const short = [...new Set(links.flatMap((link) => link ?? []))].slice(0, MAX_LINKS).map((link) => {
    const [page = "", anchor = ""] = link.split("#");
    const isSame = page === before;
    before = page;
    return isSame ? `#${anchor}` : link;
  });
  return short.length === 0 ? [] : [DOCUMENTATION + short.join(", ")];
}

/** Name of a row → its page. */
let rows: ReadonlyMap<string, string> | undefined;

/**
 * The reference's row of a setting, or of the nearest block around it.
 *
 * @param path in a file or slice, such as ["routes", 0, "timeout"]; undefined for the whole file and unknown settings
 */
export function docsOfSetting(path: ValuePath): string | undefined {
  rows ??= new Map(
    [...settingsPages()].flatMap(([page, text]) =>
      [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = ""]) => [name, page] as const),
    ),
  );
  const [top] = path;
  const steps = top === "routes" ? path.slice(2) : top === "settings" ? path.slice(1) : path;
  let fields: readonly Field[] = top === "routes" ? routeFields : settingsFields;
  let row = "";
  let known: string | undefined;
  for (let at = 0; at < steps.length; at++) {
    const name = String(steps[at]);
    const field = fields.find((each) => each.name === name || each.name === secretOfAttribute(name));
    if (field === undefined) break;
    row += row === "" ? field.name : `.${field.name}`;
    if (rows.has(row)) known = row;
    const shape = shapeOf(field);
    // The step into a list or a map of blocks.
    if (shape === "blocks" || shape === "labelled") at += 1;
    if (shape === "blocks") row += "[]";
    if (shape === "labelled") row += ".<name>";
    fields = field.fields ?? [];
  }
  return known === undefined ? undefined : `${rows.get(known)}#${rowAnchor(known)}`;
}
