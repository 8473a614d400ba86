/** Runs the steps of examples/kubernetes-ingress in a cluster, exactly as written. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { makeTestCertificate } from "../../support/certificates.ts";
import { example } from "../../support/kube-example.ts";
import type { Cluster } from "./cluster.ts";

/** Service account of the controller, in the manifests. */
export const ACCOUNT = "gateway/gateway";

/** The commands of "In a cluster", with a namespace `shop` of a team. @returns the certificate that they store */
export async function followReadme(cluster: Cluster): Promise<ReturnType<typeof makeTestCertificate>> {
  const folder = await mkdtemp(join(cluster.directory, "example-"));
  await cp(example, folder, { recursive: true });
  const readme = await readFile(join(folder, "README.md"), "utf8");
  const [, commands] = /^## In a cluster$.*?^```sh$(.*?)^```$/ms.exec(readme) ?? [];
  if (commands === undefined) throw new Error("README.md has no commands for a cluster");
  const fallback = makeTestCertificate({ name: "fallback", dns: ["*.example.com"] });
  await writeFile(join(folder, "tls.crt"), fallback.cert);
  await writeFile(join(folder, "tls.key"), fallback.key);
  await cluster.api("POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
  const env = {
    ...process.env,
    PATH: `${cluster.programs.directory}:${process.env["PATH"]}`,
    KUBECONFIG: cluster.adminConfig,
    HOME: cluster.directory,
  };
  // One gateway needs no database.
  const written = commands.replace("postgres://USER:PASSWORD@HOST/DATABASE", "memory:");
  await promisify(execFile)("sh", ["-e", "-c", written], { cwd: folder, env });
  return fallback;
}

/** Files of the example's Secret, as in a pod. */
export async function secretFiles(cluster: Cluster, name: string): Promise<Readonly<Record<string, string>>> {
  const path = `/api/v1/namespaces/gateway/secrets/${name}`;
  const { data } = await cluster.api<{ readonly data: Readonly<Record<string, string>> }>("GET", path);
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
  );
}
