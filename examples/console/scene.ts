/** Who and what the acts of the story have in common. */
import type { ConnectedClient } from "../demo/mcp-client.ts";
import type { Steps } from "../demo/steps.ts";
import type { Stage } from "./stage.ts";
import type { Window } from "./window.ts";

export interface Scene {
  readonly steps: Steps;
  readonly stage: Stage;
  /** Operator, approver and auditor of everything. */
  readonly alice: Window;
  /** Sees what is of payments. */
  readonly bob: Window;
  /** Bob's agents, at the two servers. */
  readonly agents: { readonly payments: ConnectedClient; readonly tickets: ConnectedClient };
}

export function refusalOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "nothing was refused",
    (error: unknown) => String(error),
  );
}
