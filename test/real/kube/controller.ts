/** `gateway ingress watch` as a process next to a real cluster, which publishes to a directory. */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../support/ports.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import type { Cluster } from "./cluster.ts";

const MAIN = new URL("../../../runtime/main.ts", import.meta.url).pathname;

export interface ControllerCommand {
  readonly kubeconfig: string;
  /** More arguments. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [member: string]: unknown;
}

export interface RunningController {
  readonly process: RealProcess;
  /** Its log lines with this message. */
  logged(message: string): readonly Line[];
  readyz(): Promise<{ readonly status: number; readonly leader: boolean; readonly problems: readonly string[] }>;
  /** Value of a series, with labels as written there; 0 if there is none. */
  metric(series: string): Promise<number>;
  /** Hosts of the published routes, sorted. */
  hosts(): Promise<readonly string[]>;
  close(): Promise<void>;
}

let started = 0;

export async function startController(
  cluster: Cluster,
  { kubeconfig, args = [], env = {} }: ControllerCommand,
): Promise<RunningController> {
  started += 1;
  const directory = join(cluster.directory, `slices-${started}`);
  await mkdir(directory);
  const health = `127.0.0.1:${await freePort()}`;
  const running = await startProcess(
    process.execPath,
    [
      MAIN,
      "ingress",
      "watch",
      "--kubeconfig",
      kubeconfig,
      "--publish-directory",
      directory,
      "--lease",
      "gateway/gateway-ingress-controller",
      "--health-address",
      health,
      "--no-tls-secrets",
      ...args,
    ],
    /watching ingresses/,
    { cwd: cluster.directory, env },
  );
  return {
    process: running,
    logged: (message) => linesOf(running.text()).filter(({ msg }) => msg === message),
    async readyz() {
      const answer = await fetch(`http://${health}/readyz`);
      const body = (await answer.json()) as { readonly leader: boolean; readonly problems: readonly string[] };
      return { status: answer.status, ...body };
    },
    async metric(series) {
      const text = await (await fetch(`http://${health}/metrics`)).text();
      const line = text.split("\n").find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length) ?? 0);
    },
    async hosts() {
      const files = (await readdir(directory)).filter((name) => name.endsWith(".json"));
      const slices = await Promise.all(files.map((name) => readFile(join(directory, name), "utf8")));
      const routes = slices.flatMap((text) =>
        Object.values((JSON.parse(text) as { routes: Record<string, { from: string }> }).routes),
      );
      return [...new Set(routes.map(({ from }) => new URL(from).host))].toSorted();
    },
    close: () => running.close(),
  };
}

/** Lines that are not JSON are warnings of Node. */
export function linesOf(text: string): readonly Line[] {
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch {
      return [];
    }
  });
}
