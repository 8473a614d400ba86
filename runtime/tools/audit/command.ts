/** Command line of `gateway audit verify` and `gateway audit head`. */
import { readFile } from "node:fs/promises";

import { AUDIT_KEY_NAME } from "../../audit/chain/checkpoint.ts";
import { createNoteSigner, type NoteVerifier, openNote, parseVerifierKey } from "../../audit/chain/signed-note.ts";
import { readBoot } from "../../bundle/boot.ts";
import { attempting, GatewayError } from "../../shared/errors.ts";
import { createKeys } from "../../shared/keys.ts";
import { progressOn } from "../replay/progress.ts";
import { VERIFY_EXIT, type VerifyReport } from "./findings.ts";
import { formatVerify, verifyJson } from "./text.ts";
import { checkpointOfNote, verifyAudit } from "./verify.ts";

/** Options of the command line. */
export interface AuditOptions {
  /** The gateway's configuration: keys are derived from its shared secrets. */
  readonly config?: string;
  /** Keys in the format of `gateway audit head`. */
  readonly key?: readonly string[];
  /** Output of `gateway audit head`. */
  readonly head?: string;
  readonly json?: boolean;
}

export interface CommandOutput {
  readonly text: string;
  /** Whether the text describes a problem. */
  readonly isProblem: boolean;
  readonly exitCode: number;
}

/** @throws GatewayError `config.invalid`, `audit.no-key`, `audit.key`, `audit.head`, `replay.unreadable` */
export async function verifyCommand(
  files: readonly string[],
  options: AuditOptions,
  terminal: NodeJS.WriteStream,
): Promise<CommandOutput> {
  const report = await verifyFiles(files, options, terminal);
  const text = options.json === true ? verifyJson(report) : formatVerify(report);
  return { text, isProblem: false, exitCode: VERIFY_EXIT[report.result] };
}

/** The last checkpoint of each run, with the keys: none for a history with a problem. @throws as `verifyCommand` */
export async function headCommand(
  files: readonly string[],
  options: AuditOptions,
  terminal: NodeJS.WriteStream,
): Promise<CommandOutput> {
  const report = await verifyFiles(files, options, terminal);
  if (report.result === "found" || report.result === "untold") {
    return { text: formatVerify(report), isProblem: true, exitCode: VERIFY_EXIT[report.result] };
  }
  const notes = report.runs.flatMap(({ head }) => (head === undefined ? [] : [head]));
  const keys = await writtenKeys(options);
  return { text: [...keys.map((key) => `key ${key}\n`), ...notes].join("\n"), isProblem: false, exitCode: 0 };
}

async function verifyFiles(
  files: readonly string[],
  options: AuditOptions,
  terminal: NodeJS.WriteStream,
): Promise<VerifyReport> {
  const known = options.head === undefined ? undefined : await readHead(options.head);
  const written = [...(await writtenKeys(options)), ...(known?.keys ?? [])];
  if (written.length === 0) {
    throw new GatewayError("audit.no-key", "Cannot verify: no key is given, pass --config, --key or --head");
  }
  const verifiers = written.map(readKey);
  const heads = (known?.notes ?? []).map((note) => {
    const checkpoint = openNote(note, verifiers).kind === "signed" ? checkpointOfNote(note) : undefined;
    if (checkpoint) return checkpoint;
    throw new GatewayError("audit.head", `Cannot use "${options.head}": it has a checkpoint that no given key signed`);
  });
  const progress = progressOn(terminal);
  try {
    return await verifyAudit({ files, verifiers, heads, progress: progress && ((...of) => progress.show(...of)) });
  } finally {
    progress?.end();
  }
}

async function writtenKeys({ config, key = [] }: AuditOptions): Promise<readonly string[]> {
  if (config === undefined) return key;
  const { settings } = await readBoot(config);
  const seeds = createKeys(settings.sharedSecrets).derive("audit-signing");
  return [...new Set([...key, ...seeds.map((seed) => createNoteSigner(AUDIT_KEY_NAME, seed).verifierKey)])];
}

function readKey(written: string): NoteVerifier {
  const verifier = parseVerifierKey(written);
  if (verifier?.name === AUDIT_KEY_NAME) return verifier;
  throw new GatewayError("audit.key", `Cannot use key "${written}": it must be as \`gateway audit head\` prints it`);
}

async function readHead(
  file: string,
): Promise<{ readonly keys: readonly string[]; readonly notes: readonly string[] }> {
  const text = await attempting("audit.head", `Cannot read "${file}"`, () => readFile(file, "utf8"));
  const keys = [...text.matchAll(/^key (\S+)$/gm)].map(([, key = ""]) => key);
  const notes = [...text.matchAll(/^gateform\/audit\/.*\n(?:.+\n)+\n(?:— .+\n?)+/gm)].map(
    ([note]) => `${note.trimEnd()}\n`,
  );
  if (notes.length > 0) return { keys, notes };
  throw new GatewayError("audit.head", `Cannot use "${file}": it must be what \`gateway audit head\` printed`);
}
