/** Agent runs for pages and commands that show and end them. */
import { userTag } from "../../../identity/identity-records.ts";
import { pageOf, type PageOf, type PageRequest } from "../../../store/page-of.ts";
import type { Store, StoredRecord } from "../../../store/store.ts";
import { isRunId, runKey, type RunRecord, RUNS_TAG } from "./run-records.ts";

export { endRun } from "./runs.ts";

/** A run without its proof. */
export interface StoredRun {
  readonly id: string;
  readonly value: Omit<RunRecord, "proof" | "pointer">;
}

/** @param userId only runs that act for this user, or of this workload; undefined: all */
export function pageRuns(
  store: Pick<Store, "page">,
  userId: string | undefined,
  page: PageRequest,
): Promise<PageOf<StoredRun>> {
  const tag = userId === undefined ? RUNS_TAG : userTag(userId);
  return pageOf(store, { prefix: runKey(""), tag }, page, toStored);
}

export async function findStoredRun(store: Pick<Store, "get">, id: string): Promise<StoredRun | undefined> {
  const record = isRunId(id) ? await store.get<RunRecord>(runKey(id)) : undefined;
  return record && toStored(record);
}

function toStored({ key, value }: StoredRecord<RunRecord>): StoredRun {
  const { proof: _proof, pointer: _pointer, ...rest } = value;
  return { id: key.slice(runKey("").length), value: rest };
}
