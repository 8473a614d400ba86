/** The question of a recorded decision, found by its request ID. */
import type { SimulatorFields } from "../../pages/console/policy/simulator.ts";
import type { KeptRecord, RecordReader } from "../../record-store/record-reader.ts";
import { isRecord } from "../../shared/is-record.ts";
import { digestedArguments } from "../decisions/trace.ts";
import { mayRead, ownerOf, textOf } from "../decisions/show-record.ts";
import type { ConsoleRequest } from "../screen.ts";

/** @returns undefined: there is none that this user can see @throws GatewayError `records.unavailable` */
export async function loadDecision(
  records: Pick<RecordReader, "find">,
  { rights }: ConsoleRequest,
  request: string,
): Promise<Partial<SimulatorFields> | undefined> {
  const query = { kind: "decision", request, order: "newest", limit: 1 } as const;
  const { records: found } = await records.find(rights.owners ? { ...query, owners: rights.owners } : query);
  const [record] = found;
  if (!record || !mayRead(rights, record)) return undefined;
  const seesArguments = rights.may("auditor", ownerOf(record));
  return { ...questionOf(record, rights.owners === undefined), ...(seesArguments && argumentsOf(record)) };
}

/** @param seesUsers existing users can be chosen */
export function questionOf(record: KeptRecord, seesUsers: boolean): Partial<SimulatorFields> {
  const { userId, email = "", route = "", tool } = record;
  const method = textOf(record, "mcp-method");
  const message = tool !== undefined ? "tool" : method !== undefined && method !== "" ? "method" : "http";
  return {
    route,
    ...(userId === undefined
      ? { who: "anonymous" }
      : seesUsers
        ? { who: "known", person: userId }
        : { who: "imagined", user: userId, email }),
    actor: textOf(record, "actor") ?? "",
    message,
    method: (message === "method" ? method : message === "http" ? textOf(record, "method") : "") ?? "",
    path: (message === "http" ? textOf(record, "path") : "") ?? "",
    name: tool ?? "",
    ip: textOf(record, "ip") ?? "",
  };
}

/** Only where all of them are recorded in clear. */
export function argumentsOf({ value }: KeptRecord): Partial<SimulatorFields> {
  const given = value["mcp-tool-parameters"];
  return isRecord(given) && digestedArguments(value).size === 0 ? { arguments: JSON.stringify(given) } : {};
}
