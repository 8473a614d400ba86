/** Dependencies of the simulator's pages. */
import type { KnownPeople } from "../../identity/users/known-people.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Drafts } from "../../simulation/drafts.ts";
import type { ConsoleRequest } from "../screen.ts";
import { CONSOLE_PATH } from "../console-requests.ts";
import type { InForceDeps } from "./ask-in-force.ts";

export interface SimulatorDeps extends InForceDeps {
  readonly drafts: Drafts;
  readonly people: KnownPeople;
  /** Absent: no records are stored. */
  readonly records?: Pick<RecordReader, "find"> | undefined;
  /** Origin of an owner's slice, in words. @throws GatewayError `store.unavailable` */
  readonly sliceOrigin: (owner: string) => Promise<string>;
}

export const SIMULATOR_PATH: string = `${CONSOLE_PATH}/simulator`;
export const DRAFTS_PATH: string = `${SIMULATOR_PATH}/drafts`;

/** Users belong to no owner: only roles for everything see them. */
export function mayNamePeople({ rights }: ConsoleRequest): boolean {
  return rights.owners === undefined;
}

/** @returns why not, in words */
export async function attempt<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) return errorText(error);
    throw error;
  }
}
