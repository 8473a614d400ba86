/** Rewrites a file of records: records about a user become lines that state the erasure, and the rest is unchanged. */
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, chown, realpath, rename, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

import { isAboutUser, type UserNames } from "../../audit/about-user.ts";
import { formatErased } from "../../audit/chain/erased-record.ts";
import { positionOf } from "../../audit/chain/lines.ts";
import { leafHash } from "../../audit/chain/merkle-tree.ts";
import type { NoteSigner } from "../../audit/chain/signed-note.ts";
import { readLogLine, splitLine } from "../../audit/log-line.ts";
import { plainJsonText } from "../../audit/record-text.ts";
import { lowerAscii } from "../../shared/ascii.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Members } from "../../shared/is-record.ts";
import { isCompressed } from "../replay/record-lines.ts";

export interface Erasing {
  readonly names: UserNames;
  /** ID of the erasing action. */
  readonly actionId: string;
  readonly signer: NoteSigner;
}

const LF = 0x0a;
/** Far longer than any record; longer lines stay unchanged. */
const MAX_LINE_BYTES = 64 << 20;
/** Invalid JSON, and no start of a record. */
const ERASED = '{"level":"erased';
/** A forged time must not be copied into the line that replaces a record. */
const TIME = /^[0-9TZ:.-]{0,30}$/;

/**
 * Checked before anything is erased.
 *
 * @param live files that gateways write to
 * @throws GatewayError `commands.records`
 */
export async function checkErasable(file: string, live: string): Promise<void> {
  try {
    const { dev, ino } = await stat(file);
    const other = await stat(live).catch(() => undefined);
    if (dev !== other?.dev || ino !== other.ino) return;
  } catch (error) {
    throw new GatewayError("commands.records", `Cannot rewrite "${file}": ${errorText(error)}`, { cause: error });
  }
  throw new GatewayError("commands.records", `Cannot rewrite "${file}": a gateway writes to it, rotate it first`);
}

/**
 * Replaces the file in one step, once the new one is complete and on the disk.
 *
 * @returns number of erased lines
 * @throws GatewayError `commands.records`
 */
export async function eraseLines(named: string, erasing: Erasing): Promise<number> {
  let fresh: string | undefined;
  try {
    // The target of a link, not the link.
    const file = await realpath(named);
    const before = await stat(file);
    const isGzip = await isCompressed(file);
    const name = `${file}.forgetting`;
    await rm(name, { force: true });
    // Never through a link that another user may have created.
    const target = createWriteStream(name, { flags: "wx", mode: 0o600, flush: true });
    fresh = name;
    const source = createReadStream(file);
    const count = { erased: 0 };
    const rewrite = (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> => rewriteLines(pieces, erasing, count);
    await (isGzip
      ? pipeline(source, createGunzip(), rewrite, createGzip(), target)
      : pipeline(source, rewrite, target));
    const after = await stat(file);
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) throw new Error("another process writes to it");
    if (count.erased === 0) return 0;
    // Only root can change the owner; otherwise this user owns the file.
    if (process.getuid?.() === 0) await chown(fresh, before.uid, before.gid);
    await chmod(fresh, before.mode & 0o777);
    await rename(fresh, file);
    fresh = undefined;
    return count.erased;
  } catch (error) {
    throw new GatewayError("commands.records", `Cannot rewrite "${named}": ${errorText(error)}`, { cause: error });
  } finally {
    if (fresh !== undefined) await rm(fresh, { force: true });
  }
}

/** By bytes: a line that is not text stays unchanged. */
async function* rewriteLines(
  pieces: AsyncIterable<Buffer>,
  erasing: Erasing,
  count: { erased: number },
): AsyncGenerator<Buffer> {
  const lineEnd = Buffer.of(LF);
  let partial: Buffer[] = [];
  let length = 0;
  const line = (): Buffer => {
    const bytes = Buffer.concat(partial);
    partial = [];
    length = 0;
    const erased = rewriteLine(bytes, erasing);
    if (erased === undefined) return bytes;
    count.erased += 1;
    return Buffer.from(erased);
  };
  for await (const piece of pieces) {
    let at = 0;
    for (let end = piece.indexOf(LF); end !== -1; end = piece.indexOf(LF, at)) {
      partial.push(piece.subarray(at, end));
      yield line();
      yield lineEnd;
      at = end + 1;
    }
    partial.push(piece.subarray(at));
    length += piece.length - at;
    if (length > MAX_LINE_BYTES) throw new Error("it has a line that is longer than 64 MiB");
  }
  if (length > 0) yield line();
}

/** @returns undefined: unchanged */
function rewriteLine(bytes: Buffer, erasing: Erasing): string | undefined {
  const { torn, rest } = splitLine(bytes);
  const read = readLogLine(rest);
  const erased =
    read.kind === "record" || read.kind === "json" ? erasedOf(rest, read.value, erasing) : cutOf(rest, erasing);
  const cut = torn && cutOf(torn, erasing);
  if (erased === undefined && cut === undefined) return undefined;
  return `${cut ?? torn?.toString() ?? ""}${erased ?? rest.toString()}`;
}

/** A partial line can only be searched for the user's names. @returns undefined: it does not contain them */
function cutOf(bytes: Buffer, { names: { ids, emails } }: Erasing): string | undefined {
  const text = lowerAscii(bytes.toString());
  const isNamed = [...ids, ...emails].some((name) => text.includes(lowerAscii(plainJsonText(name).slice(1, -1))));
  return isNamed ? ERASED : undefined;
}

function erasedOf(bytes: Buffer, value: Members, { names, actionId, signer }: Erasing): string | undefined {
  if (!isAboutUser(value, names)) return undefined;
  const time = typeof value["time"] === "string" && TIME.test(value["time"]) ? value["time"] : "";
  const position = positionOf(bytes);
  // Written without `audit`: no checkpoint covers it.
  if (!position)
    return `{"level":"info","time":${JSON.stringify(time)},"service":"authorize","message":"erased record","forget":${JSON.stringify(actionId)}}`;
  const { instance, seq } = position;
  return formatErased(time, { actionId, instance, seq, leaf: leafHash(bytes) }, signer);
}
