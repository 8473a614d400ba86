/**
 * Signing out at one of two gateways that share a PostgreSQL server: after the confirmation, the cookie gives no access at
 * the other one, even if the server was unavailable in between.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { within2s } from "../support/promised.ts";
import { type Answer, type Browser, createBrowser, createSend, findLink, type Page } from "../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const found = findPostgres();
const ROUTES = `routes:
  - { name: app, from: "{origin}", prefix: /app, to: "{upstream}", policy: { allow: { and: [authenticated_user: true] } } }
`;

describe.skipIf("missing" in found)("sign-out at one of two gateways on PostgreSQL", () => {
  let postgres: Postgres;
  let upstream: EchoUpstream;
  let world: SignInGateway;
  /** Where people are signed in and out, and its replica. */
  let here: TestGateway;
  let there: TestGateway;
  let browser: Browser;
  /** Sent again and again, as a thief of it would. */
  let cookie: string;

  beforeAll(async () => {
    if ("missing" in found) return;
    postgres = await startPostgres(found.bin);
    upstream = await startEchoUpstream();
    const boot = { storage_url: postgres.url };
    const yaml = ROUTES.replace("{upstream}", upstream.origin);
    world = await startSignInGateway({ boot, yaml });
    here = world.gateway;
    const provider = `idp_provider_url: ${world.identityProvider.issuer}\nidp_client_id: gateway\nidp_client_secret: secret\n`;
    there = await startGateway({ boot, yaml: provider + yaml.replace("{origin}", here.origin) });
  });
  afterAll(async () => {
    await there?.close();
    await world?.close();
    await upstream?.close();
    await postgres?.close();
  });
  beforeEach(async () => {
    browser = createBrowser();
    const choice = await browser.open(`${here.origin}/app/`);
    expect((await browser.open(findLink(choice, "alice@example.com") ?? "")).status).toBe(200);
    cookie = browser.cookieHeader("localhost");
    expect((await ask(there)).status).toBe(200);
  });

  const ask = (gateway: TestGateway): Promise<Answer> =>
    createSend({ via: gateway.port })({
      method: "GET",
      url: `${here.origin}/app/`,
      headers: { accept: "application/json", cookie },
    });
  const openForm = (): Promise<Page> => browser.open(`${here.origin}/.gateway/sign_out`);
  const submit = (page: Page): Promise<Page> => {
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    const form = { action: "/.gateway/sign_out", method: "POST", fields: { csrf } };
    return browser.submit(page, form, {}, world.identityProvider.issuer);
  };

  /** It is done here, and continues at the provider unless the session had already ended. */
  const isDone = ({ left, status, text }: Page): boolean => left || (status === 200 && text.includes("Signed out"));

  test("is effective at the other one within two seconds", async () => {
    expect(isDone(await submit(await openForm()))).toBe(true);
    expect((await ask(here)).status).toBe(401);
    await expect.poll(within2s(async () => (await ask(there)).status)).toBe(401);
  });

  test("requested while the server is unavailable fails, and repeated afterwards is effective at the other one", async () => {
    const form = await openForm();
    await postgres.stop();
    try {
      expect((await submit(form)).status).toBe(503);
      expect(browser.cookieHeader("localhost")).toBe(cookie);
    } finally {
      await postgres.start();
    }
    await expect.poll(async () => isDone(await submit(form))).toBe(true);
    await expect.poll(async () => (await ask(there)).status).toBe(401);
  });

  test("that failed and was not repeated takes effect anyway", async () => {
    const form = await openForm();
    await postgres.stop();
    try {
      expect((await submit(form)).status).toBe(503);
    } finally {
      await postgres.start();
    }
    await expect.poll(async () => (await ask(there)).status).toBe(401);
  });
});
