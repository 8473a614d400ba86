/**
 * Publishing targets of a bundle. A target holds one owner's slice and checks its content: a caller that replaces or removes
 * a slice states the expected content.
 *
 * The file target promises complete files: a reader sees the old slice or the new one, also when this process or the host
 * dies in between. Slices of other owners are never touched. Of several writers that expect the same content one succeeds,
 * and the others get a conflict.
 */
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";

import { CLAIM } from "../../features/process/owners.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { readSource } from "../../settings/source.ts";
import { attempting, errorText, GatewayError } from "../../shared/errors.ts";
import { withFileLock } from "./file-lock.ts";
import { removeFile, replaceFile } from "./replace-file.ts";

export interface PublishedDocument {
  readonly kind: "slice";
  /** The published document, unchecked. */
  readonly document: Record<string, unknown>;
  /** Digest of its canonical JSON. */
  readonly digest: string;
  /** Not every process of the gateway serves it yet. */
  readonly behind?: boolean;
  /** Claim of the resource instance that published it; absent: without one. */
  readonly claim?: string | undefined;
}

/** A slice's text with its digest: finding it again avoids parsing. */
export interface KnownText {
  readonly text: string;
  readonly digest: string;
}

export type Published =
  | { readonly kind: "absent" }
  | PublishedDocument
  /** A file that is not a slice. */
  | { readonly kind: "unreadable"; readonly reason: string };

/** A problem that a gateway reports for a slice. */
export interface ResponseProblem {
  /** `routes["app"].from`; "" for the whole slice. */
  readonly path: string;
  readonly message: string;
}

export interface PublishTarget {
  /** For messages. */
  readonly place: string;
  /** Equal for two targets that are one location under two names; undefined when there is no slice. */
  identity(): Promise<string | undefined>;
  /** @throws GatewayError `publish.read` */
  read(known?: KnownText): Promise<Published>;
  /**
   * Asks the gateway for the result of publishing the text, and changes nothing. Only with a gateway.
   *
   * @throws GatewayError `publish.refused`; other errors mean that there is no result
   */
  validate?(text: string): Promise<void>;
  /**
   * Replaces the slice in one step.
   *
   * @param expected digest that the caller last saw; null for no slice
   * @param claim of the resource instance that publishes; default: none
   * @throws GatewayError `publish.conflict`, `publish.foreign`, `publish.write`, `publish.refused`; after `publish.not-live`
   * it is published
   * @returns warnings of the gateway, bounded and printable
   */
  write(text: string, expected: string | null, claim?: string): Promise<readonly ResponseProblem[]>;
  /**
   * Removes the owner's slice, if there is one.
   *
   * @param expected digest that the caller last saw; "" when it was damaged
   * @param claim see `write`
   * @throws GatewayError `publish.conflict`, `publish.foreign`, `publish.write`
   * @returns false: another resource instance has published it since, and it stays
   */
  remove(expected: string, claim?: string): Promise<boolean>;
}

export interface FileTargetOptions {
  readonly directory: string;
  readonly owner: string;
  /** Permission bits; 0o644 when absent. */
  readonly mode: number | undefined;
}

const DEFAULT_MODE = 0o644;

export function createFileTarget({ directory, owner, mode = DEFAULT_MODE }: FileTargetOptions): PublishTarget {
  const path = resolve(directory, `${owner}.json`);
  // A separate file, so that equal slices of two resources have equal bytes.
  const claimPath = `${path}.claim`;

  async function read(known?: KnownText): Promise<Published> {
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      if (isMissing(error)) return { kind: "absent" };
      throw new GatewayError("publish.read", `Cannot read "${path}": ${errorText(error)}`, { cause: error });
    }
    const published = readSliceText(text, known);
    return published.kind === "slice" ? { ...published, claim: await readClaim() } : published;
  }

  async function readClaim(): Promise<string | undefined> {
    try {
      return readClaimText(await readFile(claimPath, "utf8"));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw new GatewayError("publish.read", `Cannot read "${claimPath}": ${errorText(error)}`, { cause: error });
    }
  }

  function refuseForeign(published: Published): void {
    if (published.kind !== "slice" || published.document["owner"] === owner) return;
    throw new GatewayError(
      "publish.foreign",
      `Cannot touch "${path}": it holds the slice of owner ${JSON.stringify(published.document["owner"])}, not of "${owner}"`,
    );
  }

  /** Runs under the lock, so that no other process changes the file between check and write. */
  async function locked<T>(verb: string, work: () => Promise<T>): Promise<T> {
    try {
      return await withFileLock(path, work);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      throw new GatewayError("publish.write", `Cannot ${verb} "${path}": ${errorText(error)}`, { cause: error });
    }
  }

  return {
    place: path,
    read,
    async identity() {
      const info = await stat(path, { bigint: true }).catch(() => undefined);
      return info && `${info.dev}:${info.ino}`;
    },
    async write(text, expected, claim = "") {
      if (!isPublishable(owner))
        throw new GatewayError("publish.foreign", `Cannot publish to "${path}": ${RESERVED_OWNER}`);
      await attempting("publish.write", `Cannot publish to "${path}"`, () => mkdir(directory, { recursive: true }));
      await locked("publish to", async () => {
        const published = await read();
        refuseForeign(published);
        refuseStale(published, { path, owner, expected, next: text });
        // First: a process killed between the two has taken the slice over without changing it.
        if (claim === "") await rm(claimPath, { force: true });
        else await replaceFile(claimPath, `${claim}\n`, mode);
        await replaceFile(path, text, mode);
      });
      return [];
    },
    async remove(expected, claim) {
      if ((await read()).kind === "absent") return true;
      return locked("remove", async () => {
        const published = await read();
        if (published.kind === "absent") return true;
        refuseForeign(published);
        if (published.kind === "slice" && published.claim !== undefined && published.claim !== claim) return false;
        if (published.kind === "slice" && expected !== "" && published.digest !== expected)
          throw new GatewayError(
            "publish.conflict",
            `Cannot remove "${path}": it was changed outside Terraform after this plan was made; make a new plan and review it`,
          );
        await removeFile(path);
        await rm(claimPath, { force: true });
        return true;
      });
    },
  };
}

/** @returns undefined for a text that is not a claim */
export function readClaimText(text: string | undefined): string | undefined {
  const claim = text?.trimEnd() ?? "";
  return CLAIM.test(claim) ? claim : undefined;
}

/** Problem of the reserved owner "gateway". */
export const RESERVED_OWNER =
  'a gateway uses a file of that name as its main configuration file, choose another owner than "gateway"';

/** A gateway reads `gateway.json` of its directory as its main configuration file: keys, listeners, owners' permissions. */
export function isPublishable(owner: string): boolean {
  return owner.toLowerCase() !== "gateway";
}

/** Parses the slice like the gateway, or returns the reason why it cannot be parsed. */
export function readSliceText(text: string, known?: KnownText): Published {
  if (text === known?.text) {
    const { digest } = known;
    return { kind: "slice", digest, document: JSON.parse(text) as Record<string, unknown> };
  }
  const { value, problems } = readSource("slice", text);
  const [problem] = problems;
  if (problem) {
    const line = problem.line === undefined ? "" : ` in line ${problem.line}`;
    return { kind: "unreadable", reason: `it${line} ${problem.message}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { kind: "unreadable", reason: "it is not a slice" };
  }
  return { kind: "slice", document: value as Record<string, unknown>, digest: digestOf(value) };
}

/** @throws GatewayError `publish.conflict` when another writer changed it since the caller last read it */
function refuseStale(
  published: Published,
  { path, owner, expected, next }: { path: string; owner: string; expected: string | null; next: string },
): void {
  if (published.kind === "unreadable") {
    // In place of a slice of ours, this is the damage that the plan repairs. Otherwise the file may be anyone's.
    if (expected !== null) return;
    throw new GatewayError(
      "publish.conflict",
      `Cannot create "${path}": a file is there and ${published.reason}; remove it first`,
    );
  }
  const found = published.kind === "slice" ? published.digest : null;
  if (found === expected) return;
  // A previous apply died after publishing and before its state was saved: the same content is there already.
  const planned = readSliceText(next);
  if (planned.kind === "slice" && found === planned.digest) return;
  if (expected === null) {
    throw new GatewayError(
      "publish.conflict",
      `Cannot create "${path}": a slice of owner "${owner}" is there already; take it over with: terraform import <address> ${path}`,
    );
  }
  // The slice was removed by another writer: putting it back overwrites nothing.
  if (found === null) return;
  throw new GatewayError(
    "publish.conflict",
    `Cannot replace "${path}": it was changed outside Terraform after this plan was made; make a new plan and review it`,
  );
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
}
