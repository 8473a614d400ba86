/** What serves the Gateways: a gateway, and the controller with the rights of the manifests. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { stringify } from "yaml";

import { makeTestCertificate } from "../../support/certificates.ts";
import { example } from "../../support/kube-example.ts";
import { readManifestFile } from "../../support/kustomize.ts";
import { startProcess } from "../common/process.ts";
import type { Cluster } from "../kube/cluster.ts";
import { ACCOUNT } from "../kube/readme.ts";
import { GATEWAY_ADDRESS } from "./network.ts";
import { startRelay } from "./relay.ts";

const MAIN = new URL("../../../runtime/main.ts", import.meta.url).pathname;
/** In this network. */
const ADMIN_PORT = 9901;
/** Of the suite. */
const NAMESPACES: readonly string[] = ["infra", "app-backend", "web-backend"].map(
  (name) => `gateway-conformance-${name}`,
);
/** Further ports of HTTP listeners, which a load balancer would send to the gateway's one. */
const PORTS: readonly number[] = [8080, 8090];
const SECRET = "conformance-secret-of-the-gateways";

export interface RunningGateway {
  /** What the processes printed. */
  logs(): string;
  close(): Promise<void>;
}

/** One process for HTTP and HTTPS listeners, and the controller. */
export async function startGateway(cluster: Cluster): Promise<RunningGateway> {
  const directory = await mkdtemp(join(cluster.directory, "gateway-"));
  const at = (name: string): string => join(directory, name);
  const config = at("config");
  await mkdir(config);
  const fallback = makeTestCertificate({ name: "fallback", dns: ["fallback.example.com"] });
  await writeFile(at("tls.crt"), fallback.cert);
  await writeFile(at("tls.key"), fallback.key);
  const listeners = {
    address: `${GATEWAY_ADDRESS}:443`,
    http_redirect_address: `${GATEWAY_ADDRESS}:80`,
    certificates: [{ certificate_file: at("tls.crt"), certificate_key_file: at("tls.key") }],
  };
  const cwd = cluster.directory;
  const text = stringify({ ...listeners, ...mainFile(at("authorize.log")) });
  await writeFile(join(config, "gateway.yaml"), text, { mode: 0o600 });
  const gateway = await startProcess(process.execPath, [MAIN, "run", "--config", config], /gateway serves on/, { cwd });
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
    lease: "gateway/gateway-ingress-controller",
    "publish-directory": config,
    "seal-key": at("seal-key.json"),
    address: GATEWAY_ADDRESS,
    hosts: at("hosts.yaml"),
  };
  // Without an election: a busy host may lose the lease, and the suite waits for 20 seconds only.
  const args = [
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    "--plain-http",
    "--no-leader-election",
  ];
  const controller = await startProcess(process.execPath, [MAIN, "ingress", "watch", ...args], /watching/, { cwd });
  const relays = await Promise.all(PORTS.map((port) => startRelay(GATEWAY_ADDRESS, port)));
  for (const relay of relays) relay.endpoints = [{ host: GATEWAY_ADDRESS, port: 80 }];
  return {
    logs: () => [gateway, controller].map((each) => each.text()).join("\n"),
    async close() {
      for (const relay of relays) relay.close();
      await controller.close();
      await gateway.close();
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

function mainFile(log: string): object {
  return {
    admin_address: `127.0.0.1:${ADMIN_PORT}`,
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
