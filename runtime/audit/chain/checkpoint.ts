/**
 * Checkpoints between the records of one run: a signed statement of the number of lines and the root of their tree, in
 * the form of transparency logs. Two lines are added: the time, and the digest of the list of leaves. That list has the
 * first 12 bytes of each leaf's hash since the previous checkpoint, including that one's line. It identifies a changed
 * line, even if another line is missing.
 *
 * A checkpoint is itself a line of its run: the next one covers it.
 *
 * @see https://c2sp.org/tlog-checkpoint
 */
import { hash } from "node:crypto";

import type { NoteSigner } from "./signed-note.ts";

export const AUDIT_KEY_NAME = "gateform/audit";

export interface Checkpoint {
  readonly instance: string;
  /** Number of lines that it covers, from the first. */
  readonly size: number;
  /** Base64. */
  readonly root: string;
  /** ISO 8601. */
  readonly time: string;
  /** Base64 of the SHA-256 of `leaves`. */
  readonly leavesDigest: string;
}

/** Base64url of 12 bytes. */
export const SHORT_LEAF_CHARACTERS = 16;

/** @param leaf its hash */
export function shortLeaf(leaf: string): string {
  return leaf.slice(0, SHORT_LEAF_CHARACTERS);
}

/** @param root of the tree, base64url */
export function rootText(root: string): string {
  return Buffer.from(root, "base64url").toString("base64");
}

export function digestOfLeaves(leaves: string): string {
  return hash("sha256", leaves, "base64");
}

/** @returns the note */
export function signCheckpoint({ instance, size, root, time, leavesDigest }: Checkpoint, signer: NoteSigner): string {
  return signer.sign(`${AUDIT_KEY_NAME}/${instance}\n${size}\n${root}\ntime ${time}\nleaves ${leavesDigest}\n`);
}

const TEXT =
  /^gateform\/audit\/([A-Za-z0-9._-]{1,200})\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\ntime (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\nleaves ([A-Za-z0-9+/]{43}=)\n$/;

/** @param text of the note, without signatures */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const found = TEXT.exec(text);
  if (!found) return undefined;
  const [, instance = "", size = "", root = "", time = "", leavesDigest = ""] = found;
  return { instance, size: Number(size), root, time, leavesDigest };
}

/** @returns the line, with its line end */
export function formatCheckpointLine({ instance, size, time }: Checkpoint, note: string, leaves: string): string {
  return (
    `{"level":"info","time":"${time}","service":"authorize","message":"audit checkpoint","note":${JSON.stringify(note)}` +
    `,"leaves":"${leaves}","instance":"${instance}","seq":${size}}\n`
  );
}
