/** Processes that write records through the gateway's own thread, each killed in the middle of it. */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { AUDIT_KEY_NAME } from "../../runtime/audit/chain/checkpoint.ts";
import { createNoteSigner, parseVerifierKey } from "../../runtime/audit/chain/signed-note.ts";
import type { VerifyReport } from "../../runtime/tools/audit/findings.ts";
import { startVerification } from "../../runtime/tools/audit/verify.ts";

export interface KilledRun {
  /** What it left behind, to the byte. */
  readonly bytes: Buffer;
  readonly report: VerifyReport;
  /** Records of which it knew that they were written. */
  readonly flushed: number;
}

const CHILD = new URL("../../test/support/audit-child.ts", import.meta.url).pathname;
/** The child's. */
const KEY = createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 7)).verifierKey;
/** A checkpoint stands among so many. */
const SAYS_EVERY = 600;
const MAX_LATER_MS = 30;

/** @returns one run, of a process that was killed at no chosen moment */
export async function killWriter(name: string): Promise<KilledRun> {
  const directory = mkdtempSync(join(tmpdir(), "audit-kill-"));
  try {
    const file = join(directory, "authorize.log");
    const args = [CHILD, file, name, String(SAYS_EVERY)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let said = 0;
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.length));
    await once(child.stdout, "data");
    await pause(randomInt(MAX_LATER_MS));
    child.kill("SIGKILL");
    await once(child, "close");
    const bytes = readFileSync(file);
    return { bytes, report: verifyBytes(bytes), flushed: said * SAYS_EVERY };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** As `gateway audit verify` does, without a file. */
export function verifyBytes(bytes: Buffer): VerifyReport {
  const verifier = parseVerifierKey(KEY);
  const verification = startVerification({ verifiers: verifier ? [verifier] : [], heads: [] });
  let offset = 0;
  for (let number = 1; offset < bytes.length; number += 1) {
    const end = bytes.indexOf(0x0a, offset);
    const line = bytes.subarray(offset, end === -1 ? bytes.length : end);
    verification.take({ number, offset, bytes: line, isEnded: end !== -1 }, "authorize.log");
    offset += line.length + 1;
  }
  return verification.end();
}
