/** Tool use under one policy, from the first list to the last approval, unattended: a line per step, then "N passed, N failed". */
import { createSteps } from "../demo/steps.ts";
import { EVE, FRED, startStage, SUE } from "./stage.ts";

const steps = createSteps();
const stage = await startStage();
const { desk } = stage;

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "nothing was refused",
    (error: unknown) => String(error),
  );

try {
  await stage.publish(stage.slice);
  const sue = await stage.connect(SUE, "v1");
  const fred = await stage.connect(FRED, "v2");

  await steps.step("lists show what each may call: one allowlist, one prefix, both protocol eras", async () => {
    const shown = (await sue.tools()).join(", ");
    steps.equal(shown, "list_tickets, read_ticket, refund");
    steps.equal((await fred.tools()).join(", "), shown);
    steps.match(await refusalOf(stage.connect(EVE, "v2")), /The user has no access/);
    return shown;
  });
  await steps.step("what is not shown cannot be called", async () => {
    for (const tool of ["delete_ticket", "export_customers"])
      steps.match(await refusalOf(sue.call(tool, { ticket: "7" })), /denied|not allowed|unauthorized/i);
    steps.equal(desk.calls.length, 0);
  });
  await steps.step("one tool, decided by its arguments", async () => {
    await sue.call("refund", { order: "A1", amount: 100 });
    const refusals = [];
    for (const amount of [1000.01, "100", undefined])
      refusals.push(await refusalOf(sue.call("refund", { order: "A1", amount })));
    steps.ok(
      refusals.every((each) => /denied|not allowed/i.test(each)),
      refusals.join("; "),
    );
    steps.equal(desk.refunds.length, 1);
    return refusals[0] ?? "";
  });
} finally {
  await stage.close();
  process.exitCode = steps.end();
}
