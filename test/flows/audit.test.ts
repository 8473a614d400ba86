/** `audit` in real processes: two workers, kills, rotation, commands, and the results of `gateway audit` on their files. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { openSlice, startUpstream, visit, type MarkedUpstream } from "../support/marked-upstream.ts";
import { runCommand } from "../support/run-command.ts";
import { runGateway, type RunningGateway } from "../support/run-gateway.ts";

type Line = Readonly<Record<string, unknown>>;

const soon = { interval: 50 };

let upstream: MarkedUpstream;
let gateway: RunningGateway;
let log = "";
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await runGateway({ workers: 2, boot: { audit: true } });
  log = join(gateway.directory, "authorize.log");
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const ask = (times: number): Promise<unknown> =>
  Promise.allSettled(Array.from({ length: times }, () => visit(gateway.origin, "team-0.example.com")));

/** Complete lines of a file so far. */
function linesOf(file: string): readonly Line[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Line];
      } catch {
        return [];
      }
    });
}

function ofKind(file: string, message: string): readonly Line[] {
  return linesOf(file).filter((line) => line["message"] === message);
}

test("two workers that are killed under load, a rotation and commands leave an audit that is whole", async () => {
  const published = await gateway.admin.publish("team", openSlice("team", "1", upstream.origin));
  expect(published.status).toBe(200);
  const minted = await gateway.admin.ask("POST", "/publish-tokens", {}, '{"owner":"team"}');
  const id = String(minted.body["id"]);
  expect((await gateway.admin.ask("POST", `/publish-tokens/${id}`)).status).toBe(200);
  expect((await gateway.admin.ask("DELETE", `/publish-tokens/${id}`)).body).toEqual({ ended: true });
  await ask(40);

  // Killed during their work, one at a time.
  for (const round of [1, 2, 3]) {
    const [victim] = (await gateway.workers()).filter(({ serving }) => serving);
    await ask(100);
    // Some of these get no answer.
    void ask(100);
    process.kill(victim?.pid ?? 0, "SIGKILL");
    await expect
      .poll(async () => {
        const workers = await gateway.workers();
        return workers.every(({ serving }) => serving) && workers.reduce((sum, { restarts }) => sum + restarts, 0);
      }, soon)
      .toBe(round);
  }
  const rotated = join(gateway.directory, "authorize.log.1");
  renameSync(log, rotated);
  gateway.process.kill("SIGHUP");
  await expect
    .poll(async () => {
      await ask(4);
      return ofKind(log, "request outcome").length > 0;
    }, soon)
    .toBe(true);

  const config = gateway.directory;
  for (const command of [
    ["block", "tool", "drop", "--reason", "it drops"],
    ["service-account", "create", "--name", "bot"],
    ["service-account", "revoke", "bot"],
    ["rollback"],
  ]) {
    expect(await runCommand(...command, "--config", config)).toMatchObject({ code: 0 });
  }
  // A worker that was killed while it wrote one has left it to another one, under the same id.
  const actions = (): readonly Line[] => {
    const all = [rotated, log].flatMap((file) => ofKind(file, "administrative action"));
    return [...new Map(all.map((line) => [line["action-id"], line])).values()];
  };
  await expect.poll(() => actions().length, soon).toBe(8);

  gateway.process.kill("SIGTERM");
  await gateway.ended;

  const files = [log, rotated];
  const verified = await runCommand("audit", "verify", ...files, "--config", config, "--json");
  const report = JSON.parse(verified.out) as {
    readonly runs: readonly { readonly isEnded: boolean }[];
    readonly findings: readonly unknown[];
  };
  expect(report.findings).toEqual([]);
  expect([0, 4]).toContain(verified.code);
  // Two at the beginning, three for those that were killed.
  expect([report.runs.length, report.runs.filter(({ isEnded }) => isEnded).length]).toEqual([5, 2]);

  const all = files.flatMap(linesOf);
  const outcomes = all.filter(({ message }) => message === "request outcome");
  const checks = all.filter(({ message }) => message === "authorize check");
  for (const outcome of outcomes.slice(0, 50)) {
    expect(outcome).toMatchObject({ status: 200 });
    expect(outcome["duration-ms"]).toBeGreaterThan(0);
    const check = checks.find((each) => each["seq"] === outcome["of"] && each["instance"] === outcome["instance"]);
    expect(check).toMatchObject({ allow: true, "request-id": outcome["request-id"], rule: "/0/allow/or" });
  }
  const by = expect.stringMatching(/^\S+@\S+$/) as unknown;
  const good = expect.stringMatching(/^valid until 20/) as unknown;
  const { digest } = published.body;
  expect(actions().toSorted((a, b) => (String(a["time"]) < String(b["time"]) ? -1 : 1))).toMatchObject([
    { action: "publish", by: "admin_token", target: "slice team", before: null, after: digest },
    { action: "create", by: "admin_token", target: `publish token ${id} of team`, before: null, after: good },
    { action: "renew", by: "admin_token", target: `publish token ${id} of team`, after: good },
    { action: "revoke", by: "admin_token", target: `publish token ${id}`, before: "good", after: null },
    { action: "block", by, target: expect.stringContaining("drop"), before: null, reason: "it drops" },
    { action: "create", by, target: "service account bot", before: null, after: expect.any(String) as string },
    { action: "revoke", by, target: "service account bot", before: expect.any(String) as string, after: null },
    { action: "rollback", by, target: "slice team", before: digest, after: null },
  ]);

  // Its records are decided again like all others.
  const replayed = await runCommand("replay", "--records", rotated, "--config", config, "--json");
  expect(JSON.parse(replayed.out)).toMatchObject({ records: ofKind(rotated, "authorize check").length });

  // An outsider's copy, and its findings.
  const head = await runCommand("audit", "head", ...files, "--config", config);
  expect(head).toMatchObject({ code: 0, err: "" });
  const kept = join(gateway.directory, "head");
  writeFileSync(kept, head.out);
  expect((await runCommand("audit", "verify", ...files, "--head", kept)).code).toBe(verified.code);
  const text = readFileSync(log, "utf8");
  writeFileSync(log, text.slice(0, text.trimEnd().lastIndexOf("\n") + 1));
  const cut = await runCommand("audit", "verify", ...files, "--head", kept);
  expect([cut.code, cut.out]).toEqual([3, expect.stringContaining("truncated at the end")]);
  expect((await runCommand("audit", "verify", log)).err).toContain("no key is given");
});
