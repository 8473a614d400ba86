/**
 * An audit that proves itself, and what is done to it, unattended: a line per step, then "N passed, N failed".
 * Argument: how many processes are killed while they write (100).
 */
import { gzipSync } from "node:zlib";

import { createSteps } from "../demo/steps.ts";
import { killWriter, verifyBytes } from "./kills.ts";
import { startAuditStage, type Verdict } from "./stage.ts";
import { tamper, told } from "./tamper.ts";

const KILLS = Number(process.argv[2] ?? 100);
/** At once. */
const WRITERS = 2;

const steps = createSteps();
const stage = await startAuditStage();

/** What verify says of one thing that is wrong, and of no other. */
function named({ code, text }: Verdict): string {
  steps.equal(code, 3, text);
  const said = text.split("\n").filter((line) => line.startsWith("  line") || line.includes(": truncated"));
  steps.equal(said.length, 1, text);
  return (said[0] as string).trim();
}

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

try {
  await steps.step("a gateway decides, and records what it decides and what became of it", async () => {
    for (let visit = 0; visit < 8; visit += 1) steps.equal(await stage.ask(`/item/${visit}`), 200);
    steps.ok((await stage.ask("/payroll/boss")) >= 300, "somebody saw the payroll");
    for (let visit = 0; visit < 8; visit += 1) await stage.ask(`/basket/${visit}`);
    await stage.stop();
    return stage.lines().find((line) => line.includes("/payroll"));
  });
  const lines = stage.lines();
  const seqOf = (line: string | undefined): number => Number(/"seq":(\d+)/.exec(line ?? "")?.[1]);
  const deniedAt = lines.findIndex((line) => line.includes("/payroll"));
  const denied = lines[deniedAt] as string;
  const head = await stage.head();

  await steps.step("it is whole: as it is, rotated and compressed, in any order", async () => {
    const half = Math.floor(lines.length / 2);
    const parts = [lines.slice(half), lines.slice(0, half)].map(textOf) as [string, string];
    for (const files of [[textOf(lines)], parts, [parts[0], gzipSync(parts[1])]]) {
      const { code, text } = await stage.verify(files);
      steps.equal(code, 0, text);
    }
    return (await stage.verify([textOf(lines)])).text;
  });
  await steps.step("a denial that is made an approval is named, with its line and byte", async () => {
    const forged = denied.replace('"allow":false,"deny":true', '"allow":true,"deny":false');
    steps.ok(forged !== denied, denied);
    const said = named(await stage.verify([textOf(lines.with(deniedAt, forged))]));
    steps.match(said, new RegExp(`^line ${seqOf(denied)} of .*changed.*:${deniedAt + 1} \\(byte \\d+\\)$`));
    return said;
  });
  await steps.step("so is one that is dropped", async () => {
    const said = named(await stage.verify([textOf(lines.toSpliced(deniedAt, 1))]));
    steps.match(said, new RegExp(`^line ${seqOf(denied)} of .*missing`));
    return said;
  });
  await steps.step("so is one that stands twice", async () => {
    const said = named(await stage.verify([textOf(lines.toSpliced(deniedAt, 0, denied))]));
    steps.match(said, new RegExp(`^line ${seqOf(denied)} of .*twice`));
    return said;
  });
  await steps.step("so is one that changed places with the one before", async () => {
    const before = lines[deniedAt - 1] as string;
    const said = named(await stage.verify([textOf(lines.with(deniedAt - 1, denied).with(deniedAt, before))]));
    steps.match(said, new RegExp(`^line ${seqOf(before)} of .*moved`));
    return said;
  });
  await steps.step("so is one that somebody added behind the end", async () => {
    const added = denied.replace(/"seq":\d+/, `"seq":${lines.length}`);
    const said = named(await stage.verify([textOf([...lines, added])]));
    steps.match(said, new RegExp(`^line ${lines.length} of .*added`));
    return said;
  });
  await steps.step("an end that is cut off looks like a crash, but not to whoever kept a head", async () => {
    const cut = textOf(lines.slice(0, -3));
    const { code, text } = await stage.verify([cut]);
    steps.equal(code, 4, text);
    return named(await stage.verify([cut], { head }));
  });
  await steps.step("who takes the checkpoints away with it proves nothing by that", async () => {
    const others = lines.filter((line) => !line.includes('"note"') && line !== denied);
    const { code, text } = await stage.verify([textOf(others)]);
    steps.ok(code !== 0, text);
    return text;
  });
  await steps.step(
    `${KILLS} processes are killed while they write: nothing is wrong, and nothing written is lost`,
    async () => {
      let records = 0;
      let torn = 0;
      let found = 0;
      const killOne = async (number: number): Promise<void> => {
        const { bytes, report, flushed } = await killWriter(`killed-${number}`);
        steps.equal(report.findings.map(told).join(), "", `kill ${number}`);
        const [run] = report.runs;
        steps.ok(run !== undefined && !run.isEnded && run.lines > flushed, `kill ${number}: ${JSON.stringify(run)}`);
        steps.ok(report.torn.length <= 1, `kill ${number}: more than one half line`);
        records += run?.lines ?? 0;
        torn += report.torn.length;
        // And what somebody does to it afterwards is not taken for the crash.
        const whole = bytes.toString("latin1").split("\n");
        const { lines: tampered, must } = tamper(whole, report);
        const after = verifyBytes(Buffer.from(tampered.join("\n"), "latin1"));
        if (must.length === 0) return;
        steps.equal(after.findings.map(told).join(), must.join(), `kill ${number}`);
        found += 1;
      };
      for (let number = 0; number < KILLS; number += WRITERS) {
        await Promise.all(Array.from({ length: Math.min(WRITERS, KILLS - number) }, (_, at) => killOne(number + at)));
      }
      return `${records} lines, ${torn} of them half written; of ${found} changes afterwards each was named`;
    },
  );
} finally {
  await stage.close();
}
process.exitCode = steps.end();
