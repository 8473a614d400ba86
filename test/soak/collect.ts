/** What checks are given beside the history: the records that were written, and the calls that reached an upstream. */
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";

import type { Evidence } from "./checks/checks.ts";
import type { Recorded } from "./checks/evidence.ts";
import { tagOf } from "./checks/records.ts";
import type { History } from "./history/history.ts";
import type { SoakWorld } from "./world/world.ts";

const AT_ONCE = 1 << 20;

/** To be called when the replicas have ended: their records are complete then. */
export function collectEvidence(world: SoakWorld, { operations, faults }: History, slackMs = 0): Evidence {
  return {
    operations,
    faults,
    hasOneClock: world.store === "postgres",
    slackMs,
    sessionSeconds: world.lifetimes.sessionSeconds,
    records: world.replicas.flatMap(({ name, recordsFile }) => recordsOf(name, recordsFile)),
    calls: world.upstreams.mcp.reached
      .filter(({ tool }) => tool === "delete_item")
      .map((reached) => ({
        tool: "delete_item",
        key: String((reached.arguments as { readonly tag?: unknown } | undefined)?.tag),
      })),
  };
}

function recordsOf(replica: string, file: string): readonly Recorded[] {
  return [...linesOf(file)].flatMap((line) => {
    const tag = tagOf(line);
    return tag === undefined ? [] : [{ replica, tag }];
  });
}

function* linesOf(file: string): Generator<string> {
  if (!existsSync(file)) return;
  const descriptor = openSync(file, "r");
  const bytes = Buffer.alloc(AT_ONCE);
  const decoder = new StringDecoder("utf8");
  let rest = "";
  try {
    for (let size = readSync(descriptor, bytes); size > 0; size = readSync(descriptor, bytes)) {
      const lines = (rest + decoder.write(bytes.subarray(0, size))).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    if (rest !== "") yield rest;
  } finally {
    closeSync(descriptor);
  }
}
