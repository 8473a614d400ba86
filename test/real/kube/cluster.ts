/** A real API server with etcd and the controller manager on loopback, which can be stopped, frozen and started again. */
import { execFile } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

import { makeTestCertificate, type TestCertificate } from "../../support/certificates.ts";
import { freePort } from "../../support/ports.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import { installKube, type KubePrograms } from "./install.ts";

export interface TokenOptions {
  readonly audience?: string;
  readonly seconds?: number;
  /** The pod to which it is bound, as in a kubelet's request. */
  readonly pod?: { readonly name: string; readonly uid: string };
}

export interface Cluster {
  /** "https://localhost:PORT", also the issuer of its tokens. */
  readonly server: string;
  readonly port: number;
  /** Signs its own certificate and those of clients. */
  readonly authority: TestCertificate;
  /** For files of a test. */
  readonly directory: string;
  readonly programs: KubePrograms;
  /** Kubeconfig of the administrator, for commands. */
  readonly adminConfig: string;
  /** A request as its administrator. @throws Error for another answer than 2xx */
  api<T = unknown>(method: string, path: string, body?: object): Promise<T>;
  /** @returns what it printed. @throws Error with what it printed */
  kubectl(...args: readonly string[]): Promise<string>;
  /** `kubectl apply` of these objects. */
  apply(...objects: readonly object[]): Promise<void>;
  /** A token of a service account "namespace/name", by the TokenRequest API. */
  token(account: string, options?: TokenOptions): Promise<string>;
  /** Writes a kubeconfig. @param user as written there. @returns its path */
  kubeconfig(user: object): Promise<string>;
  /** A pod's files, mounted for one process only. */
  pod(account: string, token: string): Promise<Pod>;
  /** To the API server. */
  signal(signal: NodeJS.Signals): void;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Again at the same address. */
  start(): Promise<void>;
  /** Replaces the authority of its certificate; `ca.crt` has both, as during a rotation. Restarts it. */
  replaceAuthority(): Promise<void>;
  /** etcd forgets all but its newest revision. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

export interface Pod {
  /** To put before a command. */
  readonly prefix: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Another token, as the kubelet brings it in time. */
  write(token: string): Promise<void>;
}

const ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount";
/** The process sees nothing else of /run; /var/run leads there. */
const MOUNT = `mount -t tmpfs none /run && mkdir -p ${ACCOUNT} && mount --bind "$1" ${ACCOUNT} && shift && exec "$@"`;

export async function startCluster(): Promise<Cluster> {
  const programs = await installKube();
  const directory = await mkdtemp(join(tmpdir(), "gateway-kube-"));
  const at = (name: string): string => join(directory, name);
  const write = async (name: string, text: string): Promise<string> => (await writeFile(at(name), text), at(name));

  const authority = makeTestCertificate({ name: "cluster", isAuthority: true });
  const own = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
  const accounts = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const caFile = await write("ca.crt", authority.cert);
  const certFile = await write("server.crt", own.cert);
  const keyFile = await write("server.key", own.key);
  const signingKey = await write("accounts.key", accounts.privateKey.export({ type: "pkcs8", format: "pem" }));
  const adminToken = randomUUID();
  const tokens = await write("tokens.csv", `${adminToken},admin,admin,"system:masters"\n`);

  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const etcdOrigin = `http://127.0.0.1:${etcdPort}`;
  const peerOrigin = `http://127.0.0.1:${peerPort}`;
  const server = `https://localhost:${port}`;
  let agent = new Agent({ ca: authority.cert, keepAlive: true });

  let configs = 0;
  const kubeconfig = (user: object): Promise<string> => {
    configs += 1;
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "real", cluster: { server, "certificate-authority": caFile } }],
      users: [{ name: "user", user }],
      contexts: [{ name: "only", context: { cluster: "real", user: "user" } }],
      "current-context": "only",
    };
    return write(`kubeconfig-${configs}`, JSON.stringify(config));
  };
  const adminConfig = await kubeconfig({ token: adminToken });

  const send = (method: string, path: string, body?: object): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${adminToken}`, "content-type": "application/json" };
      const type = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
      const sent = request(`${server}${path}`, { method, agent, headers: { ...headers, ...type } }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => (text += chunk));
        answer.once("error", reject);
        answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      });
      sent.once("error", reject);
      sent.end(body && JSON.stringify(body));
    });

  const etcd = await startProcess(
    programs.etcd,
    [
      "--data-dir",
      at("etcd"),
      "--listen-client-urls",
      etcdOrigin,
      "--advertise-client-urls",
      etcdOrigin,
      "--listen-peer-urls",
      peerOrigin,
      "--initial-advertise-peer-urls",
      peerOrigin,
      "--initial-cluster",
      `default=${peerOrigin}`,
    ],
    /ready to serve/,
    { cwd: directory },
  );
  let apiserver: RealProcess | undefined;
  let manager: RealProcess | undefined;

  const cluster: Cluster = {
    server,
    port,
    authority,
    directory,
    programs,
    adminConfig,
    async api<T>(method: string, path: string, body?: object) {
      const { status, text } = await send(method, path, body);
      if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
      return JSON.parse(text) as T;
    },
    async kubectl(...args) {
      const env = { ...process.env, KUBECONFIG: adminConfig, HOME: directory };
      const { stdout } = await promisify(execFile)(programs.kubectl, args, { env, cwd: directory });
      return stdout;
    },
    async apply(...objects) {
      const file = await write("objects.json", JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
      await cluster.kubectl("apply", "-f", file);
    },
    async token(account, { audience, seconds = 3600, pod } = {}) {
      const [namespace = "", name = ""] = account.split("/");
      const made = await cluster.api<{ readonly status: { readonly token: string } }>(
        "POST",
        `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
        {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: {
            audiences: audience === undefined ? [] : [audience],
            expirationSeconds: seconds,
            ...(pod && { boundObjectRef: { apiVersion: "v1", kind: "Pod", ...pod } }),
          },
        },
      );
      return made.status.token;
    },
    kubeconfig,
    async pod(account, token) {
      const files = await mkdtemp(join(directory, "pod-"));
      const [namespace = ""] = account.split("/");
      for (const [name, text] of Object.entries({ token, namespace, "ca.crt": authority.cert }))
        await writeFile(join(files, name), text);
      return {
        prefix: ["unshare", "--mount", "sh", "-c", MOUNT, "pod", files],
        env: { KUBERNETES_SERVICE_HOST: "localhost", KUBERNETES_SERVICE_PORT: String(port), HOME: files },
        async write(next) {
          await writeFile(join(files, "new"), next);
          await rename(join(files, "new"), join(files, "token"));
        },
      };
    },
    signal: (signal) => apiserver?.signal(signal),
    async stop(signal = "SIGTERM") {
      apiserver?.signal("SIGCONT");
      await apiserver?.close(signal);
      apiserver = undefined;
      agent.destroy();
    },
    async start() {
      apiserver = await startProcess(
        programs.apiserver,
        [
          `--etcd-servers=${etcdOrigin}`,
          `--secure-port=${port}`,
          "--bind-address=127.0.0.1",
          // With no other server in the cluster nothing has to find this one.
          "--advertise-address=127.0.0.1",
          "--endpoint-reconciler-type=none",
          `--tls-cert-file=${certFile}`,
          `--tls-private-key-file=${keyFile}`,
          `--client-ca-file=${caFile}`,
          `--token-auth-file=${tokens}`,
          "--authorization-mode=RBAC",
          "--service-cluster-ip-range=10.96.0.0/16",
          `--service-account-issuer=${server}`,
          `--service-account-jwks-uri=${server}/openid/v1/jwks`,
          `--service-account-key-file=${signingKey}`,
          `--service-account-signing-key-file=${signingKey}`,
          `--cert-dir=${directory}`,
        ],
        /Serving securely on/,
        { cwd: directory },
      );
      const isReady = async (): Promise<boolean> =>
        send("GET", "/readyz").then(
          ({ status }) => status === 200,
          () => false,
        );
      while (!(await isReady())) await delay(100);
    },
    async replaceAuthority() {
      const next = makeTestCertificate({ name: "next", isAuthority: true });
      const renewed = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: next });
      agent.destroy();
      agent = new Agent({ ca: [authority.cert, next.cert], keepAlive: true });
      await write("ca.crt", authority.cert + next.cert);
      await write("server.crt", renewed.cert);
      await write("server.key", renewed.key);
      await cluster.stop("SIGKILL");
      await cluster.start();
    },
    async compact() {
      const ask = async (path: string, body: object): Promise<{ readonly header: { readonly revision: string } }> => {
        const answer = await fetch(`${etcdOrigin}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
        const text = await answer.text();
        if (!answer.ok) throw new Error(`etcd: ${answer.status} ${text}`);
        return JSON.parse(text) as { readonly header: { readonly revision: string } };
      };
      const { header } = await ask("range", { key: Buffer.from("/").toString("base64"), count_only: true });
      await ask("compaction", { revision: header.revision, physical: true });
    },
    async close() {
      await manager?.close();
      await cluster.stop("SIGKILL");
      await etcd.close();
      await rm(directory, { recursive: true, force: true });
    },
  };

  try {
    await cluster.start();
    manager = await startProcess(
      programs.controllerManager,
      [
        `--kubeconfig=${adminConfig}`,
        `--authentication-kubeconfig=${adminConfig}`,
        `--authorization-kubeconfig=${adminConfig}`,
        `--service-account-private-key-file=${signingKey}`,
        `--root-ca-file=${caFile}`,
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        `--secure-port=${await freePort()}`,
        `--cert-dir=${directory}`,
      ],
      /Serving securely on/,
      { cwd: directory },
    );
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  }
}
