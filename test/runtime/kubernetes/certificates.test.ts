/** Certificates of Secrets, from the API server to the handshake, and challenges of authorities, with a real gateway. */
import { request as requestPlain } from "node:http";
import { Agent, request } from "node:https";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { createKubeClient } from "../../../runtime/kubernetes/controller/client.ts";
import { Controller } from "../../../runtime/kubernetes/controller/controller.ts";
import { createAdminPublisher, type SlicePublisher } from "../../../runtime/kubernetes/controller/publisher.ts";
import { createLog } from "../../../runtime/shared/log.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { type AdminClient, createAdminClient } from "../../support/admin-client.ts";
import {
  type CertificateFolder,
  makeTestCertificate,
  openCertificateFolder,
  type TestCertificate,
} from "../../support/certificates.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { type KubeApi, startKubeApi } from "../../support/kube-api.ts";
import { ingress, service } from "../../support/kube-manifests.ts";
import { freePort } from "../../support/ports.ts";

const HOST = "shop.example.com";
const TOKEN = "publish-token-of-the-certificates";

let files: CertificateFolder;
let authority: TestCertificate;
let gateway: TestGateway;
let admin: AdminClient;
let redirectPort = 0;
let folder = "";
let api: KubeApi;
let controller: Controller;
let close = async (): Promise<void> => {};
let log = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-kube-certificates-"));
  await writeFile(join(folder, "token"), TOKEN);
  files = await openCertificateFolder();
  authority = makeTestCertificate({ name: "authority", isAuthority: true });
  const fallback = await files.write(
    "fallback",
    makeTestCertificate({ name: "fallback", dns: ["*.example.com"], by: authority }),
  );
  redirectPort = await freePort();
  gateway = await startGateway({
    yaml: "authorize_log_fields: [path]\nroutes: []\n",
    boot: {
      insecure_server: false,
      development: false,
      certificates: [{ certificate_file: fallback.certificateFile, certificate_key_file: fallback.keyFile }],
      http_redirect_address: `127.0.0.1:${redirectPort}`,
      owners: {
        "kubernetes.*": { publish_token: TOKEN, allowed_from: ["*.example.com"], allowed_settings: [] },
        terraform: { allowed_from: ["*.example.com"] },
      },
    },
  });
  admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
});
afterEach(async () => {
  await close();
  close = async () => {};
  const { body } = await admin.get("/config/slices");
  for (const { owner } of body["slices"] as readonly { readonly owner: string }[]) await admin.remove(owner);
  log = "";
});
afterAll(async () => {
  await gateway.close();
  await files.close();
  await rm(folder, { recursive: true });
});

interface World {
  /** Before the controller begins. */
  readonly before?: () => void;
  readonly around?: (publisher: SlicePublisher) => SlicePublisher;
}

/** A cluster with these objects, and a controller between it and the gateway. */
async function control(objects: readonly object[], { before, around = (same) => same }: World = {}): Promise<void> {
  api = await startKubeApi();
  before?.();
  for (const object of [service("web"), ...objects]) api.apply(object);
  const client = await createKubeClient({ kubeconfig: api.kubeconfig });
  const publisher = createAdminPublisher({
    url: gateway.adminOrigin,
    owner: "kubernetes",
    tokenFile: join(folder, "token"),
  });
  controller = new Controller({
    client,
    publisher: around(publisher),
    translate: {},
    isLeader: () => true,
    clock: systemClock,
    log: createLog({ destination: { write: (line) => void (log += line) } }),
    quietMs: 5,
    mostMs: 50,
    // A Secret that cannot be read is not waited for.
    view: { patienceMs: 600_000 },
  });
  close = async () => {
    await controller.close();
    await client.close();
    await api.close();
  };
}

const made = (name: string, host = HOST): TestCertificate => makeTestCertificate({ name, dns: [host], by: authority });

function secret({ cert, key }: Pick<TestCertificate, "cert" | "key">, namespace = "shop"): object {
  const data = { "tls.crt": Buffer.from(cert).toString("base64"), "tls.key": Buffer.from(key).toString("base64") };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "shop-tls", namespace },
    type: "kubernetes.io/tls",
    data,
  };
}

function web(host = HOST): object {
  const plain = ingress("web", { host });
  return { ...plain, spec: { ...plain.spec, tls: [{ hosts: [host], secretName: "shop-tls" }] } };
}

async function shown(servername: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: gateway.port, servername, ca: authority.cert });
  await new Promise((resolve, reject) => socket.once("error", reject).once("secureConnect", resolve));
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

const becomes = (name: string, host = HOST): Promise<void> => expect.poll(() => shown(host)).toBe(name);

interface Asked {
  readonly status: number;
  readonly socket: unknown;
  readonly location: string;
}

function ask(path: string, agent?: Agent, host = HOST): Promise<Asked> {
  const options = { host: "127.0.0.1", port: gateway.port, servername: host, ca: authority.cert, path };
  return answered(request({ ...options, agent: agent ?? false, headers: { host, accept: "application/json" } }));
}

function answered(sent: ReturnType<typeof request>): Promise<Asked> {
  return new Promise((resolve, reject) => {
    sent.once("error", reject);
    sent.once("response", (answer) => {
      const { statusCode = 0, headers, socket } = answer;
      answer.resume().once("end", () => resolve({ status: statusCode, socket, location: headers.location ?? "" }));
    });
    sent.end();
  });
}

const events = (name = "web"): readonly string[] =>
  api
    .objects("events")
    .filter((event) => (event["involvedObject"] as { name: string }).name === name)
    .map((event) => `${String(event["reason"])}: ${String(event["message"])}`);

describe("the Secret of a Gateway", () => {
  const apiVersion = "gateway.networking.k8s.io/v1";
  const open = { settings: { allow_any_authenticated_user: true } };
  const objects = [
    {
      apiVersion,
      kind: "GatewayClass",
      metadata: { name: "gateway" },
      spec: {
        controllerName: "ingress.gateway.io/controller",
        parametersRef: { group: "ingress.gateway.io", kind: "GatewayRoutePolicy", namespace: "infra", name: "open" },
      },
    },
    {
      apiVersion: "ingress.gateway.io/v1alpha1",
      kind: "GatewayRoutePolicy",
      metadata: { name: "open", namespace: "infra" },
      spec: open,
    },
    {
      apiVersion,
      kind: "Gateway",
      metadata: { name: "main", namespace: "infra" },
      spec: {
        gatewayClassName: "gateway",
        listeners: [
          {
            name: "https",
            port: 443,
            protocol: "HTTPS",
            tls: { certificateRefs: [{ name: "shop-tls", namespace: "certificates" }] },
            allowedRoutes: { namespaces: { from: "All" } },
          },
        ],
      },
    },
    {
      apiVersion,
      kind: "HTTPRoute",
      metadata: { name: "web", namespace: "shop" },
      spec: {
        parentRefs: [{ name: "main", namespace: "infra" }],
        hostnames: [HOST],
        rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
      },
    },
  ];
  const grant = {
    apiVersion,
    kind: "ReferenceGrant",
    metadata: { name: "infra", namespace: "certificates" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "infra" }],
      to: [{ group: "", kind: "Secret", name: "shop-tls" }],
    },
  };
  const resolved = (): unknown => {
    const status = api.objects("gateways")[0]?.["status"] as
      | {
          readonly listeners?: readonly {
            readonly conditions: readonly { readonly type: string; readonly reason: string }[];
          }[];
        }
      | undefined;
    return status?.listeners?.[0]?.conditions.find(({ type }) => type === "ResolvedRefs")?.reason;
  };

  test("is presented for hosts of its routes once a ReferenceGrant allows it; an invalid one keeps the previous", async () => {
    await control([...objects, secret(made("first"), "certificates")]);
    await expect.poll(resolved).toBe("RefNotPermitted");
    expect(api.seen.some(({ path }) => path.includes("/secrets"))).toBe(false);

    api.apply(grant);
    await becomes("first");
    await expect.poll(resolved).toBe("ResolvedRefs");
    expect((await ask("/")).status).toBe(401);
    expect(await shown("other.example.com")).toBe("fallback");
    expect((await admin.get("/config/slices/kubernetes.shop")).text).toContain("certificate_key_sealed");

    api.apply(secret({ cert: made("second").cert, key: made("third").key }, "certificates"));
    await expect.poll(resolved).toBe("InvalidCertificateRef");
    expect(await shown(HOST)).toBe("first");
  });
});

describe("the Secret of an Ingress", () => {
  test("is presented to clients that request its host, and is renewed while connections live", async () => {
    const first = made("first");
    await control([web(), secret(first)]);
    await becomes("first");
    expect(await shown("other.example.com")).toBe("fallback");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await ask("/", agent);
    expect(before.status).toBe(401);

    const second = made("second");
    api.apply(secret(second));
    await becomes("second");
    const after = await ask("/", agent);
    expect([after.status, after.socket === before.socket]).toEqual([401, true]);
    expect((after.socket as TLSSocket).getPeerCertificate().subject.CN).toBe("first");
    agent.destroy();

    // Sealed on its way, in the store and in what is said.
    const published = (await admin.get("/config/slices/kubernetes.shop")).text;
    expect(published).toContain("certificate_key_sealed");
    const lines = [first, second].map(({ key }) => key.split("\n")[1] ?? "");
    for (const line of lines)
      expect(published + log + gateway.log() + JSON.stringify(api.objects("events"))).not.toContain(line);
    expect(events()).toEqual([]);

    api.remove("secrets", "shop", "shop-tls");
    await becomes("fallback");
    expect((await ask("/")).status).toBe(401);
    await expect.poll(() => events()).toEqual([expect.stringContaining("there is no Secret shop/shop-tls")]);
  });

  test("that becomes invalid is reported in an Event and the log, and the previous certificate stays", async () => {
    await control([web(), secret(made("first"))]);
    await becomes("first");

    api.apply(secret({ cert: made("second").cert, key: made("third").key }));
    await expect
      .poll(() => events())
      .toEqual([
        'Questionable: "spec.tls[0].secretName" is "shop-tls", but in Secret shop/shop-tls "tls.key" cannot be used: the key is not the certificate\'s: the earlier certificate stays',
      ]);
    expect(log.split("\n").filter((line) => line.includes("the key is not the certificate's"))).toHaveLength(1);
    expect(await shown(HOST)).toBe("first");

    api.apply(secret(made("fourth")));
    await becomes("fourth");
  });

  test("that cannot be read delays no other Ingress, and is reported", async () => {
    let lift = (): void => {};
    await control([web(), ingress("other", { host: "other.example.com" })], {
      before: () => void (lift = api.forbid(({ path }) => path.endsWith("/secrets"))),
    });
    await expect.poll(() => events()).toEqual([expect.stringContaining("or it cannot be read")]);
    expect((await ask("/", undefined, "other.example.com")).status).toBe(401);

    api.apply(secret(made("first")));
    lift();
    await becomes("first");
  });

  test("for a host with another owner's certificate removes no Ingress", async () => {
    const theirs = made("terraform's");
    const route = { from: `https://${HOST}`, prefix: "/theirs", response: { status: 200, body: "x" } };
    const entry = { certificate: theirs.cert, certificate_key: theirs.key };
    const slice = {
      version: 1,
      owner: "terraform",
      settings: { host_certificates: { [HOST]: entry } },
      routes: { r: route },
    };
    expect((await admin.publish("terraform", JSON.stringify(slice))).status).toBe(200);

    await control([web(), secret(made("first"))]);
    await expect
      .poll(() => events())
      .toEqual([
        `Questionable: "spec.tls[0].hosts[0]" is "shop.example.com", whose certificate the gateway rejects: conflicts with another owner's configuration; the gateway's operator can see which`,
      ]);
    expect(await shown(HOST)).toBe("terraform's");
    expect((await ask("/")).status).toBe(401);
  });

  test("is omitted, and nothing else, for a gateway without certificate support", async () => {
    const seen: string[] = [];
    const old = (publisher: SlicePublisher): SlicePublisher => ({
      ...publisher,
      async publish(slices) {
        const [slice] = slices;
        seen.push(slice?.text ?? "");
        if (slice?.text.includes("host_certificates") !== true) return publisher.publish(slices);
        const problem = {
          owner: slice.owner,
          path: ["settings", "host_certificates"],
          message: "is not a known setting",
        };
        return { kind: "invalid", problems: [{ severity: "error", ...problem }] };
      },
    });
    await control([web(), secret(made("first"))], { around: old });
    await expect.poll(() => events()).toEqual([expect.stringContaining("the gateway rejects: is not a known setting")]);
    expect(seen).toHaveLength(2);
    expect((await ask("/")).status).toBe(401);
  });
});

describe("a challenge of a certificate authority", () => {
  const PATH = "/.well-known/acme-challenge/EvmP-8n5_q";
  const solver = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "cm-acme-http-solver-x7k2p",
      namespace: "shop",
      labels: { "acme.cert-manager.io/http01-solver": "true" },
      annotations: { "kubernetes.io/ingress.class": "gateway" },
    },
    spec: {
      rules: [
        {
          host: HOST,
          http: {
            paths: [
              {
                path: PATH,
                pathType: "ImplementationSpecific",
                backend: { service: { name: "web", port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    },
  };

  test("reaches its solver from port 80 without signing in, and opens no other path", async () => {
    await control([web(), solver]);
    // No resolver knows names of Services here, and the time of the failure depends on the host: check the record.
    await expect
      .poll(async () => {
        ask(PATH).catch(() => {});
        return (await gateway.records()).filter(({ path, allow }) => path === PATH && allow === true);
      })
      .not.toEqual([]);
    const plain = await answered(
      requestPlain({ host: "127.0.0.1", port: redirectPort, path: PATH, headers: { host: HOST }, agent: false }),
    );
    expect([plain.status, new URL(plain.location).pathname]).toEqual([308, PATH]);
    for (const path of [
      "/",
      "/.well-known/acme-challenge/",
      `${PATH}x`,
      `${PATH}/x`,
      "/.well-known/acme-challenge/other",
    ]) {
      expect((await ask(path)).status, path).toBe(401);
    }

    api.remove("ingresses", "shop", "cm-acme-http-solver-x7k2p");
    await expect.poll(async () => (await ask(PATH)).status).toBe(401);
  });
});
