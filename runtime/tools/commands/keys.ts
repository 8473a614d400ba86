/**
 * `gateway keys …`: shows the shared secrets in use, and replaces one while the gateway serves.
 *
 * The secret itself is in the location of `shared_secret_ref`, which no command writes. The command generates a new
 * one, prints instructions, and checks with the heartbeats of all processes whether they were followed.
 */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";

import { attempting, GatewayError } from "../../shared/errors.ts";
import { createKeys, secretIds } from "../../shared/keys.ts";
import type { KeyNeed } from "../keys/needs.ts";
import { type KeyState, readKeyState, type SecretState } from "../keys/state.ts";
import { timeText } from "../../shared/clock.ts";
import { printLine, printRows } from "./output.ts";

export interface KeyOptions {
  readonly config: string;
  readonly json?: boolean;
}

export interface RotateOptions {
  readonly config: string;
  /** File for a new secret. */
  readonly new?: string;
}

/** Exit code, as that of `gateway diff`. */
const NOT_YET = 3;

/** @returns exit code @throws GatewayError as `readKeyState` */
export async function printKeys({ config, json }: KeyOptions): Promise<number> {
  const state = await readKeyState(config);
  if (json === true) {
    printLine(JSON.stringify(state, null, 2));
    return 0;
  }
  const { length } = state.processes;
  const secrets = state.secrets.map(({ id, role, since, until, had, needs }) => ({
    shared_secret: id,
    role,
    since: since === undefined ? "" : timeText(since),
    until: until === undefined || role === "current" ? "" : timeText(until),
    processes: `${had.length} of ${length}`,
    "needed by": needs.map(needText).join(", "),
  }));
  printRows(secrets, false, "");
  printLine("");
  printRows(
    state.publicKeys.map(({ use, id, role, secret = "" }) => ({ "public key": use, role, from: secret, id })),
    false,
    "",
  );
  for (const id of state.silent) printLine(`\n${id} does not say which secrets it has`);
  return 0;
}

/** @returns exit code @throws GatewayError as `readKeyState`; `keys.rotation`, `keys.new-file` */
export async function rotateKeys({ config, new: file }: RotateOptions): Promise<number> {
  const state = await readKeyState(config);
  const { text, isDone } = file === undefined ? nextStep(state) : await begin(state, file);
  printLine(text);
  return isDone ? 0 : NOT_YET;
}

interface Step {
  readonly text: string;
  readonly isDone: boolean;
}

async function begin({ secrets }: KeyState, file: string): Promise<Step> {
  const other = secrets.find(({ role }) => role === "next" || role === "unknown");
  if (other) {
    const message = `${other.id} already exists, which ${other.role === "next" ? "is not in use yet" : "the configuration does not have"}`;
    throw new GatewayError("keys.rotation", `Cannot start a rotation: ${message}`);
  }
  const secret = randomBytes(32);
  await attempting("keys.new-file", `Cannot write "${file}"`, () =>
    // Never overwrites a secret, and follows no link.
    writeFile(file, `${secret.toString("base64")}\n`, { mode: 0o600, flag: "wx" }),
  );
  const [id] = secretIds(createKeys([secret]));
  const text = `New secret ${id} written to ${file}

Step 1 of 3: copy it to where all replicas read their secrets, and add it to previous_shared_secret (shared_secret
stays). Restart the replicas one at a time. Then run this command without --new.`;
  return { text, isDone: true };
}

function nextStep(state: KeyState): Step {
  const { secrets, processes } = state;
  const [current] = secrets;
  if (!current) throw new GatewayError("keys.no-secret", "Cannot rotate keys: no shared_secret is set");
  if (processes.length === 0) return { text: "No running process found. Start the gateway first.", isDone: false };
  const unknown = secrets.find(({ role }) => role === "unknown");
  const next = secrets.find(({ role }) => role === "next");
  const old = secrets.filter(({ role }) => role === "previous");
  if (next) return mayBecomeCurrent(state, next);
  if (old.length > 0) {
    const lacking = processes.filter((id) => !current.current.includes(id));
    if (lacking.length > 0) return notYet(`do not use ${current.id} as shared_secret yet`, lacking, processes);
    return mayGo(state, old);
  }
  if (unknown) return notYet(`still have ${unknown.id}, which the configuration does not have`, unknown.had, processes);
  return { text: "No rotation is in progress. To start one: gateway keys rotate --new FILE", isDone: true };
}

function mayBecomeCurrent({ secrets, processes }: KeyState, next: SecretState): Step {
  const lacking = processes.filter((id) => !next.had.includes(id));
  if (lacking.length > 0) return notYet(`do not know ${next.id} yet`, lacking, processes);
  const text = `${all(processes)} ${next.id}.

Step 2 of 3: set shared_secret to ${next.id}, and replace it in previous_shared_secret with ${secrets[0]?.id}. Restart
the replicas one at a time. Then run this command again.`;
  return { text, isDone: true };
}

function mayGo({ processes, secrets }: KeyState, old: readonly SecretState[]): Step {
  const needed = old.filter(({ needs }) => needs.length > 0);
  const unneeded = old.filter(({ needs }) => needs.length === 0).map(({ id }) => id);
  const lines = [`${all(processes)} ${secrets[0]?.id}, as shared_secret.`];
  for (const { id, needs } of needed)
    lines.push("", `${id} is still needed by:`, ...needs.map((n) => `  ${needText(n)}`));
  if (needed.length > 0) lines.push("If you remove it now, they become invalid: users must sign in or connect again.");
  if (unneeded.length > 0) {
    lines.push(
      "",
      `Step 3 of 3: remove ${unneeded.join(", ")} from previous_shared_secret, and restart the replicas one at a time.`,
    );
  }
  return { text: lines.join("\n"), isDone: needed.length === 0 };
}

function notYet(what: string, lacking: readonly string[], processes: readonly string[]): Step {
  const lines = [`${lacking.length} of ${processes.length} processes ${what}:`, ...lacking.map((id) => `  ${id}`)];
  return { text: lines.join("\n"), isDone: false };
}

function all(processes: readonly string[]): string {
  const names = processes.join(", ");
  return processes.length === 1
    ? `The only running process (${names}) has`
    : `All ${processes.length} running processes (${names}) have`;
}

function needText({ kind, count, until }: KeyNeed): string {
  return `${count} ${kind}${until === undefined ? "" : ` until ${timeText(until)}`}`;
}
