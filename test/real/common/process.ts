/** A server of a real system, as a process of a test's own. */
import { spawn } from "node:child_process";
import { once } from "node:events";

export interface RealProcess {
  readonly pid: number;
  /** Match of the output that reported it as ready. */
  readonly ready: RegExpExecArray;
  /** All that it printed. */
  text(): string;
  /** Writes a line to it, and waits for what it prints then. */
  say(line: string, pattern: RegExp): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Ends it, and waits for that. */
  close(signal?: NodeJS.Signals): Promise<void>;
}

export interface RealProcessOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** @returns once it has printed something that matches. @throws Error with what it printed when it ends before that */
export async function startProcess(
  command: string,
  args: readonly string[],
  pattern: RegExp,
  { cwd, env }: RealProcessOptions = {},
): Promise<RealProcess> {
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // Last resort when a run ends without its hooks.
  const cleanUp = (): void => void child.kill("SIGKILL");
  process.once("exit", cleanUp);
  let text = "";
  const ready = await new Promise<RegExpExecArray>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const match = pattern.exec(text);
      if (match) resolve(match);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`"${command} ${args.join(" ")}" ended:\n${text}`)));
  });
  return {
    pid: child.pid ?? 0,
    ready,
    text: () => text,
    async say(line, pattern) {
      child.stdin.write(`${line}\n`);
      while (!pattern.test(text)) await once(child.stdout, "data");
    },
    signal: (signal) => void child.kill(signal),
    async close(signal = "SIGTERM") {
      process.off("exit", cleanUp);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill(signal);
      await gone;
    },
  };
}
