/**
 * Stored data of agent runs, with keys and lifetimes.
 *
 * Promise: a run without its proof does not exist, so that write access to the store cannot approve or widen one.
 */
import { createHmac } from "node:crypto";

import type { ActorClaims } from "../../../features/sign-in/agent-runs.ts";
import { userTag } from "../../../identity/identity-records.ts";
import type { AssertedBy } from "../../../identity/principal.ts";
import { canonicalJson } from "../../../shared/canonical-json.ts";
import { hashSecret, type Keys, sameSecret } from "../../../shared/keys.ts";
import type { UserId } from "../../../shared/user-id.ts";
import { firstFormats } from "../../../store/formats.ts";

/** Time for a decision. */
export const PENDING_SECONDS = 3600;
/** Time for which a refusal is remembered: until then the workload cannot ask again. */
export const REFUSED_SECONDS = 3600;

/** The workload of a run, as its platform attested it with the request. */
export interface RunWorkload {
  readonly userId: UserId;
  /** Claims that identify the run, and those of the rule. */
  readonly claims: ActorClaims;
  /** With exactly one rule. */
  readonly assertedBy: AssertedBy;
}

export type RunState = "pending" | "active" | "refused";

/** Never changed after the request. */
export interface RequestedRun {
  /** Key of the pointer: hash of the workload's attested identity. */
  readonly pointer: string;
  readonly workload: RunWorkload;
  /** Untrusted text of the workload. */
  readonly purpose: string;
  /** Resources of MCP servers, sorted. */
  readonly servers: readonly string[];
  /** Sorted, with `mcp`. */
  readonly scope: string;
  /** Email address of the user who decides, in lower case. */
  readonly approver: string;
  /** Groups of which the approver must have one; absent: none is required. */
  readonly approverGroups?: readonly string[];
  /** Requested duration. */
  readonly seconds: number;
  /** Epoch seconds. */
  readonly requestedAt: number;
  readonly endsAt: number;
}

/** `run:<id>`: one run of a workload for a user. It exists until it expires or is ended. */
export interface RunRecord extends RequestedRun {
  readonly schema: 1;
  readonly state: RunState;
  /** The user who decided. An active run acts for this user only. */
  readonly userId?: UserId;
  /** Epoch seconds. After it, the user is confirmed by the provider before new tokens are issued. */
  readonly sessionExpiresAt?: number;
  /** MAC of the ID and the rest of the record. */
  readonly proof: string;
}

/** `run-of:<hash>`: the only pending or active run of a workload's attested identity. */
export interface RunPointer {
  readonly schema: 1;
  readonly id: string;
}

export const RUN_FORMATS = firstFormats(["run", "run-of"]);

export const runKey = (id: string): string => `run:${id}`;
export const pointerKey = (hash: string): string => `run-of:${hash}`;
export const isRunId = (text: string): boolean => /^[A-Za-z0-9_-]{22}$/.test(text);

/** Tag of all runs. */
export const RUNS_TAG = "runs";

/** Tag of runs that are pending a decision of the user with this email address. */
export const askedTag = (email: string): string => `run-approver:${hashSecret(email)}`;

/** Tag of runs that are pending a decision. */
const ASKED_TAG = "run-pending";

export function runTags({ state, userId, workload, approver }: Omit<RunRecord, "proof">): readonly string[] {
  return [
    RUNS_TAG,
    // Revoking the user, or the workload, ends the run.
    ...(state === "active" && userId !== undefined ? [userTag(userId)] : []),
    userTag(workload.userId),
    ...(state === "pending" ? [askedTag(approver), ASKED_TAG] : []),
  ];
}

/** Digest of everything that the page shows and the approver decides about. */
export function requestDigest(record: RequestedRun): string {
  return hashSecret(canonicalJson(requestOf(record)));
}

function requestOf(record: RequestedRun): RequestedRun {
  const { pointer, workload, purpose, servers, scope, approver, approverGroups, seconds, requestedAt, endsAt } = record;
  const groups = approverGroups === undefined ? {} : { approverGroups };
  return { pointer, workload, purpose, servers, scope, approver, ...groups, seconds, requestedAt, endsAt };
}

export function withProof(keys: Keys, id: string, record: Omit<RunRecord, "proof">): RunRecord {
  const [current] = proofs(keys, id, record);
  return { ...record, proof: current ?? "" };
}

export function isProven(keys: Keys, id: string, { proof, ...record }: RunRecord): boolean {
  return proof !== "" && proofs(keys, id, record).some((each) => sameSecret(proof, each));
}

function proofs(keys: Keys, id: string, record: Omit<RunRecord, "proof">): readonly string[] {
  const text = canonicalJson([id, record]);
  return keys.derive("agent-run").map((key) => createHmac("sha256", key).update(text).digest("base64url"));
}
