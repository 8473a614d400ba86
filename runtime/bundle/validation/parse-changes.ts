/**
 * Parses several owners' slices to publish in one step (`POST /config/slices`), in the validation thread as for a
 * single slice. For publishers with many slices, such as the controller of Kubernetes Ingresses: a route that moves
 * between owners is never missing and never duplicated.
 *
 * Untrusted input: the body. Each change states its expectation, as `If-Match` does for one slice.
 */
import { isRecord } from "../../shared/is-record.ts";
import { isOwner } from "../../features/process/owners.ts";
import { formatPath, quote } from "../../settings/problem.ts";
import { canonicalJson, sha256 } from "../../shared/canonical-json.ts";
import { readSource } from "../../settings/source.ts";
import type { Expected, SliceChange } from "../publication.ts";
import type { ParsedChanges } from "./protocol.ts";

const EXPECTED =
  'must be {"changes": [{"owner": NAME, "slice": SLICE or null, "expected": DIGEST, null for none, or "*"}, …]}';

/** @param text JSON */
export function parseChanges(text: string): ParsedChanges {
  const { value, problems } = readSource("changes", text);
  const [problem] = problems;
  if (problem) {
    const at = problem.path.length === 0 ? "" : `at ${formatPath(problem.path)} `;
    return { ok: false, message: `the body ${at}${problem.message}` };
  }
  const items = isRecord(value) && Object.keys(value).length === 1 ? value["changes"] : undefined;
  if (!Array.isArray(items)) return { ok: false, message: `the body ${EXPECTED}` };
  const changes: SliceChange[] = [];
  for (const [index, item] of items.entries()) {
    const change = readChange(item);
    if (typeof change === "string") return { ok: false, message: `changes[${index}] ${change}` };
    if (changes.some(({ owner }) => owner === change.owner)) {
      return { ok: false, message: `changes[${index}] is of owner ${quote(change.owner)}, who has another change` };
    }
    changes.push(change);
  }
  return { ok: true, changes };
}

/** @returns the problem, if a text */
function readChange(item: unknown): SliceChange | string {
  if (!isRecord(item)) return EXPECTED;
  const { owner, slice, expected: written, ...rest } = item;
  if (Object.keys(rest).length > 0 || slice === undefined || written === undefined) return EXPECTED;
  if (typeof owner !== "string" || !isOwner(owner)) return `has ${quote(owner)}, which is not a valid owner name`;
  const expected = readExpected(written);
  if (expected === undefined) return `has ${quote(written)} as "expected", must be a digest, null or "*"`;
  if (slice === null) return { owner, slice, expected };
  if (!isRecord(slice)) return "has no slice, must be one or null";
  if (slice["owner"] !== owner) {
    return `has a slice of owner ${JSON.stringify(slice["owner"])}, must be of ${quote(owner)}`;
  }
  const text = canonicalJson(slice);
  return { owner, slice: { text: `${text}\n`, digest: sha256(text) }, expected };
}

function readExpected(value: unknown): Expected | undefined {
  if (value === null) return { kind: "none" };
  if (value === "*") return { kind: "some" };
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value) ? { kind: "digest", digest: value } : undefined;
}
