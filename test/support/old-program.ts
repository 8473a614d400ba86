/**
 * A program that knows only the first step of the store's tables, to run next to the current one: the current program with an
 * option. Before the first release, programs from the repository's history do not work: they seal cookies and tickets
 * differently, and a browser cannot move between the two.
 */
const ROOT = new URL("../..", import.meta.url).pathname;

/** Node's arguments, up to the command. */
export const OLD_PROGRAM: readonly string[] = [
  "--import",
  `${ROOT}test/support/fewer-steps.ts`,
  `${ROOT}runtime/main.ts`,
];
