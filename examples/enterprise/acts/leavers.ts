/** Two people leave: one is signed out by the company's provider, the other is deactivated in its directory. */
import { findForm } from "../../../test/support/browser.ts";
import { until } from "../../demo/until.ts";
import { requestStatement } from "../assistant.ts";
import {
  atEach,
  call,
  connect,
  createPerson,
  inTime,
  mcpServer,
  open,
  type Person,
  present,
  refusalOf,
  type Scene,
  session,
  speaker,
} from "../scene.ts";

export async function leave(scene: Scene): Promise<void> {
  await signOut(scene);
  await deactivate(scene);
}

async function signOut(scene: Scene): Promise<void> {
  const { steps, stage, alice } = scene;
  const { company, balancer } = stage;
  const token = alice.assistant?.token() ?? "";
  await steps.step(
    "Alice leaves: the company signs her out and tells one replica; the stream at the other ends",
    async () => {
      balancer.prefer(1);
      company.disable(alice.user);
      const page = await alice.browser.open(`${company.issuer}/session/end`);
      const form = findForm(page, "/session/end/confirm");
      if (!form) throw new Error(page.text);
      return cutOff(scene, alice, () => alice.browser.submit(page, form, { logout: "yes" }));
    },
  );
  await steps.step(
    "her token is worth nothing at either, nor is her browser's session, and there is no new statement",
    async () => {
      const made = company.statements.length;
      await endEverywhere(scene, alice, token);
      steps.match(await refusalOf(connect(scene, alice, "builds")), /access_denied/);
      steps.equal(company.statements.length, made);
      return "401, and access_denied at the company";
    },
  );
}

async function deactivate(scene: Scene): Promise<void> {
  const { steps, stage, carol } = scene;
  const { balancer, directory, origin } = stage;
  const resource = mcpServer(scene, "builds");
  let [token, unused] = ["", ""];
  const isUnusedRefused = (): Promise<void> =>
    atEach(scene, async () => steps.equal((await present(scene, unused))["error"], "invalid_grant"));

  await steps.step("Carol's assistant listens at one replica, and holds one more statement about her", async () => {
    balancer.prefer(1);
    carol.assistant = await connect(scene, carol, "builds");
    await carol.assistant.listening;
    token = carol.assistant.token();
    unused = await requestStatement(speaker(scene, carol), { audience: origin, resource });
    await atEach(scene, async () => {
      steps.equal((await call(token, resource, "list_builds")).status, 200);
      steps.equal((await session(scene, carol)).status, 200);
    });
  });
  await steps.step("Carol leaves: the directory tells the other replica, and her stream ends", () => {
    balancer.prefer(0);
    return cutOff(scene, carol, () => directory.setActive(carol.user, false));
  });
  await steps.step("her token and her session are worth nothing at either, and so is the statement", async () => {
    await endEverywhere(scene, carol, token);
    await isUnusedRefused();
    return "401, invalid_grant";
  });
  await steps.step("the company's provider would still sign her in, the gateway does not", async () => {
    const { status } = await open(scene, carol, "/handbook");
    steps.equal(status, 403);
    return String(status);
  });
  await steps.step("she is active again, and gets nothing back: she signs in as everybody does", async () => {
    steps.equal((await directory.setActive(carol.user, true))["active"], true);
    await isUnusedRefused();
    await endEverywhere(scene, carol, token);
    const again = createPerson(carol.user);
    await until(async () => (await open(scene, again, "/handbook")).text === "How we work", "she signs in");
    await endEverywhere(scene, carol, token);
    return "401, invalid_grant; 200 after a new sign-in";
  });
}

/** @param leave what ends an open stream, @returns how long it took from then on */
async function cutOff({ steps }: Scene, { assistant }: Person, leave: () => Promise<unknown>): Promise<string> {
  steps.ok(assistant?.hasEnded() === false, "the stream has ended before");
  const begun = Date.now();
  await leave();
  const ended = await inTime(assistant?.cutOff);
  // It would try again and again.
  await assistant?.close();
  if (ended === undefined) throw new Error("the stream goes on");
  return `after ${ended - begun} ms`;
}

/** Neither token nor session is worth anything, at either replica. */
function endEverywhere(scene: Scene, person: Person, token: string): Promise<void> {
  const list = () => call(token, mcpServer(scene, "builds"), "list_builds");
  return atEach(scene, async () => {
    await until(async () => (await list()).status === 401, "the token has ended");
    await until(async () => (await session(scene, person)).status === 401, "the session has ended");
  });
}
