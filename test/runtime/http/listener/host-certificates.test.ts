/** Certificates of slices in a directory: keys by reference, and client certificates. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";

import { startGateway, type Gateway } from "../../../../runtime/gateway.ts";
import { createLog } from "../../../../runtime/shared/log.ts";
import {
  type CertificateFolder,
  makeTestCertificate,
  openCertificateFolder,
  type TestCertificate,
} from "../../../support/certificates.ts";

let folder: CertificateFolder;
let authority: TestCertificate;
let gateway: Gateway;
let log = "";

const made = (name: string, host: string): TestCertificate => makeTestCertificate({ name, dns: [host], by: authority });

/** A slice whose certificate has its key in a file. */
async function writeSlice(owner: string, host: string, certificate: string): Promise<void> {
  const file = join(folder.path, "config", `${owner}.yaml`);
  const own = { certificate, certificate_key_ref: `file:${folder.path}/${owner}.key` };
  const route = {
    from: `https://${host}`,
    response: { status: 200, body: owner },
    allow_public_unauthenticated_access: true,
  };
  const slice = { version: 1, owner, settings: { host_certificates: { [host]: own } }, routes: { [owner]: route } };
  await writeFile(`${file}.new`, stringify(slice));
  await rename(`${file}.new`, file);
}

async function shown(servername: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: gateway.port, servername, rejectUnauthorized: false });
  await new Promise((resolve, reject) => socket.once("error", reject).once("secureConnect", resolve));
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

/** @param client presents a certificate; absent: none */
function ask(host: string, client?: TestCertificate): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        port: gateway.port,
        servername: host,
        headers: { host },
        agent: false,
        ca: authority.cert,
        ...(client && { cert: client.cert, key: client.key }),
      },
      (answer) => answer.resume().once("end", () => resolve(answer.statusCode ?? 0)),
    );
    sent.once("error", reject);
    sent.end();
  });
}

beforeAll(async () => {
  folder = await openCertificateFolder();
  authority = makeTestCertificate({ name: "authority", isAuthority: true });
  await folder.write("clients", authority);
  const fallback = await folder.write("fallback", made("fallback", "fallback.example"));
  await mkdir(join(folder.path, "config"));
  const boot = {
    address: "127.0.0.1:0",
    admin_address: "127.0.0.1:0",
    certificates: [{ certificate_file: fallback.certificateFile, certificate_key_file: fallback.keyFile }],
    downstream_mtls: { ca_file: join(folder.path, "clients.crt") },
    shared_secret: Buffer.alloc(32, 7).toString("base64"),
    storage_url: "memory:",
    authorize_log: join(folder.path, "authorize.log"),
    owners: Object.fromEntries(
      ["app", "other"].map((owner) => [owner, { allowed_refs: [`file:${folder.path}/${owner}.*`] }]),
    ),
    routes: [],
  };
  await writeFile(join(folder.path, "config/gateway.yaml"), stringify(boot));
  for (const owner of ["app", "other"]) {
    const certificate = made(`${owner} first`, `${owner}.example`);
    await writeFile(join(folder.path, `${owner}.key`), certificate.key);
    await writeSlice(owner, `${owner}.example`, certificate.cert);
  }
  const destination = { write: (line: string) => void (log += line) };
  gateway = await startGateway({ config: join(folder.path, "config"), log: createLog({ destination }) });
});
afterAll(async () => {
  await gateway.close();
  await folder.close();
});
beforeEach(() => {
  log = "";
});

describe("a certificate of a slice", () => {
  test("is presented while client certificates are verified by the gateway's own authorities", async () => {
    expect(await ask("app.example", makeTestCertificate({ name: "client", by: authority }))).toBe(200);
    const stranger = makeTestCertificate({ name: "strange authority", isAuthority: true });
    expect(await ask("app.example", makeTestCertificate({ name: "client", by: stranger }))).toBe(495);
    expect(await ask("app.example")).toBe(495);
  });

  test("whose key file is missing stays unchanged, and the status says why; others can still change", async () => {
    const next = made("other second", "other.example");
    await writeFile(join(folder.path, "app.key"), made("stray", "app.example").key);
    await gateway.reload();
    await writeFile(join(folder.path, "other.key"), next.key);
    await writeSlice("other", "other.example", next.cert);
    await gateway.reload();

    expect(await shown("app.example")).toBe("app first");
    expect(await shown("other.example")).toBe("other second");
    const { degraded } = gateway.status();
    expect(degraded).toMatchObject([{ owner: "app" }]);
    expect(JSON.stringify(degraded)).toContain("the key is not the certificate's");
  });

  test("that is invalid from the beginning leaves its owner's previous slice active", async () => {
    await writeSlice("app", "app.example", made("app second", "app.example").cert);
    await gateway.reload();

    expect(await shown("app.example")).toBe("app first");
    expect(await shown("other.example")).toBe("other second");
    expect(JSON.stringify(gateway.status().degraded)).toContain('host_certificates[\\"app.example\\"]');
    expect(log).toContain("the key is not the certificate's");
  });

  test("is active once certificate and key match", async () => {
    const third = made("app third", "app.example");
    await writeFile(join(folder.path, "app.key"), third.key);
    await writeSlice("app", "app.example", third.cert);
    await gateway.reload();

    expect(await shown("app.example")).toBe("app third");
    expect(gateway.status().degraded).toEqual([]);
  });
});
