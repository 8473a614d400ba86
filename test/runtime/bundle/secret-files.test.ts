/** A reference is a name: what it leads to decides who may read it. */
import { link, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { loadSlices } from "../../../runtime/config/load.ts";
import type { FileRules } from "../../../runtime/config/rules/owners.ts";
import { HAND_WRITTEN_OWNER } from "../../../runtime/features/process/owners.ts";
import { findNamed, problemFor } from "../../../runtime/bundle/files/secret-files.ts";
import { readSecrets } from "../../../runtime/bundle/secrets.ts";

let top = "";
let secrets = "";
let files: FileRules;

/** As Kubernetes mounts a Secret: `name` → `..data/name`, `..data` → a directory of this update. */
beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), "gateway-files-"));
  secrets = join(top, "secrets");
  await mkdir(join(secrets, "..2026_01"), { recursive: true });
  await mkdir(join(secrets, "below"));
  await writeFile(join(secrets, "..2026_01", "shared"), "shared-sentinel\n");
  await writeFile(join(secrets, "..2026_01", "team"), "team-secret\n");
  await writeFile(join(top, "elsewhere"), "elsewhere-sentinel\n");
  await symlink("..2026_01", join(secrets, "..data"));
  for (const name of ["shared", "team"]) await symlink(`..data/${name}`, join(secrets, name));
  await symlink("shared", join(secrets, "alias"));
  await link(join(secrets, "..2026_01", "shared"), join(secrets, "hard"));
  await writeFile(join(secrets, "of-route"), "of-route-sentinel\n");
  await symlink("of-route", join(secrets, "of-route-alias"));
  await symlink("../elsewhere", join(secrets, "out"));
  await symlink("..", join(secrets, "up"));
  files = {
    reserved: [`file:${secrets}/shared`],
    ofRoutes: [`file:${secrets}/of-route`],
    inSettings: new Map([
      [`file:${secrets}/team`, ["team"]],
      [`file:${secrets}/out`, ["exact", "team"]],
    ]),
    owners: {
      team: { allowed_refs: [`file:${secrets}/*`] },
      exact: { allowed_refs: [`file:${secrets}/out`, `file:${secrets}/of-route`] },
    },
  };
});
afterAll(() => rm(top, { recursive: true, force: true }));

const read = async (name: string, owner: string | undefined): Promise<string> => {
  const ref = `file:${secrets}/${name}`;
  const found = await readSecrets({ refs: [ref], sealed: [], files }, { env: {} });
  return found.resolve(ref, owner);
};

test.each(["shared", "..data/shared", "..2026_01/shared", "alias", "hard", "below/../shared", "up/secrets/shared"])(
  "%s belongs to the main configuration, under any name",
  async (name) => {
    await expect(read(name, "team")).rejects.toThrow(/secret of the main configuration file itself/);
    await expect(read(name, "team")).rejects.not.toThrow(/sentinel/);
    expect(await read(name, HAND_WRITTEN_OWNER)).toBe("shared-sentinel");
  },
);

test("an owner may read a secret of the main configuration's routes only if its rights name it in full", async () => {
  for (const name of ["of-route", "of-route-alias"]) {
    await expect(read(name, "team")).rejects.toThrow(/secret of routes of the main configuration file/);
    await expect(read(name, "team")).rejects.not.toThrow(/sentinel/);
  }
  expect(await read("of-route", "exact")).toBe("of-route-sentinel");
  expect(await read("of-route", HAND_WRITTEN_OWNER)).toBe("of-route-sentinel");
});

test("in settings, only references that the main configuration file also has belong to it", async () => {
  expect(await read("shared", undefined)).toBe("shared-sentinel");
  await expect(read("alias", undefined)).rejects.toThrow(/main configuration file itself/);
});

test("a pattern permits files mounted in its directory, and nothing outside it", async () => {
  for (const name of ["team", "..data/team", "..2026_01/team"]) expect(await read(name, "team")).toBe("team-secret");
  for (const name of ["out", "up/elsewhere"])
    await expect(read(name, "team")).rejects.toThrow(/outside the directory that "allowed_refs" names/);
  // Named in full, so meant.
  expect(await read("out", "exact")).toBe("elsewhere-sentinel");
});

test("a pattern also limits references in its owner's settings", async () => {
  expect(await read("team", undefined)).toBe("team-secret");
  await expect(read("out", undefined)).rejects.toThrow(/outside the directory that "allowed_refs" names/);
});

test("the gateway's own token must be named in full, whatever link leads to it", async () => {
  const token = "/run/secrets/kubernetes.io/serviceaccount/..2026/token";
  const rules = {
    ...files,
    owners: { team: { allowed_refs: ["file:/*"] }, named: { allowed_refs: ["file:/my/token"] } },
  };
  const named = await findNamed(rules);
  const problemOf = (owner: string, real: string): string | undefined =>
    problemFor(owner, "file:/my/token", { identity: "1:1", real }, rules, named);
  expect(problemOf("team", token)).toMatch(/outside/);
  expect(problemOf("team", "/my/token")).toBeUndefined();
  expect(problemOf("named", token)).toBeUndefined();
});

test("an update of the mount while secrets are read hides no file", async () => {
  await mkdir(join(secrets, "..2026_02"));
  await writeFile(join(secrets, "..2026_02", "shared"), "shared-sentinel-2\n");
  const ref = `file:${secrets}/..data/shared`;
  const reading = readSecrets({ refs: [ref], sealed: [], files }, { env: {} });
  await symlink("..2026_02", join(secrets, "..next"));
  await rename(join(secrets, "..next"), join(secrets, "..data"));
  const found = await reading;
  expect(() => found.resolve(ref, "team")).toThrow(/main configuration file itself/);
});

test("owners with a reference in settings are known", () => {
  const own = { shared_secret_ref: "file:/s/shared", storage_url: "memory:", insecure_server: true };
  const owners = { team: { allowed_settings: ["*"], allowed_refs: ["file:/s/*"] } };
  const routes = [
    { from: "http://a.example", to: "https://up.example", policy: [], tls_custom_ca_ref: "file:/s/ca" },
    { from: "http://b.example", to: "https://up.example", policy: [], tls_custom_ca_ref: "env:CA" },
  ];
  const slice = {
    version: 1,
    owner: "team",
    settings: { idp_provider_url: "https://idp.example", idp_client_id: "x", idp_client_secret_ref: "file:/s/team" },
    routes: {},
  };
  const { config } = loadSlices([
    { file: "gateway.yaml", text: JSON.stringify({ ...own, owners, routes }), boot: true },
    { file: "published:team", text: JSON.stringify(slice), boot: false },
  ]);
  expect(config?.files).toEqual({
    reserved: ["file:/s/shared"],
    ofRoutes: ["file:/s/ca"],
    inSettings: new Map([["file:/s/team", ["team"]]]),
    owners,
  });
});
