/** Every kind of stored objects is on all surfaces: console, commands, admin API and its document. One that lags fails here. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { KINDS } from "../../../runtime/administration/kinds.ts";
import { runCli } from "../../../runtime/cli.ts";
import { objectScreens } from "../../../runtime/console/objects/object-screen.ts";
import { clientsScreen } from "../../../runtime/console/clients/clients.ts";
import { peopleScreen } from "../../../runtime/console/people/people.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { openRecords } from "../../../runtime/record-kinds.ts";
import { openAdminApi, type AdminApi } from "../../support/admin-api.ts";
import { openConsoleWorld, type ConsoleWorld } from "../../support/console-world.ts";

let api: AdminApi;
let world: ConsoleWorld;
let directory = "";
beforeAll(async () => {
  [api, world] = await Promise.all([openAdminApi(), openConsoleWorld("routes: []")]);
  directory = await mkdtemp(join(tmpdir(), "gateway-kinds-"));
  const storage = `sqlite:${join(directory, "gateway.db")}`;
  const secret = Buffer.alloc(32, 1).toString("base64");
  await writeFile(join(directory, "gateway.yaml"), `storage_url: ${storage}\nshared_secret: ${secret}\nroutes: []\n`);
  await (await openRecords(storage, { clock: systemClock, log: silentLog() })).close();
});
afterAll(async () => {
  await api?.close();
  await world?.close();
  await rm(directory, { recursive: true, force: true });
});

/** What a command prints, and its exit code. */
async function printed(...args: readonly string[]) {
  const texts: string[] = [];
  const spies = [
    vi.spyOn(console, "log").mockImplementation((text: unknown) => void texts.push(String(text))),
    vi.spyOn(console, "error").mockImplementation((text: unknown) => void texts.push(String(text))),
  ];
  try {
    const code = await runCli([...args, "--config", join(directory, "gateway.yaml")]);
    return { code, text: texts.join("\n") };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties: object }>> };
}

describe.each(KINDS.map((kind) => [kind.name, kind] as const))("%s", (_, kind) => {
  const { name, plural, fields, filters, actions, creation } = kind;
  const changes = [...actions, ...(creation ? [creation] : [])];

  test("is described whole", () => {
    expect(fields.length).toBeGreaterThan(1);
    expect(new Set(fields.map((field) => field.name)).size).toBe(fields.length);
    for (const text of [kind.doc, ...fields.map(({ doc }) => doc)]) expect(text).toMatch(/^[A-Z].*[^.]$/);
    for (const { effect, path } of changes)
      expect([effect, path]).toEqual([expect.stringMatching(/\.$/), expect.stringMatching(/^[a-z-]+$/)]);
    expect(filters.filter((filter) => !fields.some((field) => field.name === filter))).toEqual([]);
  });

  test("is in the console, with all that can be done", () => {
    const screens = [...objectScreens(world.people), peopleScreen(world.people), clientsScreen(world.clients)];
    const known = screens.flatMap((screen) => Object.entries(screen.actions ?? {}));
    for (const { name: action, role, isSensitive } of changes)
      expect(known.find(([each]) => each === action)?.[1], action).toMatchObject({ role, isSensitive });
    if (kind.screen) expect(screens.map(({ path }) => path)).toContain(plural);
  });

  test("has its commands", async () => {
    const list = kind.command.split(" ");
    expect(await printed(...list)).toEqual({ code: 0, text: kind.none });
    expect(await printed(...list, "--json")).toEqual({ code: 0, text: "[]" });
    const shown = await printed(list[0] ?? "", "show", "unknown", "--json");
    expect(shown).toEqual({ code: 1, text: `There is no ${name.replaceAll("-", " ")} "unknown"` });
  });

  test("is in the API and its document", async () => {
    expect((await api.ask(`/${plural}`)).json()).toEqual({ items: [] });
    expect((await api.ask(`/${plural}/unknown`)).status).toBe(404);
    const { openapi, paths, components } = JSON.parse((await api.ask("/openapi.json")).text) as Document;
    expect(openapi).toMatch(/^3\.1\./);
    const has = (path: string): readonly string[] =>
      Object.keys(paths[path] ?? {}).filter((each) => each !== "parameters");
    expect(has(`/${plural}`)).toEqual(creation ? ["get", "post"] : ["get"]);
    expect(has(`/${plural}/{id}`)).toEqual(["get"]);
    const open = actions.filter(({ role }) => role === "operator").map(({ path }) => `/${plural}/{id}/${path}`);
    for (const path of open) {
      expect(has(path)).toEqual(["post"]);
      expect((await api.ask(path.replace("{id}", "unknown"), { body: { reason: "r" } })).json().error).toBe("absent");
    }
    expect(Object.keys(components.schemas[name]?.properties ?? {})).toEqual([
      "id",
      ...fields.map((field) => field.name).filter((field) => field !== "id"),
    ]);
  });
});
