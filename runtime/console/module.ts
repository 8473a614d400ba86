/** Puts the parts of the console together. */
import type { Snapshots } from "../config/snapshot.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { Identities, Revocations } from "../identity/interfaces.ts";
import type { UserSection } from "../identity/users/user-endpoints.ts";
import type { RecordReader } from "../record-store/record-reader.ts";
import type { Closable } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { consoleEndpoints, type ConsoleDeps } from "./console.ts";
import { rememberPolicies } from "./decisions/policies.ts";
import { createTails } from "./decisions/tails.ts";
import type { ConsoleRights, ConsoleRequest } from "./screen.ts";
import { createScreens, type ScreenDeps } from "./screens.ts";
import { createConsoleRequests } from "./console-requests.ts";

export interface Console extends Closable {
  readonly endpoints: readonly Endpoint[];
  readonly userSection: UserSection;
  /** Ends the streams that would never end by themselves. */
  drain(): void;
}

export interface ConsoleModuleDeps extends Omit<ConsoleDeps, "visits" | "screens"> {
  readonly snapshots: Pick<Snapshots, "current" | "subscribe">;
  readonly revocations: Pick<Revocations, "subscribe">;
  readonly blocks: Pick<Blocks, "subscribe">;
  readonly identities: Pick<Identities, "find">;
  /** Of saved views. */
  readonly store?: Pick<Store, "get" | "put">;
  /** Absent: no records are kept. */
  readonly reader: RecordReader | undefined;
  /** Beside the one for decisions. */
  readonly screens?: Omit<ScreenDeps, "decisions">;
}

export function createConsole(deps: ConsoleModuleDeps): Console {
  const { reader, snapshots } = deps;
  const visits = createConsoleRequests(deps);
  const policies = rememberPolicies(snapshots);
  const again = async ({ exchange }: ConsoleRequest): Promise<ConsoleRights | undefined> =>
    (await visits.admitAgain(exchange, snapshots.current()))?.rights;
  const tails = reader && createTails({ ...deps, reader, again, policies });
  const screens = createScreens({ ...deps.screens, decisions: { ...deps, reader, tails, policies, again } });
  return {
    endpoints: consoleEndpoints({ ...deps, visits, screens }),
    userSection: visits.userSection,
    drain: () => void tails?.close(),
    async close() {
      await tails?.close();
      await policies.close();
    },
  };
}
