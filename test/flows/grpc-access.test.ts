/** Access to gRPC calls: tokens in metadata, policy by method, identity for the server. Whole gateway, real oidc-provider. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";

import { type IdentityProvider, startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { createExternalTokens, EVERY_SERVER } from "../../runtime/identity/external-token.ts";
import { createServiceAccount, mintServiceAccountToken } from "../../runtime/identity/tokens/service-accounts.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import type { Store } from "../../runtime/store/store.ts";
import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import {
  createNotesClient,
  metadataOf,
  type NotesClient,
  type NotesServer,
  startNotesServer,
  status,
} from "../support/grpc.ts";
import { freePort } from "../support/ports.ts";
import { signInAt, TOOL } from "../support/provider-tokens.ts";
import { OWN_TOKEN } from "../support/tamper.ts";

const API = "https://api.example.com";
const HOSTS = ["app.localhost", "provider.localhost"] as const;
const certificate = makeTestCertificate({ name: "localhost", dns: [...HOSTS] });

let provider: IdentityProvider;
let server: NotesServer;
let gateway: TestGateway;
let folder: CertificateFolder;
let directory: string;
let store: Store;
const clients: Record<string, NotesClient> = {};

beforeAll(async () => {
  provider = await startIdentityProvider({
    resources: [API],
    clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: ["http://127.0.0.1:9/own"] }, TOOL],
  });
  server = await startNotesServer();
  folder = await openCertificateFolder();
  const { certificateFile, keyFile } = await folder.write("listener", certificate);
  directory = await mkdtemp(join(tmpdir(), "gateway-grpc-"));
  const storageUrl = `sqlite:${join(directory, "gateway.db")}`;
  const port = await freePort();
  const may = (user: string, path: string): object => ({
    allow: { and: [{ email: { is: user } }, { http_path: { starts_with: path } }] },
  });
  const route = (host: string, more: object): object => ({
    from: `https://${host}:${port}`,
    to: server.origin,
    http2: true,
    set_request_headers: { "X-Tenant": "blue", "X-Caller": '${gateway.request.headers["x-caller"]} by us' },
    remove_request_headers: ["x-secret"],
    ...more,
  });
  gateway = await startGateway({
    port,
    boot: {
      insecure_server: false,
      certificates: [{ certificate_file: certificateFile, certificate_key_file: keyFile }],
      storage_url: storageUrl,
    },
    yaml: stringify({
      idp_provider_url: provider.issuer,
      idp_client_id: "gateway",
      idp_client_secret: "secret",
      idp_access_token_allowed_audiences: [API],
      jwt_claims_headers: { "X-Mail": "email" },
      routes: [
        route("app.localhost", {
          allowed_users: ["service-account:ci"],
          prefix: "/test.Notes/",
          pass_identity_headers: true,
        }),
        route("provider.localhost", {
          bearer_token_format: "idp_access_token",
          pass_identity_headers: true,
          policy: [may("alice@example.com", "/test.Notes/Say")],
        }),
      ],
    }),
  });
  store = await openRecords(storageUrl, { clock: systemClock, log: silentLog() });
  for (const host of HOSTS) {
    clients[host] = createNotesClient(
      `127.0.0.1:${port}`,
      { root: certificate.cert },
      { "grpc.default_authority": `${host}:${port}`, "grpc.ssl_target_name_override": host },
    );
  }
});
afterAll(async () => {
  for (const client of Object.values(clients)) client.close();
  await store?.close();
  await gateway?.close();
  server?.close();
  await provider?.close();
  await folder?.close();
  await rm(directory, { recursive: true, force: true });
});

const client = (host: (typeof HOSTS)[number]): NotesClient => clients[host] as NotesClient;
const bearer = (token: string) => metadataOf({ authorization: `Bearer ${token}` });
const lastRecord = async () => (await gateway.records()).at(-1);
const seen = (name: string) => server.seen.at(-1)?.metadata.get(name) ?? [];

/** As the administrator's command does it. */
async function tokenOfAccount(name: string): Promise<string> {
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  const account = { name, email: "", groups: [], expiresAt, audience: EVERY_SERVER };
  const made = await createServiceAccount({ store, clock: systemClock }, account);
  if (!made.ok) throw new Error(made.reason);
  const tokens = createExternalTokens({ keys: createKeys([Buffer.alloc(32)]), clock: systemClock });
  return mintServiceAccountToken(tokens, made, EVERY_SERVER, expiresAt);
}

test("a service account calls with its token, which the server does not see", async () => {
  const metadata = bearer(await tokenOfAccount("ci"));
  metadata.set("x-secret", "of the caller");
  metadata.set("x-caller", "a program");
  const { code, notes } = await client("app.localhost").chat([{ text: "a" }], metadata);

  expect([code, notes]).toEqual([status.OK, [{ text: "a" }]]);
  expect(JSON.stringify(server.seen.at(-1)?.metadata.getMap())).not.toMatch(OWN_TOKEN);
  expect([seen("x-tenant"), seen("x-secret"), seen("x-caller")]).toEqual([["blue"], [], ["a program by us"]]);
  expect(decodeJwt(String(seen("x-gateway-assertion")[0])).sub).toBe("service-account:ci");
  expect(await lastRecord()).toMatchObject({ allow: true, user: "service-account:ci" });
});

test("another account is denied by status, and recorded as ever", async () => {
  const before = server.seen.length;
  const { code, details } = await client("app.localhost").say({ text: "" }, bearer(await tokenOfAccount("other")));

  expect([code, details]).toEqual([status.PERMISSION_DENIED, expect.stringMatching(/^access\.denied: .* \(request /)]);
  expect(server.seen).toHaveLength(before);
  const record = await lastRecord();
  expect(record).toMatchObject({ allow: false, user: "service-account:other" });
  expect(details).toContain(String(record?.["request-id"]));
});

test.each([
  ["no token", metadataOf({}), /^sign-in\.required: /],
  ["a bad token", bearer("gwt_nothing"), /^token\.refused: /],
])("%s is unauthenticated", async (_, metadata, words) => {
  const { code, details, trailing } = await client("app.localhost").say({ text: "" }, metadata);
  expect([code, details]).toEqual([status.UNAUTHENTICATED, expect.stringMatching(words)]);
  expect(trailing).not.toHaveProperty("location");
});

test("a provider token identifies the caller, policy allows methods, and the server gets the caller's identity", async () => {
  const { access_token: token } = await signInAt(provider, TOOL, "alice@example.com", API);
  const metadata = bearer(token);
  const { code } = await client("provider.localhost").say({ text: "" }, metadata);

  expect(code).toBe(status.OK);
  expect(seen("authorization")).toEqual([]);
  expect(seen("x-mail")).toEqual(["alice@example.com"]);
  expect(decodeJwt(String(seen("x-gateway-assertion")[0]))).toMatchObject({ email: "alice@example.com" });

  expect((await client("provider.localhost").chat([], metadata)).code).toBe(status.PERMISSION_DENIED);
});

test("an unavailable provider does not reject the caller", async () => {
  const { access_token: token } = await signInAt(provider, TOOL, "bob@example.com");
  await provider.close();
  const { code, details } = await client("provider.localhost").say({ text: "" }, bearer(token));
  expect([code, details]).toEqual([status.UNAVAILABLE, expect.stringMatching(/^session\.unavailable: /)]);
});
