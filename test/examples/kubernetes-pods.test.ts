/** examples/kubernetes-ingress in a cluster: the containers of its manifests as processes, with their own words. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { POLL_MS } from "../support/limits.ts";
import { makeTestCertificate } from "../support/certificates.ts";
import { type KubeApi, startKubeApi } from "../support/kube-api.ts";
import { example, type Files, findManifest, rendered, secretKeys } from "../support/kube-example.ts";
import { createPod, type Pod, podOf, type RunningContainer, type SecretFiles } from "../support/kube-pod.ts";
import { DISCOVERY, readRights, type Rights } from "../support/kube-rights.ts";
import { type Manifest, readManifestFile } from "../support/kustomize.ts";
import { findPostgres, startPostgres, type Postgres } from "../support/postgres.ts";

const shop = makeTestCertificate({ name: "shop", dns: ["shop.example.com"] });
const fallback = makeTestCertificate({ name: "fallback", dns: ["*.example.com"] });

function secretFiles(storageUrl: string): SecretFiles {
  const values: Readonly<Record<string, string>> = {
    "shared-secret": Buffer.alloc(32, 7).toString("base64"),
    "admin-token": "admin-token-of-the-kubernetes-example",
    "publish-token": "publish-token-of-the-kubernetes-example",
    "idp-client-secret": "of-the-provider",
    "storage-url": storageUrl,
  };
  expect(Object.keys(values).toSorted()).toEqual(secretKeys.toSorted());
  return { gateway: values, "gateway-tls": { "tls.crt": fallback.cert, "tls.key": fallback.key } };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** @param ca who must have signed the certificate; by default that of any host does */
function ask(port: number, host: string, path = "/", ca?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port,
      path,
      servername: host,
      ca: ca ?? [fallback.cert, shop.cert],
      headers: { host, accept: "application/json" },
      agent: false,
    };
    const sent = request(options, (answer) => {
      let body = "";
      answer.on("data", (chunk: Buffer) => (body += chunk.toString()));
      answer.once("error", reject);
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
    });
    sent.once("error", reject);
    sent.end();
  });
}

/** A probe of the manifest, asked as the kubelet asks: at the pod's address. @returns status; 0 when nobody answers */
async function probe(pod: Pod, manifests: readonly Manifest[], name: string): Promise<number> {
  const container = podOf(manifests).containers.find((each) => each.name === "gateway");
  if (!container) throw new Error("There is no container of the gateway");
  const { httpGet } = container[name] as { readonly httpGet: { readonly path: string; readonly port: string } };
  return fetch(`http://127.0.0.1:${pod.port(httpGet.port)}${httpGet.path}`).then(
    ({ status }) => status,
    () => 0,
  );
}

async function untilReady(pod: Pod, manifests: readonly Manifest[], container: RunningContainer): Promise<void> {
  let hasEnded = false;
  void container.ended.then(() => (hasEnded = true));
  const look = async (): Promise<void> => {
    expect(hasEnded ? container.said() : await probe(pod, manifests, "readinessProbe")).toBe(200);
  };
  await vi.waitFor(look, { timeout: POLL_MS });
  expect(await probe(pod, manifests, "startupProbe")).toBe(200);
  expect(await probe(pod, manifests, "livenessProbe")).toBe(200);
}

test("the gateway alone serves its slices, and takes others without a restart", async () => {
  const manifests = rendered("gateway");
  await using pod = disposable(await createPod(manifests, secretFiles("memory:")));
  await untilReady(pod, manifests, pod.start("gateway"));
  expect((await ask(pod.port("https"), "app.example.com")).status).toBe(401);
  expect((await ask(pod.port("https"), "other.example.com")).status).toBe(404);

  const [boot, slices] = manifests.filter(({ kind }) => kind === "ConfigMap").map((each) => each["data"] as Files);
  const changed = Object.entries(slices ?? {}).map(([name, text]) => [
    name,
    text.replace("app.example", "other.example"),
  ]);
  await pod.swap("config", { ...boot, ...(Object.fromEntries(changed) as Files) });

  await expect.poll(async () => (await ask(pod.port("https"), "other.example.com")).status).toBe(401);
});

const found = findPostgres();
if ("missing" in found) console.warn(`PostgreSQL: skipped, ${found.missing}`);

describe.skipIf("missing" in found)(
  "the gateway and two controllers, against an API server that goes by the Roles",
  () => {
    const manifests = rendered("controller");
    const roles = [...manifests, ...readManifestFile(join(example, "secrets-role.yaml"))];
    const rights: Rights = readRights(roles, { namespace: "gateway", name: podOf(manifests).serviceAccountName });
    let folder = "";
    let postgres: Postgres | undefined;
    let api: KubeApi;
    let pod: Pod;
    let gateway: RunningContainer;
    let controllers: readonly RunningContainer[] = [];

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "gateway-kubernetes-example-"));
      if (!("missing" in found)) postgres = await startPostgres(found.bin);
      api = await startKubeApi();
      api.forbid((asked) => rights.find(asked) === undefined);
      const routes = readManifestFile(join(example, "gateway-api.yaml"));
      for (const object of [...clusterObjects(), ...routes]) api.apply(object);
      // Somebody else writes between the controller's reading and its writing.
      api.beforeNextWrite(
        ({ path }) => path.endsWith("/ingresses/web/status"),
        () => void api.apply(named(api, "ingresses", "web")),
      );
      for (const { kind } of routes) {
        const collection = STATUS_COLLECTIONS[kind];
        if (collection === undefined) continue;
        api.beforeNextWrite(
          ({ path }) => path.includes(`/${collection}/`) && path.endsWith("/status"),
          () => api.objects(collection).forEach((each) => api.apply(each)),
        );
      }
      pod = await createPod(manifests, secretFiles(postgres?.url ?? ""));
      await writeFile(join(folder, "kubeconfig"), api.kubeconfig);
      gateway = pod.start("gateway");
      await untilReady(pod, manifests, gateway);
      const env = { KUBECONFIG: join(folder, "kubeconfig") };
      controllers = [pod.start("ingress-controller", env), pod.start("ingress-controller", env)];
      await api.until(() => events(api, "mistake").length > 0 && addressOf(api, "web") !== undefined);
    });
    afterAll(async () => {
      await pod?.close();
      await api?.close();
      await postgres?.close();
      await rm(folder, { recursive: true, force: true });
    });

    test("show the certificate of the Ingress's Secret to those who ask for its host, and theirs to others", async () => {
      expect((await ask(pod.port("https"), "shop.example.com", "/", shop.cert)).status).toBe(401);
      await expect(ask(pod.port("https"), "shop.example.com", "/", fallback.cert)).rejects.toThrow(/certificate/);
      expect((await ask(pod.port("https"), "tools.example.com", "/", fallback.cert)).status).not.toBe(0);
    });

    test("serve the team's Ingresses, and say what is wrong with the mistake", async () => {
      const port = pod.port("https");
      expect((await ask(port, "shop.example.com")).status).toBe(401);
      const mcp = await ask(port, "tools.example.com", "/github/mcp");
      expect([mcp.status, mcp.headers["www-authenticate"]]).toEqual([
        401,
        expect.stringContaining("resource_metadata="),
      ]);
      expect((await ask(port, "mistake.example.com")).status).toBe(404);
      expect(addressOf(api, "web")).toEqual([{ ip: "203.0.113.7" }]);
      const messages = events(api, "mistake").map(({ message }) => String(message));
      expect(messages).toContainEqual(expect.stringContaining('did you mean "set_request_headers"?'));
      expect(events(api, "web")).toEqual([]);
    });

    test("ask the API server for all that the Roles give, and for nothing else", async () => {
      const leader = (): string => (named(api, "leases", "gateway-ingress-controller")["spec"] as Lease).holderIdentity;
      const first = leader();
      // The other one takes over, and has the same to say of the mistake.
      const [ending] = controllers.filter((each) => each.said().includes("controller became leader"));
      ending?.process.kill("SIGTERM");
      expect(await ending?.ended).toBe(0);
      await api.until(() => leader() !== first && leader() !== "" && events(api, "mistake")[0]?.["count"] === 2);

      const refused = api.seen.filter((asked) => rights.find(asked) === undefined);
      expect(refused.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
      await vi.waitFor(
        () => {
          const used = new Set(api.seen.map((asked) => rights.find(asked) ?? ""));
          used.delete(DISCOVERY);
          expect([...used].toSorted()).toEqual(rights.given.toSorted());
        },
        { timeout: POLL_MS },
      );
    });

    test("a stopping pod says so to its probe first, and goes on serving", async () => {
      gateway.process.kill("SIGTERM");
      await expect.poll(() => probe(pod, manifests, "readinessProbe")).toBe(503);
      expect(await probe(pod, manifests, "livenessProbe")).toBe(200);
      expect((await ask(pod.port("https"), "shop.example.com")).status).toBe(401);
    });
  },
);

/** Kinds of the Gateway API whose status the controller writes. */
const STATUS_COLLECTIONS: Readonly<Record<string, string>> = {
  GatewayClass: "gatewayclasses",
  Gateway: "gateways",
  HTTPRoute: "httproutes",
  GRPCRoute: "grpcroutes",
  BackendTLSPolicy: "backendtlspolicies",
  GatewayRoutePolicy: "gatewayroutepolicies",
};

interface Lease {
  readonly holderIdentity: string;
}

/** The team's objects, the gateway's own, and the Secrets that are made with kubectl. */
function clusterObjects(): readonly object[] {
  const files = ["ingresses.yaml", "services.yaml"].flatMap((file) => readManifestFile(join(example, file)));
  const objects = files.flatMap((each) => (each.kind === "List" ? (each["items"] as readonly Manifest[]) : [each]));
  const client = makeTestCertificate({ name: "client" });
  const authority = makeTestCertificate({ name: "authority", isAuthority: true });
  const secret = (name: string, values: Files): object => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "shop" },
    data: Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    ),
  });
  const service = findManifest(rendered("controller"), "Service");
  return [
    ...objects.filter(({ kind }) => kind !== "Namespace"),
    findManifest(rendered("controller"), "IngressClass"),
    { ...service, status: { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] } } },
    secret("shop-tls", { "tls.crt": shop.cert, "tls.key": shop.key }),
    secret("github-oauth", { client_id: "gateway", client_secret: "the-client-secret" }),
    secret("github-guardrail", { signing_key: Buffer.alloc(32, 7).toString("base64") }),
    secret("backend-headers", { "X-Api-Key": "the-api-key" }),
    secret("backend-ca", { "ca.crt": authority.cert }),
    secret("backend-client", { "tls.crt": client.cert, "tls.key": client.key }),
  ];
}

function named(api: KubeApi, collection: string, name: string): Readonly<Record<string, unknown>> {
  return api.objects(collection).find(({ metadata }) => metadata.name === name) ?? {};
}

function addressOf(api: KubeApi, name: string): unknown {
  const status = named(api, "ingresses", name)["status"] as { loadBalancer?: { ingress?: unknown } } | undefined;
  return status?.loadBalancer?.ingress;
}

function events(api: KubeApi, name: string): readonly Readonly<Record<string, unknown>>[] {
  return api.objects("events").filter((event) => (event["involvedObject"] as { name: string }).name === name);
}

function disposable(pod: Pod): Pod & AsyncDisposable {
  return Object.assign(pod, { [Symbol.asyncDispose]: () => pod.close() });
}
