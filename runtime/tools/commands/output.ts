/** Output of commands: tables as text, or JSON. */
import { terminalText } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";

/**
 * All output goes through these two functions: user IDs and names come from others, and must not steer the terminal.
 */
export function printLine(text: string): void {
  console.log(terminalText(text));
}

export function printError(text: string): void {
  console.error(terminalText(text));
}

export type OutputRow = Readonly<Record<string, string | number | undefined>>;

/** @param isJson one JSON array; otherwise columns, or `none` when there is nothing */
export function printRows(rows: readonly OutputRow[], isJson: boolean, none: string): void {
  if (isJson) return printLine(JSON.stringify(rows, null, 2));
  const [first] = rows;
  if (!first) return printLine(none);
  const names = Object.keys(first);
  const lines = [names, ...rows.map((row) => names.map((name) => show(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    printLine(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
}

/**
 * Reports which of the named objects do not exist. @param act false: it does not exist @returns the number of those
 * that did
 */
export async function forEachNamed(
  names: readonly string[],
  what: string,
  act: (name: string) => Promise<boolean>,
): Promise<number> {
  let found = 0;
  for (const name of names) {
    if (await act(name)) found += 1;
    else printError(`There is no ${what} ${JSON.stringify(name)}`);
  }
  return found;
}

/** Names from outside (clients choose theirs freely) must not steer the terminal. */
function show(value: string | number | undefined): string {
  return visibleText(String(value ?? ""));
}

/** Help about exit codes, below the options of a command. */
export const EXIT_STATUS = {
  ready: exitStatus([0, "ready"], [1, "not ready: starting, draining or unreachable"]),
  explain: exitStatus([0, "allowed"], [3, "denied"], [4, "allowed once it is approved"], [1, "cannot be determined"]),
  rotate: exitStatus(
    [0, "continue with the printed step"],
    [3, "not yet: processes are not ready, or the old secret is still needed"],
    [1, "cannot be determined"],
  ),
  verify: exitStatus(
    [0, "complete"],
    [3, "records are missing, changed or moved"],
    [4, "no problem found, but not all records are signed or were given"],
    [1, "cannot be determined"],
  ),
  diff: exitStatus([0, "access is the same"], [3, "access differs"], [1, "cannot be compared"]),
  replay: exitStatus(
    [0, "no decision changes"],
    [3, "decisions change"],
    [4, "no change found, but not all records can be decided again"],
    [1, "cannot be determined"],
  ),
} as const;

function exitStatus(...codes: readonly (readonly [code: number, meaning: string])[]): string {
  return ["", "Exit status:", ...codes.map(([code, meaning]) => `  ${code}  ${meaning}`)].join("\n");
}
