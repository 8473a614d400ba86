import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { checkConfiguration } from "../../../../runtime/tools/commands/check.ts";
import { errorText } from "../../../../runtime/shared/errors.ts";
import { startGateway } from "../../../../runtime/gateway.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";

let directory: string;
let file: (name: string) => string;

const SECRET = "A".repeat(43) + "=";
const SAFE = { shared_secret: SECRET, storage_url: "memory:", address: "127.0.0.1:0", admin_address: "127.0.0.1:0" };
const ROUTE = {
  name: "app",
  from: "https://app.example.com",
  to: "http://127.0.0.1:9",
  policy: [{ allow: { or: [{ accept: true }] } }],
};

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "gateway-check-"));
  file = (name) => join(directory, name);
  const [good, other] = [
    makeTestCertificate({ name: "a", dns: ["a"] }),
    makeTestCertificate({ name: "b", dns: ["b"] }),
  ];
  writeFileSync(file("cert.pem"), good.cert);
  writeFileSync(file("key.pem"), good.key);
  writeFileSync(file("other.pem"), other.key);
  writeFileSync(file("secret.txt"), "too short");
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What both say of one configuration. */
async function ask(settings: object, route: object = {}, elsewhere = false) {
  const path = file("gateway.yaml");
  writeFileSync(
    path,
    JSON.stringify({
      ...SAFE,
      ...settings,
      ...("shared_secret_ref" in settings && { shared_secret: undefined }),
      routes: [{ ...ROUTE, ...route }],
    }),
  );
  const checked = await checkConfiguration([path], { env: process.env, elsewhere });
  const started = await startGateway({ config: path, log: silentLog() }).then(
    async (gateway) => {
      await gateway.close();
      return { ok: true, text: "" };
    },
    (error: unknown) => ({ ok: false, text: errorText(error) }),
  );
  return { checked, started };
}

describe("gateway check reports what gateway run does with a configuration", () => {
  const certificate = (key: string) => ({
    certificates: [{ certificate_file: join("DIR", "cert.pem"), certificate_key_file: join("DIR", key) }],
  });
  test.each<[string, object, object, RegExp | undefined]>([
    ["plain HTTP is fine", { insecure_server: true }, {}, undefined],
    ["a certificate is fine", certificate("key.pem"), {}, undefined],
    ["no certificate", {}, {}, /no certificate is configured/],
    ["development does not stand for one", { development: true }, {}, /no certificate is configured/],
    ["a certificate with another's key", certificate("other.pem"), {}, /the key is not the certificate's/],
    [
      "a logo that is no image",
      { ...certificate("key.pem"), branding: { logo_file: join("DIR", "cert.pem") } },
      {},
      /"branding.logo_file" ".+cert.pem": it is not a PNG, WebP or SVG image/,
    ],
    ["a certificate that is not there", certificate("missing.pem"), {}, /missing\.pem/],
    [
      "an environment variable that is not set",
      { insecure_server: true, admin_token_ref: "env:GATEWAY_NO_SUCH" },
      {},
      /the environment variable is not set/,
    ],
    [
      "a shared secret that is too short",
      { insecure_server: true, shared_secret_ref: "file:DIR/secret.txt" },
      {},
      /at least 32 bytes/,
    ],
    [
      "a secret of a route that is not there",
      { insecure_server: true },
      { tls_custom_ca_ref: "file:DIR/none.pem" },
      /none\.pem|does not exist/,
    ],
    [
      "a database where there is no directory",
      { insecure_server: true, storage_url: "sqlite:DIR/none/gateway.db" },
      {},
      /none/,
    ],
    [
      "a record log where there is no directory",
      { insecure_server: true, authorize_log: "DIR/none/records.log" },
      {},
      /none/,
    ],
    [
      "a database that is a directory",
      { insecure_server: true, storage_url: "sqlite:DIR" },
      {},
      /which is a directory/,
    ],
    [
      "a database that is another file",
      { insecure_server: true, storage_url: "sqlite:DIR/cert.pem" },
      {},
      /not an SQLite database/,
    ],
    ["a record log that is a directory", { insecure_server: true, authorize_log: "DIR" }, {}, /which is a directory/],
    [
      "two listeners on one port",
      { insecure_server: true, address: "127.0.0.1:65001", admin_address: ":65001" },
      {},
      /"address" and "admin_address" listen on the same port/,
    ],
  ])("%s", async (_name, settings, route, expected) => {
    const placed = (value: object): object => JSON.parse(JSON.stringify(value).replaceAll("DIR", directory)) as object;
    const { checked, started } = await ask(placed(settings), placed(route));
    expect(checked.ok, checked.text).toBe(expected === undefined);
    expect(started.ok, started.text).toBe(checked.ok);
    if (expected) expect(checked.text).toMatch(expected);
  });

  test("--elsewhere skips only the checks that need the other host", async () => {
    const settings = {
      insecure_server: true,
      admin_token_ref: "env:GATEWAY_NO_SUCH",
      storage_url: "sqlite:/none/gateway.db",
    };
    const path = file("gateway.yaml");
    writeFileSync(path, JSON.stringify({ ...SAFE, ...settings, routes: [ROUTE] }));
    expect(await checkConfiguration([path], { env: {}, elsewhere: true })).toMatchObject({ ok: true });
    writeFileSync(path, JSON.stringify({ ...SAFE, ...settings, insecure_server: false, routes: [ROUTE] }));
    expect(await checkConfiguration([path], { env: {}, elsewhere: true })).toMatchObject({ ok: false });
  });
});
