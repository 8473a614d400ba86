/**
 * Time limits of tests. A limit ends what hangs: it is about ten times what the work takes on a quiet machine, so that no
 * test depends on the speed of the machine. What the product promises within a time is not a limit of this kind.
 */

/** Default of a test. */
export const TEST_MS = 180_000;
/** Default of a hook: it often starts a world of processes. */
export const HOOK_MS = 300_000;
/** Default of `expect.poll`, and for a page, process or connection that a test waits for. */
export const POLL_MS = 60_000;
/** For tests and commands that run other programs: npm, Terraform, builds, examples. */
export const LONG_MS = 30 * 60_000;
