/** What `gateway import` writes of a Pomerium configuration is what `gateway run` serves, with nothing but its secrets given. */
import { readFileSync, appendFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { makeTestCertificate } from "../../../support/certificates.ts";
import { openPageShell } from "../../../support/page-shell.ts";

const SECRET = Buffer.alloc(32, 7).toString("base64");

test("main configuration file and slice are checked, and served together", async () => {
  const shell = openPageShell();
  try {
    const { cert, key } = makeTestCertificate({ name: "app.example.com", dns: ["app.example.com"] });
    shell.write("tls.crt", cert);
    shell.write("tls.key", key);
    shell.write(
      "config.yaml",
      `
address: 127.0.0.1:0
authenticate_service_url: https://auth.example.com
idp_provider: google
idp_client_id: client
idp_client_secret: topsecret
shared_secret: ${SECRET}
certificate_file: ${join(shell.directory, "tls.crt")}
certificate_key_file: ${join(shell.directory, "tls.key")}
routes:
  - from: https://app.example.com
    to: http://127.0.0.1:8080
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
`,
    );
    await shell.run(
      "mkdir gateway\ngateway import config.yaml --to bundle --boot gateway/gateway.yaml > gateway/main.json",
    );
    const boot = join(shell.directory, "gateway/gateway.yaml");
    expect(readFileSync(boot, "utf8")).toMatch(/^owners:\n {2}main:/m);
    // No port of this machine is for a test to choose.
    appendFileSync(boot, "admin_address: 127.0.0.1:0\n");
    const secrets = ["GATEWAY_ADMIN_TOKEN", "SHARED_SECRET", "IDP_CLIENT_SECRET"].map((name) => `${name}=${SECRET}`);
    const output = await shell.run(`export ${secrets.join(" ")}\ngateway check gateway\ngateway run --config gateway`, {
      says: /gateway serves on https:/,
      ask: () => Promise.resolve(),
    });
    expect(output).toContain("good: 1 route, 0 errors, 0 warnings");
    expect(output).toMatch(/"routes":1,.*"configuration active"/);
  } finally {
    shell.close();
  }
});
