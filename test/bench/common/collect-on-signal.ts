/**
 * `node --import …/collect-on-signal.ts PROGRAM`: collects garbage when it gets SIGUSR2, so that what is measured then is not
 * what the collector has not come to yet.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  // "last-resort" gives back pages that have become empty, too.
  process.on("SIGUSR2", () => collect({ type: "major", flavor: "last-resort" }));
}
