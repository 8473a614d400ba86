/**
 * examples/kubernetes-ingress in a real cluster: the steps of its README, and the containers of its pod as processes, with
 * their own arguments, the pod's token and only the permissions of the manifests.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { makeTestCertificate } from "../../support/certificates.ts";
import { example, rendered } from "../../support/kube-example.ts";
import { POLL_MS } from "../../support/limits.ts";
import { createPod, type Pod as Containers, type RunningContainer } from "../../support/kube-pod.ts";
import { type Cluster, type Pod, startCluster } from "./cluster.ts";
import { linesOf } from "./controller.ts";
import { ACCOUNT, followReadme, secretFiles } from "./readme.ts";

interface KubeObject {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly object[] } };
}
interface List<T> {
  readonly items: readonly T[];
}

const INGRESSES = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";
const ADDRESS = { ip: "203.0.113.7" };
const shop = makeTestCertificate({ name: "shop", dns: ["shop.example.com"] });

let cluster: Cluster;
let account: Pod;
let containers: Containers;
let controller: RunningContainer;
let fallback: string;

const get = <T>(path: string): Promise<T> => cluster.api<T>("GET", path);
const ingress = (name: string): Promise<KubeObject> => get(`${INGRESSES}/${name}`);
const addresses = async (name: string): Promise<readonly object[]> =>
  ((await ingress(name)).status?.loadBalancer?.ingress ?? []).map((each) => ({ ...each }));
const described = (name: string): Promise<string> => cluster.kubectl("-n", "shop", "describe", "ingress", name);
const pods = async (): Promise<readonly KubeObject[]> =>
  (await get<List<KubeObject>>("/api/v1/namespaces/gateway/pods")).items;

/** @returns status, or the problem of the certificate */
function ask(host: string, ca = [fallback, shop.cert], path = "/"): Promise<number | string> {
  return new Promise((resolve) => {
    const about = { host: "127.0.0.1", port: containers.port("https"), path, servername: host, ca, agent: false };
    const sent = request({ ...about, headers: { host, accept: "application/json" } }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end();
  });
}

beforeAll(async () => {
  cluster = await startCluster();
  fallback = (await followReadme(cluster)).cert;
  const secret = (name: string, values: Readonly<Record<string, string>>): object => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "shop" },
    stringData: values,
  });
  const client = makeTestCertificate({ name: "client" });
  await cluster.apply(
    secret("shop-tls", { "tls.crt": shop.cert, "tls.key": shop.key }),
    secret("github-oauth", { client_id: "gateway", client_secret: "the-client-secret" }),
    secret("github-guardrail", { signing_key: Buffer.alloc(32, 7).toString("base64") }),
    secret("backend-headers", { "X-Api-Key": "the-api-key" }),
    secret("backend-ca", { "ca.crt": makeTestCertificate({ name: "authority", isAuthority: true }).cert }),
    secret("backend-client", { "tls.crt": client.cert, "tls.key": client.key }),
  );
  await cluster.kubectl("apply", "-f", `${example}/ingresses.yaml`, "-f", `${example}/services.yaml`);
  // A cloud does this for a Service of type LoadBalancer.
  await cluster.api("PATCH", "/api/v1/namespaces/gateway/services/gateway/status", {
    status: { loadBalancer: { ingress: [ADDRESS] } },
  });
  const until = (look: () => unknown): Promise<unknown> => vi.waitFor(look, { timeout: POLL_MS, interval: 200 });
  await until(async () => expect(await pods()).toHaveLength(2));
  const [pod] = await pods();
  const token = await cluster.token(ACCOUNT, { ...(pod && { pod: pod.metadata }) });
  account = await cluster.pod(ACCOUNT, token);
  containers = await createPod(rendered("controller"), {
    gateway: await secretFiles(cluster, "gateway"),
    "gateway-tls": await secretFiles(cluster, "gateway-tls"),
  });
  const gateway = containers.start("gateway");
  await until(() => expect(gateway.said()).toContain("gateway serves on"));
  controller = containers.start("ingress-controller", account.env, account.prefix);
  await until(async () => expect(await addresses("web")).toEqual([ADDRESS]));
});
afterAll(async () => {
  await containers?.close();
  await cluster?.close();
});

describe("the cluster", () => {
  test("takes every manifest as the README applies it, and admits the pods under the restricted standard", async () => {
    expect(await pods()).toHaveLength(2);
    const events = await cluster.kubectl("-n", "gateway", "get", "events");
    expect(events).not.toMatch(/forbidden|FailedCreate/);
  });

  test("takes the overlay that gateway init writes, with its own image, ConfigMap and Secret", async () => {
    const directory = mkdtempSync(join(tmpdir(), "gateway-init-"));
    try {
      const answers =
        "--url https://a.example.com --sign-in https://auth.example.com --to http://b:1/mcp --storage postgres";
      const more = "--target kubernetes --issuer https://idp.example.com --kind mcp --yes";
      const main = new URL("../../../runtime/main.ts", import.meta.url).pathname;
      execFileSync(process.execPath, [main, "init", directory, ...`${answers} ${more}`.split(" ")]);
      expect(await cluster.kubectl("kustomize", directory)).toMatch(/^ *image: registry\.example\.com\/gateform:\d/m);
      const said = await cluster.kubectl("apply", "--dry-run=server", "-k", directory);
      for (const kind of ["configmap/gateway-", "secret/gateway ", "deployment.apps/gateway ", "service/gateway "])
        expect(said).toContain(kind);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("renders the overlays as our own tests do", async () => {
    const kinds = (text: string): readonly string[] => text.match(/^kind: .*$/gm)?.toSorted() ?? [];
    for (const overlay of ["controller", "gateway"] as const) {
      const text = await cluster.kubectl("kustomize", `${example}/overlays/${overlay}`);
      expect(kinds(text)).toEqual(
        rendered(overlay)
          .map(({ kind }) => `kind: ${kind}`)
          .toSorted(),
      );
    }
  });
});

describe("the controller, with the pod's token", () => {
  test("serves the Ingresses, and shows the certificate of their Secret", async () => {
    expect(await ask("shop.example.com", [shop.cert])).toBe(401);
    expect(await ask("tools.example.com", [fallback], "/github/mcp")).toBe(401);
    expect(await ask("mistake.example.com")).toBe(404);
  });

  test("says in Events what is wrong, as `kubectl describe` shows them", async () => {
    await expect
      .poll(() => described("mistake"))
      .toMatch(/Warning +Rejected .*gateway-ingress-controller .*did you mean "set_request_headers"/);
  });

  test("was denied nothing by the Roles except missing and forbidden Secrets", () => {
    const refused = linesOf(controller.said()).filter((line) => JSON.stringify(line).includes("forbidden"));
    expect(refused).toEqual([]);
  });

  test("writes its changes of the status as the field manager that it looks for", async () => {
    const fields = await cluster.kubectl("-n", "shop", "get", "ingress", "web", "--show-managed-fields", "-o", "json");
    expect(JSON.parse(fields)).toMatchObject({
      metadata: {
        managedFields: expect.arrayContaining([
          expect.objectContaining({ manager: "gateway-ingress-controller", subresource: "status" }),
        ]) as unknown,
      },
    });
  });

  test("a renewed certificate is shown without a restart", async () => {
    const renewed = makeTestCertificate({ name: "shop", dns: ["shop.example.com"] });
    await cluster.api("PATCH", "/api/v1/namespaces/shop/secrets/shop-tls", {
      stringData: { "tls.crt": renewed.cert, "tls.key": renewed.key },
    });
    await expect.poll(() => ask("shop.example.com", [renewed.cert])).toBe(401);
  });

  test("an Ingress that leaves the class loses the status that it wrote, and keeps another controller's", async () => {
    const name = "status-page";
    await expect.poll(() => addresses(name)).toEqual([ADDRESS]);
    await cluster.api("PATCH", `${INGRESSES}/${name}`, { spec: { ingressClassName: "other" } });
    await expect.poll(() => addresses(name)).toEqual([]);
    const theirs = { status: { loadBalancer: { ingress: [{ ip: "198.51.100.1" }] } } };
    await cluster.api("PATCH", `${INGRESSES}/${name}/status`, theirs);
    await cluster.api("PATCH", `${INGRESSES}/${name}`, { metadata: { labels: { touched: "yes" } } });
    // It has handled this Ingress before it serves the next one.
    const repaired = ["ingress.gateway.io/set_request_header-", "ingress.gateway.io/allowed_domains=[example.com]"];
    await cluster.kubectl("-n", "shop", "annotate", "ingress", "mistake", ...repaired);
    await expect.poll(() => addresses("mistake")).toEqual([ADDRESS]);
    expect(await addresses(name)).toEqual([{ ip: "198.51.100.1" }]);
  });

  test("a repaired Ingress is served, and its Events say so", async () => {
    await expect.poll(() => ask("mistake.example.com")).toBe(401);
    await expect.poll(() => described("mistake")).toMatch(/Normal +Served/);
  });

  test("a deleted Ingress goes", async () => {
    await cluster.kubectl("-n", "shop", "delete", "ingress", "mistake");
    await expect.poll(() => ask("mistake.example.com")).toBe(404);
  });

  test("another token in the pod's file is used once the first one ended with its pod", async () => {
    const [first, second] = await pods();
    await account.write(await cluster.token(ACCOUNT, { ...(second && { pod: second.metadata }) }));
    const before = controller.said().length;
    await cluster.api("DELETE", `/api/v1/namespaces/gateway/pods/${first?.metadata.name}?gracePeriodSeconds=0`);
    const deletedMs = Date.now();
    const published = (): boolean =>
      linesOf(controller.said().slice(before)).some(({ msg }) => msg === "ingresses published");
    await cluster.kubectl("-n", "shop", "annotate", "ingress", "web", "ingress.gateway.io/timeout=46s", "--overwrite");
    await expect.poll(published).toBe(true);
    const lease = "/apis/coordination.k8s.io/v1/namespaces/gateway/leases/gateway-ingress-controller";
    const renewedMs = async (): Promise<number> =>
      Date.parse((await get<{ readonly spec: { readonly renewTime: string } }>(lease)).spec.renewTime);
    // The API server caches a valid token for 10 seconds.
    await expect.poll(renewedMs).toBeGreaterThan(deletedMs + 15_000);
    expect(controller.said().slice(before)).not.toContain("Unauthorized");
  });
});
