/**
 * A program that knows the first step of the store's tables only, to be run next to the present one: the present program, which is
 * told so. Programs from the repository's history will not do before the first release: their cookies and tickets are sealed
 * otherwise, and a browser cannot go from one to the other.
 */
const ROOT = new URL("../..", import.meta.url).pathname;

/** What Node runs, up to the command. */
export const OLD_PROGRAM: readonly string[] = [
  "--import",
  `${ROOT}test/support/fewer-steps.ts`,
  `${ROOT}runtime/main.ts`,
];
