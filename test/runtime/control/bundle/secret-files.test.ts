/** A reference is a name: what it leads to decides who may read it. */
import { link, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { HAND_WRITTEN_OWNER } from "../../../../runtime/features/process/owners.ts";
import { readSecrets } from "../../../../runtime/control/bundle/secrets.ts";

let top = "";
let secrets = "";
let files: {
  readonly reserved: readonly string[];
  readonly owners: Record<string, { readonly allowed_refs: string[] }>;
};

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
  await symlink("../elsewhere", join(secrets, "out"));
  await symlink("..", join(secrets, "up"));
  files = {
    reserved: [`file:${secrets}/shared`],
    owners: { team: { allowed_refs: [`file:${secrets}/*`] }, exact: { allowed_refs: [`file:${secrets}/out`] } },
  };
});
afterAll(() => rm(top, { recursive: true, force: true }));

const read = async (name: string, owner: string | undefined): Promise<string> => {
  const ref = `file:${secrets}/${name}`;
  const found = await readSecrets({ refs: [ref], sealed: [], files }, { env: {} });
  return found.resolve(ref, owner);
};

test.each(["shared", "..data/shared", "..2026_01/shared", "alias", "hard", "below/../shared", "up/secrets/shared"])(
  "%s is the main configuration's own, under whatever name",
  async (name) => {
    await expect(read(name, "team")).rejects.toThrow(/secret of the main configuration file itself/);
    await expect(read(name, "team")).rejects.not.toThrow(/sentinel/);
    expect(await read(name, HAND_WRITTEN_OWNER)).toBe("shared-sentinel");
  },
);

test("of settings only the reference that the main configuration file has is its own", async () => {
  expect(await read("shared", undefined)).toBe("shared-sentinel");
  await expect(read("alias", undefined)).rejects.toThrow(/main configuration file itself/);
});

test("a pattern gives what is mounted in its directory, and nothing outside it", async () => {
  for (const name of ["team", "..data/team", "..2026_01/team"]) expect(await read(name, "team")).toBe("team-secret");
  for (const name of ["out", "up/elsewhere"])
    await expect(read(name, "team")).rejects.toThrow(/outside the directory that "allowed_refs" names/);
  // Named in full, so meant.
  expect(await read("out", "exact")).toBe("elsewhere-sentinel");
});

test("an update of the mount while secrets are read hides nothing", async () => {
  await mkdir(join(secrets, "..2026_02"));
  await writeFile(join(secrets, "..2026_02", "shared"), "shared-sentinel-2\n");
  const ref = `file:${secrets}/..data/shared`;
  const reading = readSecrets({ refs: [ref], sealed: [], files }, { env: {} });
  await symlink("..2026_02", join(secrets, "..next"));
  await rename(join(secrets, "..next"), join(secrets, "..data"));
  const found = await reading;
  expect(() => found.resolve(ref, "team")).toThrow(/main configuration file itself/);
});
