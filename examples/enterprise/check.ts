/** How a company lets people, agents and pipelines in, and out, unattended: a line per step, then "N passed, N failed". */
import { createSteps } from "../demo/steps.ts";
import { admitAssistant } from "./acts/assistant.ts";
import { reachCodeHost } from "./acts/code-host.ts";
import { followDirectory } from "./acts/directory.ts";
import { leave } from "./acts/leavers.ts";
import { runPipeline } from "./acts/pipeline.ts";
import { loseSecretStore, rotateSecret } from "./acts/secrets.ts";
import { welcomeSubsidiary } from "./acts/subsidiary.ts";
import { ALICE, CAROL } from "./company.ts";
import { createPerson, type Scene } from "./scene.ts";
import { startStage } from "./stage.ts";

const steps = createSteps();
const stage = await startStage();
const [alice, carol] = [createPerson(ALICE), createPerson(CAROL)];
const scene: Scene = { steps, stage, alice, carol, client: { id: "", secret: "" }, tokens: [] };
try {
  await admitAssistant(scene);
  // What follows up to `rotateSecret` happens while it is away.
  await loseSecretStore(scene);
  await runPipeline(scene);
  await welcomeSubsidiary(scene);
  await followDirectory(scene);
  await reachCodeHost(scene);
  await rotateSecret(scene);
  await leave(scene);
  await steps.step("no secret, statement or token is in any log or record", async () => {
    const records = JSON.stringify([await stage.records(0), await stage.records(1), await stage.codeHost.records()]);
    const written = stage.log() + records;
    // Of Vault's kind or a JWT, whoever's it is.
    steps.ok(!/\bhvs\.|eyJ[\w-]{10,}\.eyJ/.test(written), "a token is in a log");
    const statements = stage.company.statements.map(({ text }) => text);
    const secrets = [...stage.secrets, ...scene.tokens, ...statements, ...stage.ci.issued];
    for (const secret of secrets.filter((text) => text !== "")) {
      const part = secret.split(".").at(-1) ?? "";
      steps.ok(!written.includes(part), "a secret is in a log");
    }
    return `${secrets.length} looked for`;
  });
} finally {
  await alice.assistant?.close();
  await carol.assistant?.close();
  await stage.close();
  process.exitCode = steps.end();
}
