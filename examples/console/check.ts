/** The console as its users have it, unattended: a line per step, then "N passed, N failed". Needs Chromium. */
import { launchChromium, missingChromium } from "../../test/support/chromium.ts";
import { createSteps } from "../demo/steps.ts";
import { showChanges } from "./changes.ts";
import { showDecisions } from "./decisions.ts";
import { showHealth } from "./health.ts";
import { showPeople } from "./people.ts";
import { showSafety } from "./safety.ts";
import { ALICE, BOB, startStage } from "./stage.ts";
import { openWindow } from "./window.ts";

const steps = createSteps();
const missing = missingChromium();
if (missing === undefined) await play();
else console.log(`skipped: ${missing}`);
process.exitCode = steps.end();

async function play(): Promise<void> {
  const stage = await startStage();
  const chromium = await launchChromium();
  try {
    await steps.step("two replicas share one store; Terraform publishes one slice, a job the other", async () => {
      await stage.publishAsTerraform(stage.slices.payments);
      await stage.publishAsJob(stage.slices.tickets);
      return stage.storage;
    });
    stage.balancer.prefer(0);
    const alice = await openWindow(chromium, stage.home, ALICE);
    const bob = await openWindow(chromium, stage.home, BOB);
    const agents = {
      payments: await stage.connect(BOB, stage.payments, "v1"),
      tickets: await stage.connect(BOB, stage.tickets, "v2"),
    };
    const scene = { steps, stage, alice, bob, agents };
    await showDecisions(scene);
    stage.balancer.prefer(undefined);
    await showPeople(scene);
    await showChanges(scene);
    await showSafety(scene);
    await showHealth(scene);
  } finally {
    await chromium.close();
    await stage.close();
  }
}
