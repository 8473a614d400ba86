/** What serves the Gateways: a gateway for plain HTTP and one for TLS on the same slices, and the controller with the rights of the manifests. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { stringify } from "yaml";

import { makeTestCertificate } from "../../support/certificates.ts";
import { example } from "../../support/kube-example.ts";
import { readManifestFile } from "../../support/kustomize.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import type { Cluster } from "../kube/cluster.ts";
import { ACCOUNT } from "../kube/readme.ts";
import { GATEWAY_ADDRESS } from "./network.ts";

const MAIN = new URL("../../../runtime/main.ts", import.meta.url).pathname;
/** Of the first one, in this network. */
const ADMIN_PORT = 9901;
const NAMESPACES = ["infra", "app-backend", "web-backend"].map((name) => `gateway-conformance-${name}`);
const SECRET = "conformance-secret-of-the-gateways";

export interface RunningGateways {
  /** What the processes printed. */
  logs(): string;
  close(): Promise<void>;
}

export async function startGateways(cluster: Cluster): Promise<RunningGateways> {
  const slices = join(cluster.directory, "slices");
  await mkdir(slices);
  const fallback = makeTestCertificate({ name: "fallback", dns: ["fallback.example.com"] });
  await writeFile(join(cluster.directory, "tls.crt"), fallback.cert);
  await writeFile(join(cluster.directory, "tls.key"), fallback.key);
  const running: RealProcess[] = [];
  const listeners = {
    http: { address: `${GATEWAY_ADDRESS}:80`, insecure_server: true },
    https: {
      address: `${GATEWAY_ADDRESS}:443`,
      certificates: [
        {
          certificate_file: join(cluster.directory, "tls.crt"),
          certificate_key_file: join(cluster.directory, "tls.key"),
        },
      ],
    },
  };
  const file = join(slices, "gateway.yaml");
  await writeFile(file, "", { mode: 0o600 });
  for (const [at, [name, listener]] of Object.entries(listeners).entries()) {
    const own = join(cluster.directory, `${name}.yaml`);
    const log = join(cluster.directory, `${name}.log`);
    await writeFile(own, stringify(mainFile(ADMIN_PORT + at, log, listener)), { mode: 0o600 });
    // One directory of slices for both: each process sees its own main configuration file there.
    const mount = 'mount --bind "$0" "$1" && shift && exec "$@"';
    const args = ["--mount", "sh", "-c", mount, own, file, process.execPath, MAIN, "run", "--config", slices];
    running.push(await startProcess("unshare", args, /gateway serves on/, { cwd: cluster.directory }));
  }
  const status = await fetch(`http://127.0.0.1:${ADMIN_PORT}/status`, {
    headers: { authorization: `Bearer ${SECRET}` },
  });
  const { seal_key: sealKey } = (await status.json()) as { readonly seal_key: object };
  const keyFile = join(cluster.directory, "seal-key.json");
  await writeFile(keyFile, JSON.stringify(sealKey));
  await grantRights(cluster);
  // Routes without a host have the address, in each namespace of the suite.
  const hostsFile = join(cluster.directory, "hosts.yaml");
  await writeFile(hostsFile, stringify({ [GATEWAY_ADDRESS]: NAMESPACES }));
  const args = [
    "--publish-directory",
    slices,
    "--seal-key",
    keyFile,
    "--address",
    GATEWAY_ADDRESS,
    "--hosts",
    hostsFile,
  ];
  const kubeconfig = await cluster.kubeconfig({ token: await cluster.token(ACCOUNT, { seconds: 7200 }) });
  const lease = "gateway/gateway-ingress-controller";
  running.push(
    await startProcess(
      process.execPath,
      [MAIN, "ingress", "watch", "--kubeconfig", kubeconfig, "--lease", lease, ...args],
      /watching/,
      { cwd: cluster.directory },
    ),
  );
  return {
    logs: () => running.map((each) => each.text()).join("\n"),
    async close() {
      for (const each of running.toReversed()) await each.close();
    },
  };
}

/** The manifests' own, and Secrets of all namespaces, of which the suite makes new ones. */
async function grantRights(cluster: Cluster): Promise<void> {
  await cluster.apply(
    ...readManifestFile(join(example, "base/namespace.yaml")),
    ...readManifestFile(join(example, "overlays/controller/rights.yaml")),
  );
  const name = "conformance-secrets";
  await cluster.apply(
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: "gateway", namespace: "gateway" }],
    },
  );
}

function mainFile(adminPort: number, log: string, listener: object): object {
  return {
    ...listener,
    admin_address: `127.0.0.1:${adminPort}`,
    admin_token: SECRET,
    shared_secret: Buffer.alloc(32, 7).toString("base64"),
    authenticate_service_url: "https://auth.example.com",
    idp_provider_url: "https://login.example.com",
    idp_client_id: "gateway",
    idp_client_secret: "conformance",
    storage_url: "memory:",
    authorize_log: log,
    owners: { "kubernetes.*": {} },
    routes: [],
  };
}
