/** Clients that decisions name, registered here or not: when each was used last, and how old its oldest grant is. */
import { clientKey, type ClientRecord } from "../../oauth/server/grant-records.ts";
import { pageGrants } from "../../oauth/server/list-access.ts";
import { fullTable } from "../../pages/console/columns.ts";
import { consoleTime, sourceFailed } from "../../pages/console/pieces.ts";
import { html, type Html } from "../../pages/html.ts";
import type { KeptRecord, RecordReader } from "../../record-store/record-reader.ts";
import { within } from "../../shared/clock.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { vouchedBy } from "../people/person-view.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { ClientsDeps } from "./deps.ts";

const PAGE = 200;
const MAX_PAGES = 3;
const MOST_SHOWN = 20;
const COUNTED_GRANTS = 20;
const WITHIN_MS = 1_500;

/** @param search "": clients of the newest decisions; otherwise the client with this ID */
export async function seenClients(deps: ClientsDeps, search: string): Promise<Html | undefined> {
  const { records } = deps;
  if (!records) return undefined;
  const failed = html`<h2>Recently used</h2>
    ${sourceFailed("The record store")}`;
  return within<Html | undefined>(
    WITHIN_MS,
    tableOf(deps, records, search).catch(() => failed),
    () => failed,
  );
}

async function tableOf(
  { store }: ClientsDeps,
  records: Pick<RecordReader, "find">,
  search: string,
): Promise<Html | undefined> {
  const decisions = await newestDecisions(records, search);
  const byClient = Map.groupBy(decisions, ({ clientId }) => clientId);
  byClient.delete(undefined);
  if (byClient.size === 0) return undefined;
  const rows = [...byClient].slice(0, MOST_SHOWN).map(async ([clientId = "", [last]]) => {
    const grants = isTagText(clientId) ? (await pageGrants(store, { clientId }, { limit: COUNTED_GRANTS })).found : [];
    const oldest = Math.min(...grants.map(({ createdAt }) => createdAt));
    const user = last?.email || last?.userId;
    return [
      html`<a href="${addressOfList("decisions", { client: clientId })}">${showUntrusted(clientId)}</a
        >${await nameText(store, clientId)}`,
      last && consoleTime(last.timeMs, "minute"),
      user !== undefined && last?.userId !== undefined
        ? html`<a href="${addressOfId("people", last.userId)}">${showUntrusted(user)}</a>`
        : "",
      grants.length === 0 ? "" : consoleTime(oldest * 1000, "minute"),
    ];
  });
  return html`<h2>Recently used</h2>
    ${fullTable({
      id: "seen-clients",
      caption: `Clients of the newest ${decisions.length === 1 ? "decision" : `${decisions.length} decisions`}, registered here or not`,
      columns: [
        { name: "Client", isHead: true },
        { name: "Last used", kind: "short" },
        { name: "Last user" },
        { name: "Oldest valid grant", kind: "short" },
      ],
      rows: await Promise.all(rows),
      empty: html``,
    })}`;
}

/** Name of a client that is registered here. Of others the ID is a URL, which tells more than a name. */
async function nameText(store: ClientsDeps["store"], clientId: string): Promise<Html | undefined> {
  const record = isTagText(clientId) ? await store.get<ClientRecord>(clientKey(clientId)) : undefined;
  const name = record?.value.metadata.client_name ?? "";
  if (!record || name === "") return undefined;
  const by = vouchedBy(clientId, new Map([[clientId, record.value]]));
  return html`<br /><span class="dim"
      >${showUntrusted(name)} (${by === undefined ? "unverified" : `verified by ${by}`})</span
    >`;
}

async function newestDecisions(records: Pick<RecordReader, "find">, search: string): Promise<readonly KeptRecord[]> {
  const query = { kind: "decision", order: "newest", limit: PAGE, ...(search !== "" && { client: search }) } as const;
  const found: KeptRecord[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < (search === "" ? MAX_PAGES : 1); page += 1) {
    const answer = await records.find({ ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...answer.records);
    cursor = answer.next;
    if (cursor === undefined) break;
  }
  return found;
}

/** Text that can be in the name of a tag. */
export function isTagText(id: string): boolean {
  return id.isWellFormed() && !id.includes("\0") && Buffer.byteLength(id) <= 1000;
}
