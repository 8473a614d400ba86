/** Passes the configuration's declarations for tool arguments to the thread that makes copies of records. */
import type { RecordsOfThread } from "../audit/record-writer.ts";
import type { Snapshots } from "../config/snapshot.ts";
import { recordArgumentsOf } from "../features/mcp/record-arguments.ts";
import type { Closable } from "../shared/clock.ts";

export function followArguments(
  snapshots: Pick<Snapshots, "current" | "subscribe">,
  thread: Pick<RecordsOfThread, "declareArguments">,
): Closable {
  const sendDeclared = (): void => {
    const declared = snapshots.current().routes.flatMap((route) => {
      const of = recordArgumentsOf(route);
      return of === undefined ? [] : [[route.key, of] as const];
    });
    thread.declareArguments(new Map(declared));
  };
  sendDeclared();
  const unsubscribe = snapshots.subscribe(sendDeclared);
  return { close: () => Promise.resolve(unsubscribe()) };
}
