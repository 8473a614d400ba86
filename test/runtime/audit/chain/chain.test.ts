/** The tree and the notes against what others publish. */
import { createHash } from "node:crypto";

import { expect, test } from "vitest";

import { FIRST_PLACE } from "../../../../runtime/audit/chain/chain.ts";
import { AUDIT_KEY_NAME } from "../../../../runtime/audit/chain/checkpoint.ts";
import { forgetOf, formatErased } from "../../../../runtime/audit/chain/erased-record.ts";
import { createMerkleTree, leafHash } from "../../../../runtime/audit/chain/merkle-tree.ts";
import { createNoteSigner, openNote, parseVerifierKey } from "../../../../runtime/audit/chain/signed-note.ts";

import { beginRun } from "../../../support/audit-run.ts";

/** RFC 6962 §2.1, as it is written there. */
function rootOf(leaves: readonly string[]): Buffer {
  const sha = (...parts: readonly (string | Buffer)[]): Buffer => {
    const digest = createHash("sha256");
    for (const part of parts) digest.update(part);
    return digest.digest();
  };
  const [only] = leaves;
  if (only === undefined) return sha("");
  if (leaves.length === 1) return sha(Buffer.of(0), only);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha(Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

test("createMerkleTree() has the root of RFC 6962 at every size", () => {
  const tree = createMerkleTree();
  const leaves: string[] = [];
  for (let size = 0; size <= 70; size += 1) {
    expect(tree.size).toBe(size);
    expect(tree.root()).toBe(rootOf(leaves).toString("base64url"));
    // Long ones and other than ASCII.
    const leaf = `${"é".repeat(size * 400)}${size}`;
    leaves.push(leaf);
    tree.append(leafHash(size % 2 === 0 ? leaf : Buffer.from(leaf)));
  }
});

test("parseVerifierKey() reads the published key of the Go checksum database, and no other form of it", () => {
  const key = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
  expect(parseVerifierKey(key)).toMatchObject({ name: "sum.golang.org", keyId: "033de0ae" });
  expect(parseVerifierKey(key.replace("033de0ae", "033de0af"))).toBeUndefined();
  expect(parseVerifierKey(key.replace("sum", "sun"))).toBeUndefined();
  expect(parseVerifierKey("")).toBeUndefined();
});

test("startChain() puts a record after the first line of the run and its checkpoint", () => {
  const run = beginRun("gateway.1.a");
  run.records.write('{"level":"info"}\n');
  expect(run.lines.map((line) => (JSON.parse(line) as { readonly seq: number }).seq).slice(0, 3)).toEqual([0, 1, 2]);
  expect(run.lines[FIRST_PLACE]).toContain('{"level":"info"');
});

test("forgetOf() recognizes a signed erasure, but not one whose action is not a text", () => {
  const signer = createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 1));
  const verifier = parseVerifierKey(signer.verifierKey);
  const at = { instance: "gateway.1.a", seq: 2, leaf: "abc" };
  const line = formatErased("2026-01-01T00:00:00.000Z", { ...at, actionId: "5" }, signer);
  const opened = [line, line.replace('"forget":"5"', '"forget":5')].map((each) =>
    forgetOf(each, at, verifier ? [verifier] : []),
  );
  expect(opened).toEqual(["5", undefined]);
});

test("openNote() opens a note signed by a known key, and rejects an invalid signature of one, despite other signatures", () => {
  const [ours, others] = [createNoteSigner("a", Buffer.alloc(32, 1)), createNoteSigner("b", Buffer.alloc(32, 2))];
  const verifiers = [ours].map(({ verifierKey }) => {
    const verifier = parseVerifierKey(verifierKey);
    if (!verifier) throw new Error("no key");
    return verifier;
  });
  const text = "x\n\ny\n";
  const note = ours.sign(text);
  expect(openNote(note, verifiers)).toEqual({ kind: "signed", text });
  expect(openNote(others.sign(text), verifiers)).toEqual({ kind: "unknown-key", text });
  const [, foreign = ""] = others.sign(text).split("\n\ny\n\n");
  expect(openNote(note + foreign, verifiers)).toEqual({ kind: "signed", text });
  expect(openNote(note.replace("x", "z"), verifiers)).toEqual({ kind: "bad" });
  expect(openNote(note.replace("x", "z") + foreign, verifiers)).toEqual({ kind: "bad" });
  expect(openNote(text, verifiers)).toEqual({ kind: "bad" });
  // No text, no empty line behind it.
  expect(openNote(ours.sign(""), verifiers)).toEqual({ kind: "bad" });
});
