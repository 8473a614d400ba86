/**
 * Time limits of tests. A limit ends a hanging test: it is about ten times the time of the work on an idle host, so that no
 * test depends on the host's speed. Time limits that the product promises are not limits of this kind.
 */

/** Default of a test. */
export const TEST_MS = 180_000;
/** Default of a hook: it often starts a world of processes. */
export const HOOK_MS = 300_000;
/** Default of `expect.poll`, and for a page, process or connection that a test waits for. */
export const POLL_MS = 60_000;
/** For tests and commands that run other programs: npm, Terraform, builds, examples. */
export const LONG_MS = 30 * 60_000;
