/** How a company lets agents and pipelines in, and out, unattended: a line per step, then "N passed, N failed". */
import { setTimeout as pause } from "node:timers/promises";

import * as oauth from "openid-client";

import { examine } from "../../runtime/tools/doctor/doctor.ts";
import { type Answer, createBrowser, createSend, findForm } from "../../test/support/browser.ts";
import { runCommand } from "../../test/support/run-command.ts";
import { terraformMissing } from "../../test/support/terraform.ts";
import { visit } from "../demo/person.ts";
import { createSteps } from "../demo/steps.ts";
import { type Assistant, connectAssistant } from "./assistant.ts";
import type { Job } from "./ci-platform.ts";
import { publishBuild } from "./pipeline.ts";
import { startStage } from "./stage.ts";

const ALICE = { id: "u-alice", email: "alice@example.com" };
const BOB = { id: "u-bob", email: "bob@example.com" };
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const [FIRST, SECOND] = [0, 1];

const steps = createSteps();
const stage = await startStage();
const { origin, company, ci, builds, balancer } = stage;
const server = `${origin}/builds/mcp`;
const browser = createBrowser();
const tokens: string[] = [];
let assistant: Assistant | undefined;

/** A person signs in to the assistant, at the company. @returns the ID token that the assistant keeps */
async function signInToAssistant(user: { readonly email: string }, by = createBrowser()): Promise<string> {
  const { clientId, clientSecret, redirectUri } = company.assistant;
  const configuration = await oauth.discovery(new URL(company.issuer), clientId, clientSecret, undefined, {
    execute: [oauth.allowInsecureRequests],
  });
  const verifier = oauth.randomPKCECodeVerifier();
  const url = oauth.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: "openid email",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  const back = await visit(by, url.href, { user: user.email, stopAt: redirectUri });
  const given = await oauth.authorizationCodeGrant(configuration, new URL(back.url), { pkceCodeVerifier: verifier });
  return given.id_token ?? "";
}

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "nothing was refused",
    (error: unknown) => String(error),
  );

/** @returns undefined for what does not come about */
function inTime<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, 5000, undefined).unref());
  return Promise.race([work, late]);
}

/** A connection for each request, so that the balancer decides about each. */
const send = createSend();

/** The token endpoint, asked as a shell script would. */
async function exchange(form: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> {
  const answer = await send({
    method: "POST",
    url: `${origin}/.gateway/mcp/token`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ grant_type: JWT_BEARER, ...form }).toString(),
  });
  return answer.json();
}

function call(token: string, tool: string, input: object = {}): Promise<Answer> {
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

/** The pipeline's job publishes a page, which Alice reads at both replicas. */
async function publish(main: Job): Promise<void> {
  const publishing = { adminUrl: stage.adminOrigin, origin, build: "build 7" };
  const audience = `${origin}/publish`;
  await steps.step("a job of another branch gets no publish token", async () => {
    const jobToken = await ci.tokenFor({ ...main, ref: "refs/heads/feature" }, audience);
    const headers = { authorization: `Bearer ${jobToken}`, "content-type": "application/json" };
    const body = JSON.stringify({ owner: "builds" });
    const answer = await send({ method: "POST", url: `${stage.adminOrigin}/publish-tokens`, headers, body });
    steps.equal(answer.status, 401);
    return String(answer.status);
  });
  await steps.step(
    "the job of the main branch publishes by Terraform, with no secret but its platform's token",
    async () => {
      const jobToken = await ci.tokenFor(main, audience);
      const said = await publishBuild({ ...publishing, jobToken });
      steps.ok(!said.includes(jobToken.split(".").at(-1) ?? ""), "the token is in Terraform's output or state");
      return /^Apply complete.*$/m.exec(said)?.[0] ?? "";
    },
  );
  await steps.step("Alice reads what was published, at both replicas", async () => {
    for (const replica of [FIRST, SECOND]) {
      balancer.prefer(replica);
      const headers = { cookie: browser.cookieHeader("localhost"), accept: "text/plain" };
      let text = "";
      // The other replica hears of it from the database.
      for (const until = Date.now() + 5000; text !== "build 7" && Date.now() < until; await pause(20))
        ({ text } = await send({ method: "GET", url: `${origin}/latest`, headers }));
      steps.equal(text, "build 7");
    }
    return "build 7";
  });
}

try {
  await steps.step("two replicas share one database, and the metadata offers the company's way in", async () => {
    const report = await examine(server);
    steps.equal(report.clients.find(({ client }) => client === "enterprise")?.outcome, "works");
    return `${stage.storage}; gateway doctor: connects`;
  });
  const credentials = await steps.step("an administrator makes the assistant's client, once", async () => {
    const made = await runCommand(
      "client",
      "create",
      "--name",
      "Assistant",
      "--id-jag",
      "--issuer",
      origin,
      "--config",
      stage.configFile,
    );
    steps.equal(made.code, 0, made.err);
    return JSON.parse(made.out) as { readonly client_id: string; readonly client_secret: string };
  });
  const { client_id: clientId = "", client_secret: clientSecret = "" } = credentials ?? {};
  tokens.push(clientSecret);
  const connectFor = (idToken: string): Promise<Assistant> =>
    connectAssistant({
      server,
      expectedIssuer: origin,
      clientId,
      clientSecret,
      company: { issuer: company.issuer, ...company.assistant },
      idToken,
    });

  await steps.step("whom the company has not assigned does not connect: no page, no question", async () => {
    const refusal = await refusalOf(connectFor(await signInToAssistant(BOB)));
    steps.match(refusal, /access_denied|not assigned/);
    steps.equal(company.statements.length, 0);
    return refusal;
  });
  company.assign(ALICE.id, origin, clientId);
  let idToken = "";
  await steps.step("Alice signs in at the gateway's page and, with the same sign-in, to the assistant", async () => {
    steps.equal((await visit(browser, `${origin}/.gateway/`, { user: ALICE.email })).status, 200);
    idToken = await signInToAssistant(ALICE, browser);
    tokens.push(idToken);
  });
  await steps.step("the assistant connects by the company's word, without a consent page, and listens", async () => {
    balancer.prefer(FIRST);
    assistant = await connectFor(idToken);
    await assistant.listening;
    const { tools } = await assistant.client.listTools();
    tokens.push(assistant.token());
    return tools.map(({ name }) => name).join(", ");
  });
  await steps.step("the statement was good once: presented again, at the other replica, it is refused", async () => {
    balancer.prefer(SECOND);
    const answer = await exchange({
      assertion: company.statements.at(-1) ?? "",
      client_id: clientId,
      client_secret: clientSecret,
    });
    steps.equal(answer["error"], "invalid_grant");
    return String(answer["error_description"]);
  });
  await steps.step(
    "both replicas take its token, policy keeps tools from it, and records say who let it in",
    async () => {
      for (const replica of [FIRST, SECOND]) {
        balancer.prefer(replica);
        steps.equal((await call(assistant?.token() ?? "", "list_builds")).status, 200);
        for (const tool of ["report_build", "delete_build"]) {
          const { text } = await call(assistant?.token() ?? "", tool, { name: "build 0" });
          steps.ok(text.includes('"error"'), `it may call ${tool}`);
        }
        const record = (await stage.records(replica ?? 0)).findLast((each) => each["mcp-tool"] === "list_builds");
        steps.equal(record?.["user"], ALICE.id);
        steps.equal(record?.["issuer"], "company");
        steps.equal(record?.["auth-method"], "id-jag");
        steps.equal(record?.["client-id"], clientId);
      }
      return `user ${ALICE.id}, issuer company, auth-method id-jag`;
    },
  );

  const main = { repository: "acme/builds", ref: "refs/heads/main" };
  const missing = terraformMissing();
  if (missing === undefined) await publish(main);
  else console.log(`skipped: the pipeline publishes (${missing})`);
  await steps.step("a job of the pipeline reports a build with nothing but the token of its platform", async () => {
    balancer.prefer(undefined);
    const answer = await exchange({ assertion: await ci.tokenFor(main, origin), resource: server });
    const token = String(answer["access_token"]);
    tokens.push(token);
    steps.equal((await call(token, "report_build", { name: "build 7 passed" })).status, 200, JSON.stringify(answer));
    steps.equal(builds.builds.join(), "build 7 passed");
    return "workload:ci/repo:acme/builds:ref:refs/heads/main";
  });
  await steps.step("a job of another branch or repository gets no token", async () => {
    for (const job of [
      { ...main, ref: "refs/heads/feature" },
      { ...main, repository: "mallory/builds" },
    ]) {
      const answer = await exchange({ assertion: await ci.tokenFor(job, origin), resource: server });
      steps.equal(answer["error"], "invalid_grant");
    }
    return "invalid_grant";
  });
  await steps.step("the assistant heard of it on its stream", async () => {
    const heard = await inTime(assistant?.heard);
    steps.equal(heard, "build 7 passed");
    return String(heard);
  });

  await steps.step(
    "Alice leaves: the company signs her out and tells one replica; the stream at the other ends",
    async () => {
      steps.ok(assistant?.hasEnded() === false, "its stream has ended before");
      balancer.prefer(SECOND);
      company.disable(ALICE.id);
      const page = await browser.open(`${company.issuer}/session/end`);
      const form = findForm(page, "/session/end/confirm");
      if (!form) throw new Error(page.text);
      await browser.submit(page, form, { logout: "yes" });
      // By now the provider has the answer of the one that it told.
      const begun = Date.now();
      const took = Number(await inTime(assistant?.cutOff)) - begun;
      steps.ok(took < 2000, `it took ${took} ms`);
      return "within 2 s";
    },
  );
  await steps.step(
    "her token is worth nothing at either, nor is her browser's session, and there is no new statement",
    async () => {
      const made = company.statements.length;
      for (const replica of [FIRST, SECOND]) {
        balancer.prefer(replica);
        steps.equal((await call(assistant?.token() ?? "", "list_builds")).status, 401);
        const headers = { cookie: browser.cookieHeader("localhost"), accept: "application/json" };
        steps.equal((await send({ method: "GET", url: `${origin}/.gateway/user`, headers })).status, 401);
      }
      steps.match(await refusalOf(connectFor(idToken)), /access_denied/);
      steps.equal(company.statements.length, made);
      return "401, and access_denied at the company";
    },
  );

  await steps.step("no secret, statement or token is in any log or record", async () => {
    const records = JSON.stringify([await stage.records(0), await stage.records(1)]);
    const secrets = [...tokens, ...company.statements, ...ci.issued].filter((text) => text !== "");
    for (const secret of secrets) {
      const part = secret.split(".").at(-1) ?? "";
      steps.ok(!stage.log().includes(part) && !records.includes(part), "a secret is in a log");
    }
    return `${secrets.length} looked for`;
  });
} finally {
  await assistant?.close();
  await stage.close();
  process.exitCode = steps.end();
}
