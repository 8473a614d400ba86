/**
 * Writes test/store/fixtures/records-v<N>.json: records as this version of the program keeps them, with the credentials
 * that belong to them, so that later versions prove that they still open. Run once for each schema that is released:
 *
 *     node test/store/make-records-fixture.ts 1
 *
 * Secrets in the file are those of tests and good for nothing else.
 */
import { writeFile } from "node:fs/promises";

import { createClient } from "../../runtime/oauth/server/clients/pre-registered.ts";
import { EVERY_SERVER } from "../../runtime/identity/external-token.ts";
import { createServiceAccount, mintServiceAccountToken } from "../../runtime/identity/tokens/service-accounts.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { StoredRecord } from "../../runtime/store/store.ts";
import { createTestClock } from "../support/clock.ts";
import { ORIGIN, startIssuer } from "../support/issuer.ts";
import { clientProof, createPkce, REDIRECT_URI } from "../support/oauth-client.ts";
import { APP, startSessionBench } from "../support/session-bench.ts";
import { remembering } from "./remembering.ts";

export interface RecordsFixture {
  readonly nowMs: number;
  readonly records: readonly StoredRecord[];
  readonly credentials: {
    /** Of alice, on app.example.com. */
    readonly cookie: string;
    readonly client: { readonly client_id: string; readonly client_secret: string };
    readonly accessToken: string;
    readonly refreshToken: string;
    /** Rotated a moment ago, of a public client. */
    readonly rotated: { readonly client_id: string; readonly refreshToken: string; readonly answer: string };
    readonly code: Readonly<Record<string, string>>;
    readonly machine: { readonly client_id: string; readonly client_secret: string };
    readonly serviceAccountToken: string;
  };
}

async function makeFixture(): Promise<RecordsFixture> {
  const clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  const kept = remembering(createMemoryStore({ clock }));
  const bench = await startSessionBench({ store: kept.store });
  const issuer = await startIssuer({ clock, store: kept.store });
  try {
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    const cookie = browser.jar.get("app.example.com", "__Host-gateway_session");

    const client = await issuer.signIn({ metadata: { token_endpoint_auth_method: "client_secret_basic" } });
    const open = await issuer.signIn();
    const before = open.tokens.refresh_token ?? "";
    const rotation = { grant_type: "refresh_token", refresh_token: before, ...clientProof(open.registration) };
    const answer = (await issuer.oauth().sendToken(rotation)).text;

    const { verifier, challenge } = createPkce();
    const outcome = await issuer
      .oauth()
      .authorize({ clientId: open.registration.client_id, redirectUri: REDIRECT_URI, challenge });
    const machine = await createClient(issuer, { name: "nightly", issuer: ORIGIN, machine: { email: "", groups: [] } });
    const account = await createServiceAccount(issuer, {
      name: "ci",
      email: "ci@example.com",
      groups: ["robots"],
      audience: EVERY_SERVER,
    });
    if (!cookie || !machine.ok || !account.ok || outcome.at !== "client") throw new Error("Cannot make the fixture");
    return {
      nowMs: clock.now(),
      records: await kept.dump(),
      credentials: {
        cookie: `${cookie.name}=${cookie.value}`,
        client: { client_id: client.registration.client_id, client_secret: client.registration.client_secret ?? "" },
        accessToken: client.tokens.access_token,
        refreshToken: client.tokens.refresh_token ?? "",
        rotated: { client_id: open.registration.client_id, refreshToken: before, answer },
        code: {
          grant_type: "authorization_code",
          code: outcome.parameters["code"] ?? "",
          redirect_uri: REDIRECT_URI,
          code_verifier: verifier,
          ...clientProof(open.registration),
        },
        machine: { client_id: machine.clientId, client_secret: machine.secret ?? "" },
        serviceAccountToken: mintServiceAccountToken(
          issuer.externalTokens,
          account,
          EVERY_SERVER,
          Math.floor(clock.now() / 1000) + 3600,
        ),
      },
    };
  } finally {
    await issuer.close();
    await bench.close();
  }
}

if (import.meta.main) {
  const file = new URL(`fixtures/records-v${process.argv[2]}.json`, import.meta.url);
  // Never over an older one: it is what was released.
  await writeFile(file, `${JSON.stringify(await makeFixture(), null, 2)}\n`, { flag: "wx" });
}
