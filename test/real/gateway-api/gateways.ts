/** What serves the Gateways: a gateway, and the controller with the rights of the manifests. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { stringify } from "yaml";

import { makeTestCertificate } from "../../support/certificates.ts";
import { example } from "../../support/kube-example.ts";
import { readManifestFile } from "../../support/kustomize.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import type { Cluster } from "../kube/cluster.ts";
import { ACCOUNT } from "../kube/readme.ts";
import { GATEWAY_ADDRESS } from "./network.ts";
import { startRelay } from "./relay.ts";

const MAIN = new URL("../../../runtime/main.ts", import.meta.url).pathname;
/** Of the first gateway, in this network. */
const ADMIN_PORT = 9901;
/** Of the suite. */
export const NAMESPACES: readonly string[] = ["infra", "app-backend", "web-backend"].map(
  (name) => `gateway-conformance-${name}`,
);
/** Further ports of listeners, which a load balancer would send to the gateway's one. */
const PORTS: Readonly<Record<Scheme, readonly number[]>> = { http: [8080, 8090], https: [] };
const SECRET = "conformance-secret-of-the-gateways";

export interface RunningGateway {
  /** What the processes printed. */
  logs(): string;
  close(): Promise<void>;
}

export type Scheme = "http" | "https";

/** @param scheme of the routes: a gateway has one public listener, with TLS or without; with https one of each kind runs */
export async function startGateway(cluster: Cluster, scheme: Scheme): Promise<RunningGateway> {
  const directory = await mkdtemp(join(cluster.directory, `${scheme}-`));
  const at = (name: string): string => join(directory, name);
  const config = at("config");
  await mkdir(config);
  const fallback = makeTestCertificate({ name: "fallback", dns: ["fallback.example.com"] });
  await writeFile(at("tls.crt"), fallback.cert);
  await writeFile(at("tls.key"), fallback.key);
  const plain = { address: `${GATEWAY_ADDRESS}:80`, insecure_server: true };
  const certificates = [{ certificate_file: at("tls.crt"), certificate_key_file: at("tls.key") }];
  const secure = { address: `${GATEWAY_ADDRESS}:443`, certificates };
  const cwd = cluster.directory;
  const file = join(config, "gateway.yaml");
  const run = [process.execPath, MAIN, "run", "--config", config];
  const gateways: RealProcess[] = [];
  // Both have the same slices; the second one sees its own main configuration file there.
  for (const [index, listener] of (scheme === "http" ? [plain] : [secure, plain]).entries()) {
    const own = index === 0 ? file : at("second.yaml");
    const text = stringify({ ...listener, ...mainFile(ADMIN_PORT + index, at(`authorize-${index}.log`)) });
    await writeFile(own, text, { mode: 0o600 });
    const mount = ["--mount", "sh", "-c", `mount --bind ${own} ${file} && exec "$0" "$@"`];
    gateways.push(
      await startProcess("unshare", [...(index === 0 ? ["--mount"] : mount), ...run], /gateway serves on/, { cwd }),
    );
  }
  const status = await fetch(`http://127.0.0.1:${ADMIN_PORT}/status`, {
    headers: { authorization: `Bearer ${SECRET}` },
  });
  const { seal_key: sealKey } = (await status.json()) as { readonly seal_key: object };
  await writeFile(at("seal-key.json"), JSON.stringify(sealKey));
  // Routes without a host have the address, in each namespace of the suite.
  await writeFile(at("hosts.yaml"), stringify({ [GATEWAY_ADDRESS]: NAMESPACES }));
  const kubeconfig = await cluster.kubeconfig({ token: await cluster.token(ACCOUNT, { seconds: 7200 }) });
  const options = {
    kubeconfig,
    scheme,
    lease: "gateway/gateway-ingress-controller",
    "publish-directory": config,
    "seal-key": at("seal-key.json"),
    address: GATEWAY_ADDRESS,
    hosts: at("hosts.yaml"),
  };
  // Without an election: a busy host may lose the lease, and the suite waits for 20 seconds only.
  const args = [...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]), "--no-leader-election"];
  const controller = await startProcess(process.execPath, [MAIN, "ingress", "watch", ...args], /watching/, { cwd });
  const relays = await Promise.all(PORTS[scheme].map((port) => startRelay(GATEWAY_ADDRESS, port)));
  const main = { host: GATEWAY_ADDRESS, port: scheme === "http" ? 80 : 443 };
  for (const relay of relays) relay.endpoints = [main];
  return {
    logs: () => [...gateways, controller].map((each) => each.text()).join("\n"),
    async close() {
      for (const relay of relays) relay.close();
      await controller.close();
      for (const gateway of gateways) await gateway.close();
    },
  };
}

/** The manifests' own, and Secrets of all namespaces, of which the suite makes new ones. */
export async function grantRights(cluster: Cluster): Promise<void> {
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

function mainFile(adminPort: number, log: string): object {
  return {
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
