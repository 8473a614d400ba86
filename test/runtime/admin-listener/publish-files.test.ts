/** What may not be read under another name is refused when it is published, not only left out when it is loaded. */
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { createAdminClient, type AdminAnswer, type AdminClient } from "../../support/admin-client.ts";
import { makeTestCertificate } from "../../support/certificates.ts";
import { TEST_SHARED_SECRET } from "../../support/config.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;
let admin: AdminClient;
let top = "";
let mount = "";

/** As Kubernetes mounts a Secret, with links beside it. */
beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), "gateway-publish-"));
  mount = join(top, "secrets");
  await mkdir(join(mount, "..2026_01"), { recursive: true });
  await writeFile(join(mount, "..2026_01", "shared"), TEST_SHARED_SECRET);
  await writeFile(join(mount, "..2026_01", "team"), "team-secret");
  await writeFile(join(top, "elsewhere"), "elsewhere-sentinel");
  await symlink("..2026_01", join(mount, "..data"));
  for (const name of ["shared", "team"]) await symlink(`..data/${name}`, join(mount, name));
  await link(join(mount, "..2026_01", "shared"), join(mount, "hard"));
  await symlink("../elsewhere", join(mount, "out"));
  gateway = await startGateway({
    yaml: "routes: []\n",
    boot: {
      shared_secret: undefined,
      shared_secret_ref: `file:${mount}/shared`,
      owners: { team: { allow_local_upstreams: true, allowed_settings: ["*"], allowed_refs: [`file:${mount}/*`] } },
    },
  });
  admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
});
afterEach(() => admin.remove("team"));
afterAll(async () => {
  await gateway.close();
  await rm(top, { recursive: true, force: true });
});

const CERTIFICATE = makeTestCertificate({ name: "app", dns: ["app.localhost"] }).cert;
const ROUTE = {
  from: "http://app.localhost",
  to: "http://127.0.0.1:1",
  policy: [{ allow: { or: [{ authenticated_user: true }] } }],
};
const PLACES = {
  "a route": (ref: string) => ({
    settings: { runtime_flags: { mcp: true } },
    routes: { r: { ...ROUTE, mcp: { server: { upstream_oauth2: { client_id: "x", client_secret_ref: ref } } } } },
  }),
  settings: (ref: string) => ({
    settings: { idp_provider_url: "http://127.0.0.1:1", idp_client_id: "x", idp_client_secret_ref: ref },
    routes: { r: ROUTE },
  }),
  "a certificate": (ref: string) => ({
    settings: { host_certificates: { "app.localhost": { certificate: CERTIFICATE, certificate_key_ref: ref } } },
    routes: { r: ROUTE },
  }),
};
const publish = (place: keyof typeof PLACES, name: string): Promise<AdminAnswer> =>
  admin.publish("team", JSON.stringify({ version: 1, owner: "team", ...PLACES[place](`file:${mount}/${name}`) }));

const errorsOf = ({ body }: AdminAnswer): string[] =>
  ((body["problems"] ?? []) as { severity: string; path: string; message: string }[])
    .filter(({ severity }) => severity === "error")
    .map(({ path, message }) => `${path} ${message}`);

test.each(
  (Object.keys(PLACES) as (keyof typeof PLACES)[]).flatMap((place) =>
    ["..data/shared", "..2026_01/shared", "hard"].map((name) => [place, name] as const),
  ),
)("in %s, %s is refused as the main configuration's own secret", async (place, name) => {
  const answer = await publish(place, name);
  expect(answer.status).toBe(422);
  expect(errorsOf(answer)).toEqual([
    expect.stringMatching(/_ref cannot be read by the gateway: it is a secret of the main configuration file itself/),
  ]);
});

test.each(Object.keys(PLACES) as (keyof typeof PLACES)[])(
  "in %s, a link that leads elsewhere is refused",
  async (place) => {
    const answer = await publish(place, "out");
    expect(answer.status).toBe(422);
    expect(errorsOf(answer)).toEqual([
      expect.stringMatching(
        /_ref cannot be read by the gateway: it leads outside the directory that "allowed_refs" names/,
      ),
    ]);
  },
);

test.each(["a route", "settings"] as const)("in %s, what is mounted in the directory is used", async (place) => {
  const answer = await publish(place, "..data/team");
  expect(errorsOf(answer)).toEqual([]);
  expect(answer).toMatchObject({ status: 200, body: { live: true } });
});
