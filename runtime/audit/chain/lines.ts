/**
 * Position of a line in an audit: `instance` (one run of one process) and `seq` are its last members. They are found
 * without reading the rest, after anything that users have written.
 */
import { randomBytes } from "node:crypto";

export interface LinePosition {
  readonly instance: string;
  readonly seq: number;
  /** True for records, false for checkpoints. */
  readonly hasSalt: boolean;
}

const TAIL = /,"instance":"([A-Za-z0-9._-]{1,200})","seq":(0|[1-9]\d{0,14})(,"salt":"[A-Za-z0-9_-]{22}")?\}$/;
/** Longest possible tail, in bytes. An earlier line's position cannot be mistaken for it, as a line has one end. */
const TAIL_BYTES = 300;

/** @param line without its line end @returns undefined when it belongs to no run */
export function positionOf(line: Buffer): LinePosition | undefined {
  const tail = line.subarray(-TAIL_BYTES).toString("latin1");
  const [, instance, seq, salt] = TAIL.exec(tail) ?? [];
  return instance === undefined ? undefined : { instance, seq: Number(seq), hasSalt: salt !== undefined };
}

const SALT_CHARACTERS = 22;
/** Each character has six random bits, so one text yields many salts. */
const POOL_BYTES = 33 << 7;
let salts = "";
let saltAt = 0;

/** 132 random bits for each record: if its text was erased, its hash alone does not allow guessing the text. */
export function nextSalt(): string {
  if (saltAt + SALT_CHARACTERS > salts.length) {
    salts = randomBytes(POOL_BYTES).toString("base64url");
    saltAt = 0;
  }
  saltAt += SALT_CHARACTERS;
  return salts.slice(saltAt - SALT_CHARACTERS, saltAt);
}
