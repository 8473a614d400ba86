/**
 * Environment of programs written in Go (Terraform, tsc) that end after seconds: the garbage collector takes a fifth to a third
 * of their CPU time, and they hold little memory without it. Not for programs that stay, such as esbuild in a test's process.
 *
 * @see https://pkg.go.dev/runtime#hdr-Environment_Variables
 */
export const QUICK_GO = { GOGC: "off", GOMEMLIMIT: "1GiB" };

/** For commands with an environment of their own. Node finds compiled code where the tests store it. */
export const QUICK_START = { ...QUICK_GO, NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] };
