/**
 * A network and mounts of the test run alone, so that Gateways have ports 80 and 443, each pod an address of its own and
 * Services their names, without any change for the host. `npm run test:real` starts the tests in it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { run } from "../common/cache.ts";
import { HOST_NAMESPACES, namespaces } from "../common/own-network.ts";

/** Of the gateways, on the pods' bridge. */
export const GATEWAY_ADDRESS = "10.244.0.1";
/** As `--service-cluster-ip-range` of the API server. */
const SERVICES = "10.96.0.0/16";

const ip = (...args: readonly string[]): Promise<string> => run("ip", args, "/");

/** @throws Error where the network or the mounts are the host's */
export async function openNetwork(): Promise<void> {
  const ofHost = process.env[HOST_NAMESPACES]?.split(" ");
  if (!ofHost || namespaces().some((each) => ofHost.includes(each)))
    throw new Error("these tests change network and mounts: run them by `npm run test:real -- gateway-api`");
  await ip("link", "add", "pods", "type", "bridge");
  await ip("addr", "add", `${GATEWAY_ADDRESS}/16`, "dev", "pods");
  await ip("link", "set", "pods", "up");
  await ip("route", "add", "local", SERVICES, "dev", "lo");
}

export interface Hosts {
  /** Host name → addresses. */
  write(names: ReadonlyMap<string, readonly string[]>): Promise<void>;
}

/** Names that processes of this network look up, in a file that is mounted over /etc/hosts. */
export async function openHosts(directory: string): Promise<Hosts> {
  const file = join(directory, "hosts");
  const fixed = "127.0.0.1 localhost\n::1 localhost\n";
  let written = fixed;
  await writeFile(file, fixed);
  await run("mount", ["--bind", file, "/etc/hosts"], "/");
  return {
    async write(names) {
      const lines = [...names].flatMap(([name, addresses]) => addresses.map((address) => `${address} ${name}\n`));
      const text = fixed + lines.toSorted().join("");
      if (text !== written) await writeFile(file, text);
      written = text;
    },
  };
}

export interface PodProcess {
  readonly address: string;
  close(): Promise<void>;
}

let started = 0;
const children = new Set<ChildProcess>();
// Last resort when a run ends without its hooks.
process.once("exit", () => children.forEach((child) => child.kill("SIGKILL")));

/** Starts a program in a network of its own with the next address, as a pod has it. */
export async function startInPod(program: string, env: Readonly<Record<string, string>>): Promise<PodProcess> {
  started += 1;
  const number = started + 1;
  const address = `10.244.${Math.floor(number / 256)}.${number % 256}`;
  const child = spawn("unshare", ["--net", "sh", "-c", 'echo here && read _ && exec "$0"', program], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  children.add(child);
  await once(child.stdout, "data");
  child.stdout.resume();
  const inPod = (...args: readonly string[]): Promise<string> =>
    run("nsenter", ["-t", String(child.pid), "-n", "ip", ...args], "/");
  await ip("link", "add", `pod${number}`, "type", "veth", "peer", "name", "eth0", "netns", String(child.pid));
  await ip("link", "set", `pod${number}`, "master", "pods", "up");
  await inPod("addr", "add", `${address}/16`, "dev", "eth0");
  await inPod("link", "set", "eth0", "up");
  await inPod("link", "set", "lo", "up");
  child.stdin.write("\n");
  return {
    address,
    async close() {
      children.delete(child);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}
