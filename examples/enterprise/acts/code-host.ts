/** An upstream of another company, reached by company policy: nobody connects an account there. */
import { atEach, call, connect, mcpServer, refusalOf, type Scene, signInToAssistant } from "../scene.ts";

export async function reachCodeHost(scene: Scene): Promise<void> {
  const { steps, stage, alice, carol } = scene;
  const { company, codeHost, balancer, directory, origin } = stage;
  // The gateway, too, is a client of the company's provider, which may speak for Alice at the code host.
  const gateway = { client: "gateway", audience: codeHost.origin, clientThere: codeHost.client.id };
  company.assign({ user: alice.user, ...gateway });
  const statements = (): number => company.statements.filter(({ audience }) => audience === codeHost.origin).length;

  await steps.step(
    "Alice's assistant lists what a code host has, where nobody of the company has an account",
    async () => {
      const assistant = await connect(scene, alice, "code");
      let listed = "";
      await atEach(scene, async () => {
        const { status, text } = await call(assistant.token(), mcpServer(scene, "code"), "list_repos");
        steps.equal(status, 200, text);
        steps.match(text, /playground/);
        listed = text;
      });
      await assistant.close();
      return /"text":"(.*?[^\\])"/.exec(listed)?.[1] ?? "";
    },
  );
  await steps.step(
    "the company's provider was asked once for both replicas, and the code host knows who it is",
    async () => {
      steps.equal(statements(), 1);
      const records = await codeHost.records();
      steps.match(records, /"user":"issuer:example-corp\/u-alice"/);
      steps.ok(records.includes(`"client-id":"${codeHost.client.id}"`), "it was another client");
      return "issuer:example-corp/u-alice";
    },
  );
  await steps.step(
    "Carol comes into the group, and the company has not assigned her at the code host: 403",
    async () => {
      const { clientId: client } = company.assistant;
      company.assign({ user: carol.user, client, audience: origin, clientThere: scene.client.id });
      await signInToAssistant(scene, carol);
      balancer.prefer(0);
      await directory.addMember("Developers", carol.user);
      balancer.prefer(1);
      const before = await codeHost.records();
      const refusal = await refusalOf(connect(scene, carol, "code"));
      // Policy lets her in; the company's provider does not make the statement.
      steps.match(refusal, /upstream\.not-permitted/);
      steps.equal(statements(), 1);
      steps.equal(await codeHost.records(), before);
      return "upstream.not-permitted";
    },
  );
}
