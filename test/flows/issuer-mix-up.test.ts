/** Two issuers, two clients, two users: nothing of one is worth anything with the other (RFC 9700 §4.4, §4.5, §4.7). */
import { describe, expect, test } from "vitest";

import { findForm } from "../support/browser.ts";
import {
  clientProof,
  createPkce,
  REDIRECT_URI,
  type OAuthClient,
  type Pkce,
  type Registration,
} from "../support/oauth-client.ts";
import { useIssuers } from "../support/issuer.ts";

const start = useIssuers();

const ONE = "https://one.example.com";
const TWO = "https://two.example.com";
const yaml = `
runtime_flags: { mcp: true }
routes:
  - { name: one, from: "${ONE}", to: "http://127.0.0.1:9", mcp: { server: {} }, policy: { allow: { and: [authenticated_user: true] } } }
  - { name: two, from: "${TWO}", to: "http://127.0.0.1:9", mcp: { server: {} }, policy: { allow: { and: [authenticated_user: true] } } }
`;

interface Approved {
  readonly pkce: Pkce;
  readonly parameters: Readonly<Record<string, string>>;
}

async function approve(oauth: OAuthClient, registration: Registration): Promise<Approved> {
  const pkce = createPkce();
  const outcome = await oauth.authorize({
    clientId: registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: pkce.challenge,
  });
  if (outcome.at !== "client") throw new Error(outcome.page.text);
  return { pkce, parameters: outcome.parameters };
}

const codeForm = ({ pkce, parameters }: Approved, registration: Registration): Record<string, string> => ({
  grant_type: "authorization_code",
  code: parameters["code"] ?? "",
  redirect_uri: REDIRECT_URI,
  code_verifier: pkce.verifier,
  ...clientProof(registration),
});

describe("two issuers of one gateway", () => {
  test("send iss in every response, success or error, so that a client can distinguish them (RFC 9207)", async () => {
    const gateway = await start({ yaml });
    for (const resource of [ONE, TWO]) {
      const oauth = gateway.oauth({ resource });
      const registration = await oauth.register();
      expect((await approve(oauth, registration)).parameters["iss"]).toBe(resource);
      for (const [parameters, decision] of [
        [{ response_type: "token" }, "approve"],
        [{ prompt: "consent" }, "deny"],
      ] as const) {
        const refused = await oauth.authorize({
          clientId: registration.client_id,
          redirectUri: REDIRECT_URI,
          challenge: createPkce().challenge,
          parameters,
          decision,
        });
        expect(refused.at === "client" && refused.parameters["iss"]).toBe(resource);
      }
    }
  });

  test("take neither each other's clients nor codes nor tokens, and a code tried at the wrong one stays good", async () => {
    const gateway = await start({ yaml });
    const one = gateway.oauth({ resource: ONE });
    const two = gateway.oauth({ resource: TWO });
    const [atOne, atTwo] = await Promise.all([one.register(), two.register()]);
    const approved = await approve(one, atOne);

    const asOneAtTwo = await two.sendToken(codeForm(approved, atOne));
    expect([asOneAtTwo.status, asOneAtTwo.json()["error"]]).toEqual([401, "invalid_client"]);
    const asTwoAtTwo = await two.sendToken(codeForm(approved, atTwo));
    expect([asTwoAtTwo.status, asTwoAtTwo.json()["error"]]).toEqual([400, "invalid_grant"]);
    const answer = await one.sendToken(codeForm(approved, atOne));
    expect(answer.status).toBe(200);

    const refresh_token = String(answer.json()["refresh_token"]);
    const refreshed = await two.sendToken({ grant_type: "refresh_token", refresh_token, ...clientProof(atTwo) });
    expect(refreshed.json()["error"]).toBe("invalid_grant");
    expect((await two.sendRevocation({ token: refresh_token, ...clientProof(atTwo) })).status).toBe(200);
    const still = await one.sendToken({ grant_type: "refresh_token", refresh_token, ...clientProof(atOne) });
    expect(still.status).toBe(200);

    const unknown = await two.authorize({
      clientId: atOne.client_id,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
    });
    expect(unknown).toMatchObject({ at: "page", page: { status: 400 } });
  });

  test("refuse each other's resource", async () => {
    const gateway = await start({ yaml });
    const one = gateway.oauth({ resource: ONE });
    const registration = await one.register();
    const form = { ...codeForm(await approve(one, registration), registration), resource: TWO };
    expect((await one.sendToken(form)).json()["error"]).toBe("invalid_target");
  });

  test("do not show each other's waiting requests", async () => {
    const gateway = await start({ yaml });
    const one = gateway.oauth({ resource: ONE });
    const registration = await one.register();
    const asked = await one.authorize({
      clientId: registration.client_id,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      decision: "look",
    });
    if (asked.at !== "page") throw new Error(asked.url);
    const moved = await one.browser.open(asked.page.url.replace(ONE, TWO));
    expect(moved.status).toBe(400);
    expect(moved.text).not.toContain("Test client");
  });
});

describe("two users of one client", () => {
  test("a code injected into another user's flow fails at the verifier, and revokes nothing of the victim", async () => {
    const gateway = await start({ yaml });
    const registration = await gateway.oauth({ resource: ONE }).register();
    const alice = gateway.oauth({ resource: ONE, userId: "alice" });
    const mallory = gateway.oauth({ resource: ONE, userId: "bob" });
    const [hers, his] = [await approve(alice, registration), await approve(mallory, registration)];
    // Alice's client, which holds her verifier, is handed Mallory's code; and the other way about.
    for (const [code, verifier] of [
      [his, hers],
      [hers, his],
    ] as const) {
      const injected = { ...codeForm(code, registration), code_verifier: verifier.pkce.verifier };
      expect((await alice.sendToken(injected)).json()["error"]).toBe("invalid_grant");
    }
    expect((await alice.sendToken(codeForm(hers, registration))).status).toBe(200);
  });

  test("a form made for one user's session is refused in another's", async () => {
    const gateway = await start({ yaml });
    const registration = await gateway.oauth({ resource: ONE }).register();
    const request = {
      clientId: registration.client_id,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      decision: "look",
    } as const;
    const alice = gateway.oauth({ resource: ONE, userId: "alice" });
    const bob = gateway.oauth({ resource: ONE, userId: "bob" });
    const page = await alice.authorize(request);
    const form = page.at === "page" ? findForm(page.page, "/.gateway/mcp/consent") : undefined;
    if (page.at !== "page" || !form) throw new Error("no consent page");
    const stolen = await bob.browser.submit(page.page, form, { decision: "approve" }, REDIRECT_URI);
    expect(stolen.status).toBe(403);
    // Nothing was used up: Alice can still decide.
    expect((await alice.browser.submit(page.page, form, { decision: "approve" }, REDIRECT_URI)).left).toBe(true);
  });

  test("a pending request belongs to the consenting user, who gets the tokens", async () => {
    const gateway = await start({ yaml });
    const registration = await gateway.oauth({ resource: ONE }).register();
    const mallory = gateway.oauth({ resource: ONE, userId: "bob" });
    const pkce = createPkce();
    const waiting = await mallory.authorize({
      clientId: registration.client_id,
      redirectUri: REDIRECT_URI,
      challenge: pkce.challenge,
      decision: "look",
    });
    if (waiting.at !== "page") throw new Error(waiting.url);
    // Sent to Alice as a link: she is asked as herself, and sees who gets access.
    const alice = gateway.browser("alice");
    const shown = await alice.open(waiting.page.url);
    expect(shown.text).toContain("alice@example.com");
    expect(shown.text).not.toContain("bob@example.com");
    expect(shown.text).toContain("127.0.0.1");
  });
});
