/** The programs that the guide prints for upstreams, as processes behind a real gateway: whom they believe and whom not. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { badAssertions } from "../support/bad-assertions.ts";
import { createBrowser, findLink, type Browser } from "../support/browser.ts";
import { blockWith, readPage } from "../support/page-blocks.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

const guide = readPage("runtime/guide/identity-header.md");
const VERIFY = new URL("../../runtime/verify.ts", import.meta.url).href;

/** A Python that has what the page says it needs; /usr/bin has Debian's packages whatever is first on the path. */
function findPython(): string | undefined {
  const found = ["python3", "/usr/bin/python3"].find((python) => {
    try {
      execFileSync(python, ["-c", "import jwt, cryptography"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined && process.env["GATEWAY_REQUIRE_ALL"] === "1")
    throw new Error("no Python with PyJWT and cryptography, and GATEWAY_REQUIRE_ALL is set");
  return found;
}

interface Program {
  readonly process: ChildProcess;
  readonly origin: string;
}

/** Starts a program of the guide and reads on which port it listens. @throws Error when it ends before */
async function start(command: string, args: readonly string[], routeUrl: string): Promise<Program> {
  const env = { ...process.env, ROUTE_URL: routeUrl, PORT: "0" };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString("utf8")));
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /^listening on (\d+)$/.exec(line)?.[1];
    if (port !== undefined) return { process: child, origin: `http://127.0.0.1:${port}` };
  }
  throw new Error(`The program ended:\n${errors}`);
}

const directory = mkdtempSync(join(tmpdir(), "gateform-guide-"));
const python = findPython();
let world: SignInGateway;
const programs = new Map<string, Program>();
let browser: Browser;

beforeAll(async () => {
  world = await startSignInGateway({ yaml: "routes: []" });
  const { origin } = world.gateway;
  const javascript = blockWith(guide, "js", "verifyAssertion").replace('"gateform/verify"', JSON.stringify(VERIFY));
  writeFileSync(join(directory, "app.mjs"), javascript);
  programs.set("node", await start(process.execPath, [join(directory, "app.mjs")], origin));
  if (python !== undefined) {
    writeFileSync(join(directory, "app.py"), blockWith(guide, "python", "jwt.decode"));
    programs.set("python", await start(python, [join(directory, "app.py")], origin));
  }
  const routes = [...programs].map(
    ([name, program]) =>
      `  - { name: ${name}, from: "${origin}", prefix: /${name}, to: "${program.origin}", allow_any_authenticated_user: true }`,
  );
  await world.reconfigure(`routes:\n${routes.join("\n")}`);
  browser = createBrowser();
});

afterAll(async () => {
  for (const { process: child } of programs.values()) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  await world?.close();
  rmSync(directory, { recursive: true, force: true });
});

describe.each(["node", "python"])("the guide's program for %s", (name) => {
  test("greets whom the gateway vouches for", async (context) => {
    if (!programs.has(name)) context.skip("no Python with PyJWT and cryptography");
    const url = `${world.gateway.origin}/${name}`;
    let page = await browser.open(url);
    // The second program is visited with the session of the first.
    const choice = findLink(page, "alice@example.com");
    if (choice !== undefined) page = await browser.open(choice);
    expect([page.status, page.text]).toEqual([200, expect.stringMatching(/^Hello alice@example\.com of \S/)]);
  });

  test("refuses whoever comes past the gateway: without an assertion, with a broken one, with one signed by others", async (context) => {
    const program = programs.get(name) ?? context.skip("no Python with PyJWT and cryptography");
    for (const assertion of await badAssertions(world.gateway.origin)) {
      const headers = assertion === undefined ? {} : { "x-gateway-assertion": assertion };
      expect((await fetch(program.origin, { headers })).status).toBe(401);
    }
  });
});
