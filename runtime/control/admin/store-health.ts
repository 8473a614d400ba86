/** Whether the store answers; asked at most once a second, however often somebody wants to know. */
import type { Store } from "../../store/store.ts";

const ASK_AGAIN_AFTER_MS = 1_000;
/** Below the time probes usually wait for us. */
const ANSWER_WITHIN_MS = 2_000;

/** @returns a function that never rejects and answers within two seconds */
export function storeHealth(store: Pick<Store, "get">): () => Promise<boolean> {
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let answer = Promise.resolve(false);
  return () => {
    if (performance.now() - askedAtMs >= ASK_AGAIN_AFTER_MS) {
      askedAtMs = performance.now();
      answer = ask(store);
    }
    return answer;
  };
}

async function ask(store: Pick<Store, "get">): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ANSWER_WITHIN_MS);
    timer.unref();
  });
  const answered = store.get("status:health").then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}
