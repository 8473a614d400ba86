/** The guide's program in each language, which verifies the identity header from a real gateway. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { badAssertions } from "../../support/bad-assertions.ts";
import { createBrowser, findLink } from "../../support/browser.ts";
import { type SignInGateway, startSignInGateway } from "../../support/sign-in-gateway.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import type { Command } from "./client.ts";

/** @param build makes the program from the text of the page, if it has to be */
export function describeAssertion(build: () => Promise<Command>): void {
  let world: SignInGateway;
  let program: RealProcess;
  let origin: string;

  beforeAll(async () => {
    const { command, args } = await build();
    world = await startSignInGateway({ yaml: "routes: []" });
    const env = { ROUTE_URL: world.gateway.origin, PORT: "0" };
    program = await startProcess(command, args, /^listening on (\d+)$/m, { env });
    origin = `http://127.0.0.1:${program.ready[1]}`;
    await world.reconfigure(
      `routes: [{ name: app, from: "{origin}", to: "${origin}", allow_any_authenticated_user: true }]`,
    );
  });
  afterAll(async () => {
    await program?.close();
    await world?.close();
  });

  test("the guide's program greets a user that the gateway verifies", async () => {
    const browser = createBrowser();
    let page = await browser.open(`${world.gateway.origin}/`);
    const choice = findLink(page, "alice@example.com");
    if (choice !== undefined) page = await browser.open(choice);
    expect([page.status, page.text]).toEqual([200, expect.stringMatching(/^Hello alice@example\.com of \S/)]);
  });

  test("the guide's program rejects all other requests", async () => {
    for (const assertion of await badAssertions(world.gateway.origin)) {
      const headers = assertion === undefined ? {} : { "x-gateway-assertion": assertion };
      expect((await fetch(origin, { headers })).status).toBe(401);
    }
  });
}
