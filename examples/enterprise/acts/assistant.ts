/** Alice's assistant gets in by her company's word, and Bob's does not. */
import { examine } from "../../../runtime/tools/doctor/doctor.ts";
import { createClient } from "../code-host.ts";
import { BOB } from "../company.ts";
import {
  atEach,
  call,
  connect,
  createPerson,
  mcpServer,
  open,
  present,
  refusalOf,
  type Scene,
  signInToAssistant,
} from "../scene.ts";

export async function admitAssistant(scene: Scene): Promise<void> {
  const { steps, stage, alice } = scene;
  const { company, balancer, origin } = stage;
  const server = mcpServer(scene, "builds");
  await steps.step("two replicas share one database, and the metadata offers the company's way in", async () => {
    const report = await examine(server);
    steps.equal(report.clients.find(({ client }) => client === "enterprise")?.outcome, "works");
    return `${stage.storage}; gateway doctor: connects`;
  });
  await steps.step("an administrator makes the assistant's client, once", async () => {
    scene.client = await createClient("Assistant", origin, stage.configFile);
    scene.tokens.push(scene.client.secret);
  });
  await steps.step("whom the company has not assigned does not connect: no page, no question", async () => {
    const bob = createPerson(BOB);
    await signInToAssistant(scene, bob);
    const refusal = await refusalOf(connect(scene, bob, "builds"));
    steps.match(refusal, /access_denied|not assigned/);
    steps.equal(company.statements.length, 0);
    return refusal;
  });
  const { clientId: client } = company.assistant;
  company.assign({ user: alice.user, client, audience: origin, clientThere: scene.client.id });
  await steps.step("Alice signs in at the gateway's page and, with the same sign-in, to the assistant", async () => {
    steps.equal((await open(scene, alice, "/.gateway/")).status, 200);
    await signInToAssistant(scene, alice);
  });
  await steps.step("the assistant connects by the company's word, without a consent page, and listens", async () => {
    balancer.prefer(0);
    alice.assistant = await connect(scene, alice, "builds");
    await alice.assistant.listening;
    const { tools } = await alice.assistant.client.listTools();
    return tools.map(({ name }) => name).join(", ");
  });
  await steps.step("the statement was good once: presented again, at the other replica, it is refused", async () => {
    balancer.prefer(1);
    const answer = await present(scene, company.statements.at(-1)?.text ?? "");
    steps.equal(answer["error"], "invalid_grant");
    return String(answer["error_description"]);
  });
  await steps.step(
    "both replicas take its token, policy keeps tools from it, and records say who let it in",
    async () => {
      const token = alice.assistant?.token() ?? "";
      await atEach(scene, async (replica) => {
        steps.equal((await call(token, server, "list_builds")).status, 200);
        for (const tool of ["report_build", "delete_build"]) {
          const { text } = await call(token, server, tool, { name: "build 0" });
          steps.ok(text.includes('"error"'), `it may call ${tool}`);
        }
        const record = (await stage.records(replica)).findLast((each) => each["mcp-tool"] === "list_builds");
        steps.equal(record?.["user"], alice.user.id);
        steps.equal(record?.["issuer"], "company");
        steps.equal(record?.["auth-method"], "id-jag");
        steps.equal(record?.["client-id"], scene.client.id);
      });
      return `user ${alice.user.id}, issuer company, auth-method id-jag`;
    },
  );
}
