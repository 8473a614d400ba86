/** What the figures were made on, and how busy that was with something else. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type as systemType } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { PEERS } from "../peers/peers.ts";

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGibibytes: number;
  readonly system: string;
  readonly node: string;
  /** Of the checkout; with "+" where files differ from it. */
  readonly commit: string;
  readonly versions: readonly { readonly name: string; readonly version: string }[];
}

const ROOT = join(import.meta.dirname, "../../..");

export function describeMachine(peers: readonly string[]): Machine {
  const versions = PEERS.filter(({ name, version }) => peers.includes(name) && version[0] !== process.execPath).map(
    ({ name, version }) => ({ name, version: firstLineOf(version) }),
  );
  const fastify = JSON.parse(readFileSync(join(ROOT, "node_modules/@fastify/http-proxy/package.json"), "utf8")) as {
    version: string;
  };
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGibibytes: Math.round(totalmem() / 2 ** 30),
    system: `${systemType()} ${release()}`,
    node: process.version,
    commit: commitOf(ROOT),
    versions: [...versions, { name: "@fastify/http-proxy", version: fastify.version }],
  };
}

/** @returns the first line that a command prints; "" if it is not installed */
export function firstLineOf([command = "", ...args]: readonly string[]): string {
  const { stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  return error ? "" : ((stdout || stderr).split("\n")[0]?.trim() ?? "");
}

export function commitOf(checkout: string): string {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", checkout, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    return git("rev-parse", "--short=12", "HEAD") + (git("status", "--porcelain") === "" ? "" : "+");
  } catch {
    return "unknown";
  }
}

export interface Business {
  readonly load: string;
  /** Busy cores of all, seconds. */
  readonly busySeconds: number;
  /** Of this process and all it waited for. */
  readonly ownSeconds: number;
  readonly atMs: number;
}

const TICKS_PER_SECOND = 100;

/** At one moment; zero everywhere without /proc. */
export function lookAround(): Business {
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
  try {
    const all = readFileSync("/proc/stat", "utf8").split("\n")[0]?.trim().split(/\s+/).slice(1).map(Number) ?? [];
    // user nice system idle iowait irq softirq steal: all but the two in which nothing ran, and what was taken from us.
    const busy = [0, 1, 2, 5, 6, 7].reduce((sum, index) => sum + (all[index] ?? 0), 0);
    const own = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number);
    const ownTicks = [11, 12, 13, 14].reduce((sum, index) => sum + (own[index] ?? 0), 0);
    return {
      load,
      busySeconds: busy / TICKS_PER_SECOND,
      ownSeconds: ownTicks / TICKS_PER_SECOND,
      atMs: performance.now(),
    };
  } catch {
    return { load, busySeconds: 0, ownSeconds: 0, atMs: performance.now() };
  }
}

/** Share of all cores that others used from one moment to another, 0 to 1. */
export function othersShare(from: Business, until: Business): number {
  const seconds = ((until.atMs - from.atMs) / 1000) * cpus().length;
  const others = until.busySeconds - from.busySeconds - (until.ownSeconds - from.ownSeconds);
  return seconds > 0 ? Math.min(1, Math.max(0, others / seconds)) : 0;
}

/** What others do while we do nothing. */
export async function watchQuietly(ms: number): Promise<number> {
  const before = lookAround();
  await delay(ms);
  return othersShare(before, lookAround());
}
