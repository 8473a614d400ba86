/** `gateway run` as a process of its own, for tests that kill it. */
import { spawn, type ChildProcess } from "node:child_process";

const MAIN = new URL("../../runtime/main.ts", import.meta.url).pathname;

/** Resolves once it says that it serves. @param onTestFinished of the test; the process ends with it at the latest */
export function startGatewayProcess(config: string, onTestFinished: (end: () => void) => void): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, "run", "--config", config], { stdio: ["ignore", "ignore", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("gateway serves on")) resolve(child);
    });
    child.once("exit", () => reject(new Error(`The gateway ended:\n${said}`)));
  });
}
