/** Who and what the acts of the story have in common. */

import * as oauth from "openid-client";

import { POLL_MS } from "../../test/support/limits.ts";
import { type Answer, type Browser, createBrowser, createSend, type Page } from "../../test/support/browser.ts";
import type { DemoUser } from "../demo/identity-provider.ts";
import { visit } from "../demo/person.ts";
import type { Steps } from "../demo/steps.ts";
import { type Assistant, connectAssistant } from "./assistant.ts";
import type { Credentials } from "./code-host.ts";
import { type Replica, REPLICAS, type Stage } from "./stage.ts";

export interface Scene {
  readonly steps: Steps;
  readonly stage: Stage;
  readonly alice: Person;
  readonly carol: Person;
  /** Of the assistant at the gateway: an administrator makes it in the first act. */
  client: Credentials;
  /** Of everybody: what must stand in no log. */
  readonly tokens: string[];
}

export interface Person {
  readonly user: DemoUser;
  readonly browser: Browser;
  /** What the assistant keeps of the person's sign-in. */
  idToken: string;
  /** Connected to the builds server, listening. */
  assistant?: Assistant | undefined;
}

export const createPerson = (user: DemoUser, browser = createBrowser()): Person => ({ user, browser, idToken: "" });

export const COMPANY = "Example Corp";
/** Long before whatever ends by itself. */

export const mcpServer = ({ stage }: Pick<Scene, "stage">, name: "builds" | "code"): string =>
  `${stage.origin}/${name}/mcp`;

/** A person opens a page of the gateway's, and signs in where that is asked for. */
export function open({ stage }: Scene, { browser, user }: Person, path: string, provider = COMPANY): Promise<Page> {
  return visit(browser, stage.origin + path, { user: user.email, provider });
}

/** A person signs in to the assistant, at the company. */
export async function signInToAssistant({ stage, tokens }: Scene, person: Person): Promise<void> {
  const { issuer, assistant } = stage.company;
  const { clientId, clientSecret, redirectUri } = assistant;
  const configuration = await oauth.discovery(new URL(issuer), clientId, clientSecret, undefined, {
    execute: [oauth.allowInsecureRequests],
  });
  const verifier = oauth.randomPKCECodeVerifier();
  const url = oauth.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: "openid email",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  const back = await visit(person.browser, url.href, { user: person.user.email, stopAt: redirectUri });
  const given = await oauth.authorizationCodeGrant(configuration, new URL(back.url), { pkceCodeVerifier: verifier });
  person.idToken = given.id_token ?? "";
  tokens.push(person.idToken);
}

/** Lets the assistant reach a server for a person. @throws what the SDK throws */
export async function connect(scene: Scene, person: Person, name: "builds" | "code"): Promise<Assistant> {
  const { stage, client } = scene;
  const assistant = await connectAssistant({
    server: mcpServer(scene, name),
    expectedIssuer: stage.origin,
    clientId: client.id,
    clientSecret: client.secret,
    ...speaker(scene, person),
  });
  scene.tokens.push(assistant.token());
  return assistant;
}

/** What the company's provider makes statements from. */
export const speaker = ({ stage: { company } }: Scene, { idToken }: Person) => ({
  company: { issuer: company.issuer, ...company.assistant },
  idToken,
});

/** A connection for each request, so that the balancer decides about each. */
export const send = createSend();

/** The token endpoint, asked as a shell script would. */
export async function exchange(
  { stage }: Scene,
  form: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await send({
    method: "POST",
    url: `${stage.origin}/.gateway/mcp/token`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", ...form }).toString(),
  });
  return answer.json();
}

/** A statement is shown by the assistant. */
export const present = (scene: Scene, assertion: string): Promise<Readonly<Record<string, unknown>>> =>
  exchange(scene, { assertion, client_id: scene.client.id, client_secret: scene.client.secret });

/** @param server its address */
export function call(token: string, server: string, tool: string, input: object = {}): Promise<Answer> {
  return send({
    method: "POST",
    url: server,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: input } }),
  });
}

/** What the gateway says of whoever is signed in to it in this browser. */
export function session({ stage }: Scene, { browser }: Person): Promise<Answer> {
  const headers = { cookie: browser.cookieHeader("localhost"), accept: "application/json" };
  return send({ method: "GET", url: `${stage.origin}/.gateway/user`, headers });
}

/** The same at one replica and at the other. */
export async function atEach({ stage }: Scene, run: (replica: Replica) => Promise<unknown>): Promise<void> {
  for (const replica of REPLICAS) {
    stage.balancer.prefer(replica);
    await run(replica);
  }
}

export const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "nothing was refused",
    (error: unknown) => String(error),
  );

/** @returns undefined for what does not come about */
export function inTime<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, POLL_MS, undefined).unref());
  return Promise.race([work, late]);
}
