/** Processes that are killed while they write records into one file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { AUDIT_KEY_NAME } from "../../../../runtime/audit/chain/checkpoint.ts";
import { createNoteSigner, parseVerifierKey } from "../../../../runtime/audit/chain/signed-note.ts";
import { verifyAudit } from "../../../../runtime/tools/audit/verify.ts";

const CHILD = new URL("../../../support/audit-child.ts", import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), "audit-killed-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("leave an audit in which nothing is wrong, whenever it hits them", async () => {
  const file = join(directory, "authorize.log");
  const run = async (instance: string): Promise<void> => {
    const child = spawn(process.execPath, [CHILD, file, instance], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "close");
  };
  for (const round of [1, 2, 3, 4]) await Promise.all([run(`one-${round}`), run(`two-${round}`)]);
  const verifier = parseVerifierKey(createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 7)).verifierKey);
  const report = await verifyAudit({ files: [file], verifiers: verifier ? [verifier] : [], heads: [] });
  expect(report.findings).toEqual([]);
  expect(report.runs).toHaveLength(8);
  expect(report.runs.every(({ isEnded, signed }) => !isEnded && signed > 500)).toBe(true);
});
