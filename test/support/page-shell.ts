/** Shell blocks of pages, run as a reader runs them: bash, the page's files around, `gateway` on the path. */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { HOOK_MS } from "./limits.ts";

const MAIN = new URL("../../runtime/main.ts", import.meta.url).pathname;

export interface PageShell {
  /** Where its commands run. */
  readonly directory: string;
  write(name: string, text: string): void;
  /**
   * Runs a block to its end, or until it says `until`; then everything that it started is ended.
   * A line with "# exit status N" must end with N, every other one with 0.
   *
   * @returns standard output and error, with "+" before each command
   * @throws Error with that when a line ends otherwise
   */
  run(
    block: string,
    until?: { readonly says: RegExp; readonly ask: (match: RegExpExecArray) => Promise<void> },
  ): Promise<string>;
  close(): void;
}

export function openPageShell(): PageShell {
  const directory = mkdtempSync(join(tmpdir(), "gateform-page-"));
  const bin = join(directory, ".bin");
  mkdirSync(bin);
  writeFileSync(
    join(bin, "gateway"),
    `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"\n`,
  );
  chmodSync(join(bin, "gateway"), 0o755);
  return {
    directory,
    write: (name, text) => writeFileSync(join(directory, name), text),
    run(block, until) {
      // A separate process group: all processes of the block end with it.
      const child = spawn("bash", ["-xeo", "pipefail", "-c", withStatuses(block)], {
        cwd: directory,
        env: { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` },
        stdio: ["ignore", "pipe", "pipe"],
        detached: true,
      });
      return new Promise((resolve, reject) => {
        let output = "";
        let isAsked = false;
        const end = (): void => {
          try {
            process.kill(-(child.pid ?? 0), "SIGKILL");
          } catch {
            // It has ended already.
          }
        };
        const timer = setTimeout(end, HOOK_MS);
        const read = (chunk: Buffer): void => {
          output += chunk.toString("utf8");
          const match = isAsked ? null : (until?.says.exec(output) ?? null);
          if (!match) return;
          isAsked = true;
          until?.ask(match).then(end, (error: unknown) => {
            end();
            reject(error);
          });
        };
        child.stdout.on("data", read);
        child.stderr.on("data", read);
        child.once("close", (code) => {
          clearTimeout(timer);
          if (isAsked || (code === 0 && until === undefined)) resolve(output);
          else reject(new Error(`The block ended with ${String(code)}:\n${output}`));
        });
      });
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** `command   # exit status 3: …` → the command, and an error unless that is its status. */
function withStatuses(block: string): string {
  return block.replaceAll(
    /^(.*?)\s+# exit status (\d+)\b.*$/gm,
    (_, command: string, status: string) => `{ ${command}; } && status=0 || status=$?; [ "$status" = ${status} ]`,
  );
}
