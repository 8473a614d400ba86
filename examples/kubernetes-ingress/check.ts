/** Translates the manifests, compares with slice.yaml, starts a gateway on the result. One line per step. */
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { stringify } from "yaml";

import { startGateway, type Gateway } from "../../runtime/gateway.ts";
import type { Slice } from "../../runtime/config/slice.ts";
import { ANNOTATION_PREFIX } from "../../runtime/config/surfaces/annotations.ts";
import { knownAnnotations } from "../../runtime/kubernetes/translate/annotations/known-annotations.ts";
import { readManifests } from "../../runtime/kubernetes/translate/manifests.ts";
import type { EndpointSlice, KubeObjects, Secret } from "../../runtime/kubernetes/translate/objects.ts";
import { formatIngressProblem } from "../../runtime/kubernetes/translate/ingress-problem.ts";
import { renderSlices } from "../../runtime/kubernetes/render.ts";
import { translate } from "../../runtime/kubernetes/translate/translate.ts";
import { sealTo } from "../../runtime/kubernetes/translate-command.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { makeTestCertificate } from "../../test/support/certificates.ts";
import { createSteps } from "../demo/steps.ts";

const steps = createSteps();
const folder = await mkdtemp(join(tmpdir(), "gateway-kubernetes-"));
const sources = await Promise.all(["ingresses.yaml", "services.yaml"].map(readHere));
const manifests = readManifests(sources);
// Made with kubectl, so in no file.
const secrets: readonly Secret[] = [
  secretOf("github-oauth", { client_id: "gateway", client_secret: "the-client-secret" }),
  secretOf("github-guardrail", { signing_key: Buffer.alloc(32, 7).toString("base64") }),
  secretOf("crm-oauth", { client_id: "gateway", client_secret: "the-crm-secret" }),
  secretOf("builds-oauth", { client_id: "gateway", client_secret: "the-builds-secret" }),
  secretOf("backend-headers", { "X-Api-Key": "the-api-key" }),
  secretOf("backend-ca", { "ca.crt": "the-authorities" }),
  secretOf("backend-client", { "tls.crt": "the-certificate", "tls.key": "the-private-key" }),
  secretOf("shop-tls", keyPairFor("shop.example.com")),
];
const objects: KubeObjects = { ...manifests.objects, secrets };

await steps.step("the manifests are readable", async () => {
  steps.equal(manifests.problems.join(), "");
});

await steps.step("the Ingresses use every annotation there is", async () => {
  const used = new Set(objects.ingresses.flatMap(({ metadata }) => Object.keys(metadata.annotations ?? {})));
  const unused = knownAnnotations.filter((name) => !used.has(ANNOTATION_PREFIX + name));
  steps.equal(unused.join(", "), "", "these stand in none of ingresses.yaml");
  return `${knownAnnotations.length} annotations`;
});

await steps.step("the slice is the one in slice.yaml", async () => {
  // A real seal is another text each time.
  const seal = async (_value: string, { name, key }: { name: string; key: string }): Promise<string> =>
    `sealed.${name}.${key.replaceAll("_", "-")}`;
  const { slices } = await translate(objects, { seal });
  const text = renderSlices(
    { slices: slices.map((slice) => withCertificates(slice, "-----BEGIN CERTIFICATE-----…")) },
    "yaml",
  );
  const golden = new URL("slice.yaml", import.meta.url);
  if (process.env["GATEWAY_UPDATE_GOLDEN"] === "1") await writeFile(golden, text);
  steps.equal(text, await readFile(golden, "utf8"));
});

await steps.step("the mistake is told, and only it is left out", async () => {
  const { ingresses, problems } = await translate(objects, { seal: async () => "sealed" });
  steps.equal(
    ingresses
      .filter(({ served }) => !served)
      .map(({ key }) => key)
      .join(),
    "shop/mistake",
  );
  return problems
    .filter(({ severity }) => severity === "error")
    .map(formatIngressProblem)
    .join();
});

const upstream = await startUpstream();
let gateway: Gateway | undefined;

await steps.step("a gateway takes the slice, with secrets sealed to its key", async () => {
  await writeFile(join(folder, "gateway.yaml"), stringify(bootFile()));
  gateway = await startGateway({ config: folder, log: silentLog() });
  const status = await fetch(`${gateway.adminOrigin}/status`, {
    headers: { authorization: "Bearer example-admin-token-of-the-check" },
  });
  const { seal_key: key } = (await status.json()) as { seal_key: object };
  // The pods of the status page are this process.
  const endpointSlices: readonly EndpointSlice[] = objects.endpointSlices.map((slice) => ({
    ...slice,
    ports: [{ name: "http", port: upstream.port }],
    endpoints: [{ addresses: ["127.0.0.1"] }],
  }));
  const here = { seal: sealTo(JSON.stringify(key)) };
  // Certificates that are none would be refused: the demo upstream needs none.
  const ingresses = objects.ingresses.filter(({ metadata }) => metadata.name !== "backend");
  const text = renderSlices(await translate({ ...objects, ingresses, endpointSlices }, here), "json");
  steps.ok(!text.includes("the-client-secret"), "the slice must hold no secret");
  const changed = new Promise<void>((resolve) => gateway?.onChange(resolve));
  await writeFile(join(folder, "kubernetes.shop.json.new"), text);
  await rename(join(folder, "kubernetes.shop.json.new"), join(folder, "kubernetes.shop.json"));
  await changed;
  return `digest ${gateway.current().digest.slice(0, 12)}`;
});

await steps.step("a public route reaches the pods with its headers", async () => {
  const { status, body } = await get("status.example.com", "/");
  steps.equal(status, 200);
  const seen = JSON.parse(body) as { host: string; "x-from": string };
  steps.equal(seen["x-from"], "ingress");
  steps.match(seen.host, /^status\.example\.com/);
  return `host ${seen.host}, x-from ${seen["x-from"]}`;
});

await steps.step("an application lets nobody in who is not signed in", async () => {
  const { status } = await get("shop.example.com", "/", { accept: "application/json" });
  steps.equal(status, 401);
});

await steps.step("an MCP server asks programs for a token", async () => {
  const { status, headers } = await get("tools.example.com", "/github/mcp");
  steps.equal(status, 401);
  steps.match(String(headers["www-authenticate"]), /resource_metadata=/);
});

await steps.step("no route serves the host of the mistake", async () => {
  steps.equal((await get("mistake.example.com", "/")).status, 404);
});

await gateway?.close();
await upstream.close();
await rm(folder, { recursive: true });
process.exitCode = steps.end();

async function readHere(file: string): Promise<{ readonly file: string; readonly text: string }> {
  return { file, text: await readFile(new URL(file, import.meta.url), "utf8") };
}

function secretOf(name: string, values: Readonly<Record<string, string>>): Secret {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "shop" }, stringData: values };
}

/** Certificates differ with each run. */
function withCertificates(slice: Slice, certificate: string): Slice {
  const entries = Object.entries(slice.settings?.host_certificates ?? {});
  const certificates = Object.fromEntries(entries.map(([host, entry]) => [host, { ...entry, certificate }]));
  return { ...slice, settings: { ...slice.settings, host_certificates: certificates } };
}

function keyPairFor(host: string): Readonly<Record<string, string>> {
  const { cert, key } = makeTestCertificate({ name: host, dns: [host] });
  return { "tls.crt": cert, "tls.key": key };
}

function bootFile(): object {
  return {
    address: "127.0.0.1:0",
    admin_address: "127.0.0.1:0",
    admin_token: "example-admin-token-of-the-check",
    insecure_server: true,
    development: true,
    shared_secret: Buffer.alloc(32, 7).toString("base64"),
    idp_provider_url: "https://login.example.com",
    idp_client_id: "gateway",
    idp_client_secret: "example",
    storage_url: "memory:",
    authorize_log: join(folder, "authorize.log"),
    runtime_flags: { mcp: true },
    routes: [],
  };
}

/** An upstream that answers with the request's headers. */
async function startUpstream(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((incoming, response) => response.end(JSON.stringify(incoming.headers)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A request to the gateway as if its host name led here, by way of something that terminates TLS. */
async function get(host: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  const port = gateway?.port ?? 0;
  return new Promise<{ status: number; headers: Readonly<Record<string, unknown>>; body: string }>(
    (resolve, reject) => {
      const options = { host: "127.0.0.1", port, path, headers: { ...headers, host } };
      const sent = request(options, (answer) => {
        let body = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => (body += chunk));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
      });
      sent.on("error", reject);
      sent.end();
    },
  );
}
