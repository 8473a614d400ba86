/** examples/grpc as its README tells it: routes, service and client, through a whole gateway. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { createGreeterClient, type GreeterClient } from "../../examples/grpc/client.ts";
import { type Greeter, startGreeter } from "../../examples/grpc/server.ts";
import type { Greeting } from "../../examples/grpc/service.ts";
import { createExternalTokens, EVERY_SERVER } from "../../runtime/identity/external-token.ts";
import { createServiceAccount, mintServiceAccountToken } from "../../runtime/identity/tokens/service-accounts.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";

const certificate = makeTestCertificate({ name: "localhost", dns: ["localhost"] });
let greeter: Greeter;
let gateway: TestGateway;
let folder: CertificateFolder;
let directory: string;
const clients: GreeterClient[] = [];

beforeAll(async () => {
  greeter = await startGreeter("127.0.0.1:0");
  folder = await openCertificateFolder();
  directory = await mkdtemp(join(tmpdir(), "gateway-greeter-"));
  const { certificateFile, keyFile } = await folder.write("listener", certificate);
  const port = await freePort();
  const routes = await readFile(new URL("../../examples/grpc/routes.yaml", import.meta.url), "utf8");
  gateway = await startGateway({
    port,
    boot: {
      insecure_server: false,
      certificates: [{ certificate_file: certificateFile, certificate_key_file: keyFile }],
      storage_url: `sqlite:${join(directory, "gateway.db")}`,
    },
    yaml: routes
      .replaceAll("https://grpc.example.com", `https://localhost:${port}`)
      .replaceAll(":50051", `:${greeter.port}`),
  });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await gateway?.close();
  greeter?.close();
  await folder?.close();
  await rm(directory, { recursive: true, force: true });
});

/** As `gateway service-account create` does it. */
async function tokenOf(name: string): Promise<string> {
  const store = await openRecords(`sqlite:${join(directory, "gateway.db")}`, { clock: systemClock, log: silentLog() });
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  const account = { name, email: "", groups: [], expiresAt, audience: EVERY_SERVER };
  const made = await createServiceAccount({ store, clock: systemClock }, account);
  await store.close();
  if (!made.ok) throw new Error(made.reason);
  const tokens = createExternalTokens({ keys: createKeys([Buffer.alloc(32)]), clock: systemClock });
  return mintServiceAccountToken(tokens, made, EVERY_SERVER, expiresAt);
}

function clientWith(token: string): GreeterClient {
  const client = createGreeterClient(`localhost:${gateway.port}`, token, Buffer.from(certificate.cert));
  clients.push(client);
  return client;
}

test("the account of the routes is greeted by its name, and told what is said while it watches", async () => {
  const client = clientWith(await tokenOf("greeter-client"));
  expect(await client.greet("world")).toBe("Hello world, from service-account:greeter-client");

  const watch = client.watch("world");
  watch.on("error", () => {});
  const heard = new Promise<Greeting>((resolve) => watch.once("data", resolve));
  // Whether it watches by now only the server knows.
  const saying = setInterval(() => greeter.say("something"), 10);
  expect(await heard).toEqual({ text: "something" });
  clearInterval(saying);
  watch.cancel();
});

test("nobody else is", async () => {
  await expect(clientWith("").greet("world")).rejects.toThrow("16 UNAUTHENTICATED: sign-in.required: ");
  await expect(clientWith(await tokenOf("other")).greet("world")).rejects.toThrow(
    "7 PERMISSION_DENIED: access.denied: ",
  );
});
