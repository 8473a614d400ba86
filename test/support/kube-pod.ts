/**
 * The containers of a pod as processes of this host: the manifest's own arguments, environment and volumes. Two things differ
 * from a cluster: ports are free ones, and volumes are below a folder of the test, so both are rewritten in the manifest
 * (arguments and ConfigMaps).
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Manifest } from "./kustomize.ts";
import { freePort } from "./ports.ts";

const MAIN = new URL("../../runtime/main.ts", import.meta.url).pathname;

export interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

export interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
}

interface Item {
  readonly key: string;
  readonly path: string;
}

export interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName: string; readonly items?: readonly Item[] };
  readonly projected?: { readonly sources: readonly { readonly configMap?: { readonly name: string } }[] };
}

export interface Pod {
  /** Local port of the named port. */
  port(name: string): number;
  /** @param env in addition to the manifest's @param prefix of the command, which runs it elsewhere */
  start(container: string, env?: Readonly<Record<string, string>>, prefix?: readonly string[]): RunningContainer;
  /** Replaces the content of a volume atomically, like the kubelet. */
  swap(volume: string, files: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

export interface RunningContainer {
  readonly process: ChildProcess;
  /** Its output so far. */
  said(): string;
  /** Exit code. */
  readonly ended: Promise<number | null>;
}

/** Secret → key → value. */
export type SecretFiles = Readonly<Record<string, Readonly<Record<string, string>>>>;

export function podOf(manifests: readonly Manifest[]): PodSpec {
  const deployment = manifests.find(({ kind }) => kind === "Deployment");
  if (!deployment) throw new Error("There is no Deployment");
  return (deployment["spec"] as { readonly template: { readonly spec: PodSpec } }).template.spec;
}

export async function createPod(manifests: readonly Manifest[], secrets: SecretFiles): Promise<Pod> {
  const spec = podOf(manifests);
  const root = await mkdtemp(join(tmpdir(), "gateway-pod-"));
  const ports = new Map<string, { readonly written: number; readonly real: number }>();
  for (const { ports: written = [] } of spec.containers) {
    for (const { name, containerPort } of written) ports.set(name, { written: containerPort, real: await freePort() });
  }
  const mounts = spec.containers.flatMap(({ volumeMounts }) => volumeMounts);
  const running: RunningContainer[] = [];
  let versions = 0;

  for (const volume of spec.volumes) {
    const files = filesOf(volume);
    if (files) await write(volume.name, files);
  }

  return {
    port: (name) => ports.get(name)?.real ?? 0,
    start(name, env = {}, prefix = []) {
      const container = spec.containers.find((each) => each.name === name);
      if (!container) throw new Error(`There is no container ${name}`);
      const own = Object.fromEntries((container.env ?? []).map((each) => [each.name, each.value]));
      const [command = "", ...args] = [...prefix, process.execPath, MAIN, ...container.args.map(here)];
      const child = spawn(command, args, {
        cwd: root,
        env: { PATH: process.env["PATH"], ...own, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let said = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
      const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
      const started = { process: child, said: () => said, ended };
      running.push(started);
      return started;
    },
    swap: write,
    async close() {
      for (const { process: child } of running) child.kill("SIGKILL");
      await Promise.all(running.map(({ ended }) => ended));
      await rm(root, { recursive: true, force: true });
    },
  };

  function here(text: string): string {
    let result = text;
    for (const { mountPath } of mounts) result = result.replaceAll(mountPath, join(root, mountPath));
    for (const { written, real } of ports.values()) result = result.replaceAll(`:${written}`, `:${real}`);
    return result;
  }

  /** Undefined for what only a kubelet has. */
  function filesOf({ name, secret, projected }: Volume): Readonly<Record<string, string>> | undefined {
    if (secret) {
      const found = secrets[secret.secretName];
      if (!found) throw new Error(`Volume ${name} wants Secret ${secret.secretName}, which nobody makes`);
      const items = secret.items ?? Object.keys(found).map((key) => ({ key, path: key }));
      return Object.fromEntries(items.map(({ key, path }) => [path, found[key] ?? missing(`key ${key}`)]));
    }
    const sources = projected?.sources ?? [];
    if (sources.some((source) => !source.configMap)) return undefined;
    return Object.assign({}, ...sources.map(({ configMap }) => dataOf(configMap?.name ?? ""))) as Record<
      string,
      string
    >;
  }

  function dataOf(name: string): Readonly<Record<string, string>> {
    const map = manifests.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === name);
    return (map?.["data"] as Readonly<Record<string, string>> | undefined) ?? missing(`ConfigMap ${name}`);
  }

  /** Layout of the kubelet: files are links through `..data`, which is swapped. */
  async function write(volume: string, files: Readonly<Record<string, string>>): Promise<void> {
    for (const { mountPath } of mounts.filter(({ name }) => name === volume)) {
      const folder = join(root, mountPath);
      versions += 1;
      const version = `..${versions}`;
      await mkdir(join(folder, version), { recursive: true });
      for (const [name, text] of Object.entries(files)) {
        await writeFile(join(folder, version, name), here(text));
        await symlink(join("..data", name), join(folder, name)).catch(ignoreExisting);
      }
      await symlink(version, join(folder, "..data_tmp"));
      await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    }
  }
}

function missing(what: string): never {
  throw new Error(`There is no ${what}`);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
