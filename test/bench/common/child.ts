/** Starts a target of the benchmark as its own process and waits for the line that tells its port. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";

export interface Child {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/** The proxy under test runs on one core, load and upstream on the other, where the machine can pin them; or wherever it likes. */
export type Core = "target" | "rest" | "any";

export const REST_CORE = "1";

export async function startChild(
  core: Core,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Child> {
  const isPinned = core !== "any" && existsSync("/usr/bin/taskset");
  const pinned = isPinned ? ["/usr/bin/taskset", "-c", core === "target" ? "0" : REST_CORE] : [];
  const [program, ...rest] = [...pinned, command, ...args];
  const child = spawn(program ?? command, rest, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const port = await firstNumber(child);
  return {
    // taskset replaces itself by the command, so this is the target's own process.
    pid: child.pid ?? 0,
    port,
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        const timer = setTimeout(() => child.kill("SIGKILL"), 3000);
        child.once("exit", () => {
          clearTimeout(timer);
          child.stdout?.destroy();
          resolve();
        });
        // Not SIGKILL: nginx would leave its workers behind, and they hold our pipe.
        child.kill("SIGTERM");
      }),
  };
}

function firstNumber(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const line = /(?:^|:)(\d{4,5})\/?\s*$/m.exec(text);
      if (line) resolve(Number(line[1]));
    });
    child.once("exit", (code) => reject(new Error(`Target exited with ${code} before it told its port: ${text}`)));
  });
}
