/** The admin listener by the names that operators give it, over TLS, and with client certificates. */
import { writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { connect } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { askReadiness } from "../../../runtime/tools/commands/ready.ts";
import { createAdminPublisher, sliceTexts } from "../../../runtime/kubernetes/controller/publisher.ts";
import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../../support/certificates.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";

const NAME = "gateway.internal.example.com";
const HOSTS = [NAME, "Second.example.com"];
const YAML = "routes: []\n";

const authority = makeTestCertificate({ name: "authority", isAuthority: true });
const server = makeTestCertificate({ name: "server", dns: [NAME], by: authority });
const clients = makeTestCertificate({ name: "client authority", isAuthority: true });
const client = makeTestCertificate({ name: "pipeline", by: clients });
const stranger = makeTestCertificate({ name: "pipeline", by: authority });

let folder: CertificateFolder;
let tls: { certificate_file: string; certificate_key_file: string };
let clientCaFile: string;

beforeAll(async () => {
  folder = await openCertificateFolder();
  const { certificateFile, keyFile } = await folder.write("server", server);
  tls = { certificate_file: certificateFile, certificate_key_file: keyFile };
  clientCaFile = (await folder.write("clients", clients)).certificateFile;
  await folder.write("authority", authority);
  await folder.write("client", client);
});
afterAll(() => folder.close());

interface Asked {
  readonly path?: string;
  readonly host?: string;
  readonly token?: string | undefined;
  readonly tls?: RequestOptions;
}

/** @returns the status; rejects when there is none */
function ask(gateway: TestGateway, { path = "/status", host = NAME, token, tls: more }: Asked): Promise<number> {
  const { port, protocol } = new URL(gateway.adminOrigin);
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const common = { host: "127.0.0.1", port, path, agent: false, headers: { host, ...authorization } } as const;
  const options = { servername: NAME, ca: authority.cert, ...common, ...more };
  return new Promise((resolve, reject) => {
    const request = protocol === "https:" ? httpsRequest(options) : httpRequest(common);
    request.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    request.on("error", reject).end();
  });
}

describe("admin_hosts", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ yaml: YAML, boot: { admin_hosts: HOSTS } });
  });
  afterAll(() => gateway.close());

  test.each([NAME, `${NAME}:9901`, NAME.toUpperCase(), "second.example.com", "127.0.0.1", "localhost"])(
    "%s is answered",
    async (host) => {
      expect(await ask(gateway, { host, path: "/readyz" })).toBe(200);
      expect(await ask(gateway, { host, token: gateway.adminToken })).toBe(200);
      expect(await ask(gateway, { host, path: "/metrics", token: gateway.adminToken })).toBe(200);
      // Who has a wrong token is told so.
      expect(await ask(gateway, { host, path: "/config/slices", token: "wrong" })).toBe(401);
    },
  );

  test.each([`x.${NAME}`, `${NAME}.evil.example`, "internal.example.com", "evil.example", `${NAME}@evil.example`])(
    "a page of another name (%j) that was pointed here learns nothing",
    async (host) => {
      for (const path of ["/healthz", "/readyz", "/status", "/metrics", "/config/slices", "/"]) {
        expect([path, await ask(gateway, { host, path })]).toEqual([path, 421]);
      }
      expect(await ask(gateway, { host, token: gateway.adminToken })).toBe(421);
    },
  );

  test.each(["*.example.com", "gateway.example.com:9901", "https://gateway.example.com", "a b", ""])(
    "%j is not one of its names",
    async (host) => {
      const starting = startGateway({ yaml: YAML, boot: { admin_hosts: [host] } });
      await expect(starting).rejects.toThrow(/admin_hosts.*must be a host name without port/s);
    },
  );
});

describe("admin_tls", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ yaml: YAML, boot: { admin_hosts: HOSTS, admin_tls: tls } });
  });
  afterAll(() => gateway.close());

  test("is what the listener speaks, and all it speaks", async () => {
    expect(gateway.adminOrigin).toMatch(/^https:/);
    expect(await ask(gateway, { token: gateway.adminToken })).toBe(200);
    expect(await ask(gateway, {})).toBe(401);
    await expect(ask(gateway, { tls: { ca: clients.cert } })).rejects.toThrow(/certificate/);
    const plain = { ...gateway, adminOrigin: gateway.adminOrigin.replace("https:", "http:") };
    await expect(ask(plain, { path: "/healthz" })).rejects.toThrow();
  });

  test("`gateway ready` uses it", async () => {
    const ca = `${folder.path}/authority.crt`;
    expect(await askReadiness(gateway.adminOrigin, { ca, serverName: NAME })).toMatchObject({ ok: true });
    const untrusted = await askReadiness(gateway.adminOrigin, { ca });
    expect(untrusted).toMatchObject({ ok: false, text: expect.stringContaining("altnames") as string });
    expect(await askReadiness(gateway.adminOrigin, { ca: `${folder.path}/absent` })).toMatchObject({ ok: false });
  });

  test("a renewed certificate is used without a restart", async () => {
    const other = await openCertificateFolder();
    const { certificateFile, keyFile } = await other.write("server", server);
    const admin_tls = { certificate_file: certificateFile, certificate_key_file: keyFile };
    const renewing = await startGateway({ yaml: YAML, boot: { admin_hosts: HOSTS, admin_tls } });
    const next = makeTestCertificate({ name: "next", dns: [NAME], by: clients });
    await other.write("server", next);
    const asked = (): Promise<number> => ask(renewing, { path: "/healthz", tls: { ca: clients.cert } }).catch(() => 0);
    await expect.poll(asked, { timeout: 10_000 }).toBe(200);
    await renewing.close();
    await other.close();
  });

  test("a connection that never finishes its handshake does not prevent the gateway from stopping", async () => {
    const stopping = await startGateway({ yaml: YAML, boot: { admin_tls: tls } });
    const socket = connect(Number(new URL(stopping.adminOrigin).port), "127.0.0.1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    await stopping.close();
    await closed;
  }, 8_000);

  test("a gateway with an unusable certificate does not start", async () => {
    const admin_tls = { ...tls, certificate_key_file: `${folder.path}/client.key` };
    await expect(startGateway({ yaml: YAML, boot: { admin_tls } })).rejects.toThrow(/the key is not the certificate's/);
  });
});

describe("client certificates of the admin listener", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const admin_tls = { ...tls, client_ca_file: clientCaFile };
    gateway = await startGateway({ yaml: YAML, boot: { admin_hosts: HOSTS, admin_tls } });
  });
  afterAll(() => gateway.close());

  const PATHS = ["/status", "/metrics", "/config/slices", "/config/slices/team", "/config/rollback", "/unknown"];

  test.each([
    ["none", {}],
    ["one of another authority", { cert: stranger.cert, key: stranger.key }],
  ])("the token alone opens nothing with %s", async (_name, shown) => {
    for (const path of PATHS) {
      expect([path, await ask(gateway, { path, token: gateway.adminToken, tls: shown })]).toEqual([path, 403]);
      expect([path, await ask(gateway, { path, tls: shown })]).toEqual([path, 403]);
    }
  });

  test("nor does the certificate alone", async () => {
    const shown = { cert: client.cert, key: client.key };
    for (const path of PATHS) expect([path, await ask(gateway, { path, tls: shown })]).toEqual([path, 401]);
    expect(await ask(gateway, { token: gateway.adminToken, tls: shown })).toBe(200);
  });

  test("probes need neither", async () => {
    expect(await ask(gateway, { path: "/readyz" })).toBe(200);
    expect(await ask(gateway, { path: "/healthz", tls: { cert: stranger.cert, key: stranger.key } })).toBe(200);
  });

  test("a name that is not listed is refused before, whatever is shown", async () => {
    const shown = { cert: client.cert, key: client.key };
    expect(await ask(gateway, { host: "evil.example", tls: shown })).toBe(421);
    expect(await ask(gateway, { host: "evil.example", path: "/config/slices" })).toBe(421);
  });

  test("the Ingress controller publishes with authority and certificate in files, and reports missing ones", async () => {
    const { port } = new URL(gateway.adminOrigin);
    const tokenFile = `${folder.path}/token`;
    await writeFile(tokenFile, gateway.adminToken);
    const local = makeTestCertificate({ name: "local", dns: ["localhost"], by: authority });
    const { certificateFile, keyFile } = await folder.write("local", local);
    const admin_tls = {
      certificate_file: certificateFile,
      certificate_key_file: keyFile,
      client_ca_file: clientCaFile,
    };
    const other = await startGateway({ yaml: YAML, boot: { admin_tls } });
    const url = `https://localhost:${new URL(other.adminOrigin).port}`;
    const caFile = `${folder.path}/authority.crt`;
    const shown = { certFile: `${folder.path}/client.crt`, keyFile: `${folder.path}/client.key` };
    const common = { owner: "kubernetes", tokenFile };
    const slices = sliceTexts([{ version: 1, owner: "kubernetes.shop", routes: {} }]);
    const publisher = createAdminPublisher({ ...common, url, tls: { caFile, ...shown } });
    expect(await publisher.publish(slices)).toEqual({ kind: "published" });
    expect(await publisher.sealKey()).toContain("X25519");
    const without = createAdminPublisher({ ...common, url, tls: { caFile } });
    await expect(without.publish(slices)).rejects.toThrow(/a client certificate that this gateway trusts is required/);
    await expect(createAdminPublisher({ ...common, url }).publish(slices)).rejects.toThrow(
      /not signed by a trusted CA/,
    );
    const misnamed = createAdminPublisher({ ...common, url: `https://localhost:${port}`, tls: { caFile } });
    await expect(misnamed.publish(slices)).rejects.toThrow(/altnames/);
    await other.close();
  });
});
