/** Drafts and past publications for the console: stored drafts, the thread, and cached answers. */
import { sha256 } from "../shared/canonical-json.ts";
import type { Closable, Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { createPreviousSliceStore } from "../bundle/previous-slice-store.ts";
import { createPublishedSlices } from "../bundle/published.ts";
import { publishedSources } from "../bundle/validation/validate-candidates.ts";
import { createDraftRecords, type DraftRecords } from "./draft-records.ts";
import { createDraftThread } from "./draft-thread.ts";
import type { Task, TaskAnswer } from "./protocol.ts";

export interface Drafts extends Closable {
  readonly records: DraftRecords;
  /** @throws GatewayError `draft.busy`, `draft.failed`, `store.unavailable` */
  ask(task: Task): Promise<TaskAnswer>;
  /**
   * Like `ask`, with recent answers from a cache, because comparing takes seconds and users reload.
   *
   * @param digest of the active bundle
   * @param made builds the task, with the users, which cannot be compared quickly
   */
  askAgain(key: Readonly<Record<string, unknown>>, digest: string, made: () => Promise<Task>): Promise<TaskAnswer>;
}

export interface DraftsDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** A configuration file, or a directory. */
  readonly path: string;
  readonly sealKeys: readonly Uint8Array[];
}

/** Lifetime of a cached answer: the users in the store change. */
const GOOD_MS = 120_000;
const MAX_ANSWERS = 32;

export function createDrafts({ store, clock, path, sealKeys }: DraftsDeps): Drafts {
  const published = createPublishedSlices({ store });
  const kept = createPreviousSliceStore({ store });
  const answers = new Map<string, { readonly answer: Promise<TaskAnswer>; readonly untilMs: number }>();
  const readPublished = async () => publishedSources((await published.read()).slices);
  const thread = createDraftThread({
    path,
    sealKeys,
    readBase: async () => ({ published: await readPublished(), kept: await kept.read() }),
  });
  const ask = (task: Task): Promise<TaskAnswer> => thread.ask(task);
  return {
    records: createDraftRecords({ store, clock }),
    ask,
    async askAgain(about, digest, made) {
      const key = sha256(JSON.stringify([about, digest, (await readPublished()).key]));
      const known = answers.get(key);
      if (known && known.untilMs > clock.now()) return known.answer;
      answers.delete(key);
      const answer = made().then(ask);
      answers.set(key, { answer, untilMs: clock.now() + GOOD_MS });
      answer.catch(() => answers.delete(key));
      for (const [oldest] of answers) if (answers.size > MAX_ANSWERS) answers.delete(oldest);
      return answer;
    },
    close: () => thread.close(),
  };
}
