/**
 * kube-apiserver, kube-controller-manager and kubectl, built from the Go module of Kubernetes (Go 1.26, about half an hour of
 * processor time), and etcd out of Debian's package. A pod's files are mounted for one process, which needs mount namespaces.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const KUBERNETES_VERSION = "1.35.1";

export interface KubePrograms {
  readonly etcd: string;
  readonly apiserver: string;
  readonly controllerManager: string;
  readonly kubectl: string;
  /** Folder of these, for a PATH. */
  readonly directory: string;
}

/** @throws Error with the reason where it cannot be had */
export async function installKube(): Promise<KubePrograms> {
  await run("unshare", ["--mount", "true"], "/").catch((error: unknown) => {
    throw new Error("a pod's files are mounted with `unshare --mount`, which this user may not", { cause: error });
  });
  const directory = await cached(`kubernetes-${KUBERNETES_VERSION}`, async (fresh) => {
    await unpackEtcd(fresh);
    await build(fresh);
  });
  const at = (name: string): string => join(directory, name);
  return {
    etcd: at("etcd"),
    apiserver: at("kube-apiserver"),
    controllerManager: at("kube-controller-manager"),
    kubectl: at("kubectl"),
    directory,
  };
}

/** Unpacks Debian's package without installing it: starts no service and needs no root. */
async function unpackEtcd(directory: string): Promise<void> {
  const place = join(directory, "package");
  await mkdir(place);
  await run("apt-get", ["download", "etcd-server"], place).catch(async () => {
    // Lists of packages are absent or old.
    await run("apt-get", ["update"], place);
    await run("apt-get", ["download", "etcd-server"], place);
  });
  const [file = ""] = await readdir(place);
  await run("dpkg-deb", ["-x", file, "unpacked"], place);
  await rename(join(place, "unpacked/usr/bin/etcd"), join(directory, "etcd"));
  await rm(place, { recursive: true });
}

/**
 * Kubernetes' own go.mod with its staging modules from the proxy instead of folders: each dependency has the version of the
 * release, without a look-up.
 */
async function build(directory: string): Promise<void> {
  const sources = join(directory, "sources");
  await mkdir(sources);
  const name = "k8s.io/kubernetes";
  const found = await run("go", ["mod", "download", "-json", `${name}@v${KUBERNETES_VERSION}`], sources);
  // The command also prints what it downloads.
  const { Dir: released } = JSON.parse(found.slice(found.indexOf("{"))) as { readonly Dir: string };
  const own = await readFile(join(released, "go.mod"), "utf8");
  const staging = KUBERNETES_VERSION.replace(/^1/, "0");
  const text = own
    .replace(/^module .*$/m, "module gateform.test/kube")
    .replace(/=> \.\/staging\/src\/(\S+)$/gm, `=> $1 v${staging}`);
  await writeFile(join(sources, "go.mod"), `${text}\nrequire ${name} v${KUBERNETES_VERSION}\n`);
  await writeFile(join(sources, "go.sum"), await readFile(join(released, "go.sum")));
  await run("go", ["mod", "download"], sources);
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=v${KUBERNETES_VERSION}`;
  for (const program of ["kube-apiserver", "kubectl", "kube-controller-manager"]) {
    const args = ["-mod=mod", "-p", "2", "-ldflags", flags, "-o", join(directory, program), `${name}/cmd/${program}`];
    await run("go", ["build", ...args], sources);
  }
  await rm(sources, { recursive: true });
}
