/** The steps that UPGRADING and the provider's page give to users, as they are written there. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * @param page below runtime/
 * @returns its shell blocks below the heading, without the line on what they need
 */
export function stepsOf(page: string, heading: string): readonly string[] {
  const text = readFileSync(new URL(`../../runtime/${page}`, import.meta.url), "utf8");
  const [, section = ""] = text.split(`\n${heading}\n`);
  const [own = ""] = section.split(/\n## /);
  return [...own.matchAll(/^( *)```sh\n([^]*?)^ *```/gm)].map(([, indent = "", body = ""]) =>
    body.replaceAll(new RegExp(`^${indent}`, "gm"), "").replaceAll(/^#.*\n/gm, ""),
  );
}

/** Runs a block as a user does, up to the first command that fails. @returns both outputs @throws Error with them */
export function runSteps(block: string, cwd: string, env: Readonly<Record<string, string>> = {}): string {
  try {
    return execFileSync("bash", ["-c", `set -e -o pipefail; exec 2>&1\n${block}`], {
      cwd,
      env: { ...process.env, ...env },
      encoding: "utf8",
    });
  } catch (error) {
    const { message, stdout } = error as Error & { readonly stdout?: string };
    throw new Error(`${message}\n${stdout ?? ""}`, { cause: error });
  }
}
