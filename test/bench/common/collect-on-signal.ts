/**
 * `node --import=COLLECT_ON_SIGNAL PROGRAM`: the process collects garbage when it gets SIGUSR2, so that what is measured then is
 * not what the collector has not come to yet. JavaScript: Node's support of TypeScript would be part of the memory.
 */
const SOURCE = `
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";
if (isMainThread) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  // "last-resort" also gives back pages that have become empty.
  process.on("SIGUSR2", () => collect({ type: "major", flavor: "last-resort" }));
}`;

export const COLLECT_ON_SIGNAL = `data:text/javascript,${encodeURIComponent(SOURCE)}`;
