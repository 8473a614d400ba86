/** Rewrites a file of records: what is about a user becomes a line that says that it was erased, and the rest stays as it is. */
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, rename, rm, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

import { isAboutUser, type UserNames } from "../../audit/about-user.ts";
import { formatErased } from "../../audit/chain/erased-record.ts";
import { positionOf } from "../../audit/chain/lines.ts";
import { leafHash } from "../../audit/chain/merkle-tree.ts";
import type { NoteSigner } from "../../audit/chain/signed-note.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";

/**
 * The file is replaced in one step, once the new one is whole.
 *
 * @param by the action by which they go
 * @returns how many lines went
 * @throws GatewayError `commands.records`
 */
export async function eraseLines(
  file: string,
  names: UserNames,
  by: { readonly actionId: string; readonly signer: NoteSigner },
): Promise<number> {
  const fresh = `${file}.forgetting`;
  let count = 0;
  async function* rewritten(lines: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const line of lines) {
      const erased = erasedOf(line, names, by);
      if (erased !== undefined) count += 1;
      yield `${erased ?? line}\n`;
    }
  }
  try {
    const { mode } = await stat(file);
    const isGzip = file.endsWith(".gz");
    const source = createReadStream(file);
    const plain = isGzip ? source.pipe(createGunzip()) : source;
    source.on("error", (error) => plain.destroy(error));
    const lines = createInterface({ input: plain.setEncoding("latin1"), crlfDelay: Number.POSITIVE_INFINITY });
    // By bytes: a line that is no text must stay what it is.
    const target = createWriteStream(fresh, { mode: mode & 0o777, encoding: "latin1" });
    const bytes = async function* (): AsyncGenerator<Buffer> {
      for await (const line of rewritten(lines)) yield Buffer.from(line, "latin1");
    };
    await (isGzip ? pipeline(bytes, createGzip(), target) : pipeline(bytes, target));
    await chmod(fresh, mode & 0o777);
    if (count > 0) await rename(fresh, file);
    else await rm(fresh);
    return count;
  } catch (error) {
    await rm(fresh, { force: true });
    throw new GatewayError("commands.records", `Cannot rewrite "${file}": ${errorText(error)}`, { cause: error });
  }
}

/** @param line its bytes, as characters @returns undefined: it stays */
function erasedOf(
  line: string,
  names: UserNames,
  { actionId, signer }: { readonly actionId: string; readonly signer: NoteSigner },
): string | undefined {
  const bytes = Buffer.from(line, "latin1");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isRecord(value) || !isAboutUser(value, names)) return undefined;
  const time = typeof value["time"] === "string" ? value["time"] : "";
  const position = positionOf(bytes);
  // Written without `audit`: nothing counts on it.
  if (!position)
    return `{"level":"info","time":${JSON.stringify(time)},"service":"authorize","message":"erased record","forget":${JSON.stringify(actionId)}}`;
  const { instance, seq } = position;
  return formatErased(time, { actionId, instance, seq, leaf: leafHash(bytes) }, signer);
}
