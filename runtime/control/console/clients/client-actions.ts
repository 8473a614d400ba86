/** What is done about clients and machines: they are ended, by the functions that the commands have, each with a record. */
import { endServiceAccount, pageServiceAccounts } from "../../../identity/tokens/service-accounts.ts";
import { createRecords } from "../../../identity/identity-records.ts";
import { isClientIdUrl } from "../../../oauth/server/clients/client-document.ts";
import { endClient } from "../../../oauth/server/clients/pre-registered.ts";
import { clientKey, type ClientRecord } from "../../../oauth/server/grant-records.ts";
import { pageGrants } from "../../../oauth/server/list-access.ts";
import { confirmForm } from "../../../pages/console/pieces.ts";
import { digestOf } from "../../../shared/canonical-json.ts";
import { addressOfId, addressOfList, idOfPath } from "../addresses.ts";
import { GONE, neighbourOf, readReason } from "../ask-once-more.ts";
import type { ActionOutcome, ScreenAction, ScreenPage, Visit } from "../screen.ts";
import { strange } from "../strange.ts";
import type { ClientsDeps } from "./clients.ts";
import { MACHINES_PAGE } from "./list-machines.ts";

interface Ended {
  readonly title: string;
  readonly effect: string;
  /** What is there now, for the record; undefined: nothing. */
  find(
    deps: ClientsDeps,
    id: string,
  ): Promise<{ readonly target: string; readonly before: string; readonly of: string } | undefined>;
  /** @returns false: it was not there any more */
  end(deps: ClientsDeps, id: string): Promise<boolean>;
  /** Of the page that it is ended on. */
  readonly address: (id: string) => string;
  /** Where to go on. */
  next(deps: ClientsDeps, id: string): Promise<string>;
}

const ENDS: Readonly<Record<string, Ended>> = {
  "end-client": {
    title: "End the client",
    effect:
      "Its registration, and all that people have granted it, ends in every process within 2 seconds. One that registers itself may do so again: a block keeps it out.",
    async find({ store }, id) {
      const record = await store.get<ClientRecord>(clientKey(id));
      const { found } = await pageGrants(store, { clientId: id }, { limit: 1 });
      if (!record && found.length === 0) return undefined;
      const name = record?.value.metadata.client_name ?? found[0]?.clientName ?? "";
      const before = digestOf(record?.value ?? found[0]);
      return { target: `client ${id}`, before, of: `called ${JSON.stringify(name)}` };
    },
    // A document is no record of ours: what ends is what users granted it.
    end: async (deps, id) => (await endClient(deps, id)) || isClientIdUrl(id),
    address: (id) => addressOfId("clients/client", id),
    next: () => Promise.resolve(`${addressOfList("clients")}#main`),
  },
  "end-account": {
    title: "End the service account",
    effect: "Its token stops working in every process within 2 seconds.",
    async find({ store }, id) {
      const account = await createRecords(store).serviceAccounts.get(id);
      if (!account) return undefined;
      const { name, groups } = account.value;
      const of = `in groups ${JSON.stringify(groups)}`;
      return { target: `service account ${name}`, before: digestOf(account.value), of };
    },
    async end(deps, id) {
      await endServiceAccount(deps, id);
      return true;
    },
    address: () => addressOfList("clients/accounts"),
    async next({ store }, id) {
      const { found } = await pageServiceAccounts(store, { limit: MACHINES_PAGE });
      const ids = found.map(({ key }) => key.slice("service-account:".length));
      return besides("clients/accounts", neighbourOf(ids, id));
    },
  },
  "end-token": {
    title: "End the publish token",
    effect: "The run that has it can publish nothing more.",
    async find({ publishTokens }, id) {
      const token = await publishTokens.get(id);
      return (
        token && {
          target: `publish token ${id} of ${token.owner}`,
          before: "good",
          of: `good for owner ${token.owner}`,
        }
      );
    },
    end: ({ publishTokens }, id) => publishTokens.end(id, () => true),
    address: () => addressOfList("clients/tokens"),
    async next({ publishTokens }, id) {
      const { found } = await publishTokens.page({ limit: MACHINES_PAGE });
      return besides(
        "clients/tokens",
        neighbourOf(
          found.map((each) => each.id),
          id,
        ),
      );
    },
  },
};

const ACTIONS_OF: Readonly<Record<string, string>> = {
  accounts: "end-account",
  tokens: "end-token",
  client: "end-client",
};

function besides(list: string, neighbour: string | undefined): string {
  return `${addressOfList(list)}#${neighbour === undefined ? "main" : `end-${neighbour}`}`;
}

export function clientActions(deps: ClientsDeps): Readonly<Record<string, ScreenAction>> {
  const actions = Object.entries(ENDS).map(([what, ended]): readonly [string, ScreenAction] => [
    what,
    {
      role: "operator",
      isGrave: true,
      name: ended.title,
      run: (visit, form) => end(deps, ended, visit, form),
    },
  ]);
  return Object.fromEntries(actions);
}

async function end(
  deps: ClientsDeps,
  ended: Ended,
  { principal }: Visit,
  form: ReadonlyMap<string, string>,
): Promise<ActionOutcome> {
  const reason = readReason(form);
  if (!reason.ok) return reason;
  const id = form.get("of") ?? "";
  const found = id === "" ? undefined : await ended.find(deps, id);
  if (!found) return GONE;
  const to = await ended.next(deps, id);
  if (!(await ended.end(deps, id))) return GONE;
  const { target, before } = found;
  deps.recordAction({ action: "revoke", by: principal.user.id, target, before, after: null, reason: reason.value });
  return { told: `Done: ${ended.title.toLowerCase()}.`, to };
}

/** The page that asks once more. @returns undefined: there is nothing to end, or this person may not */
export async function confirmEnd(deps: ClientsDeps, visit: Visit): Promise<ScreenPage | undefined> {
  const [list = "", ...rest] = visit.path;
  const what = ACTIONS_OF[list];
  const ended = what === undefined ? undefined : ENDS[what];
  if (what === undefined || !ended || !visit.rights.may("operator")) return undefined;
  const id = (list === "client" ? idOfPath(rest) : visit.query.get("of")) ?? "";
  const found = id === "" ? undefined : await ended.find(deps, id);
  if (!found) return undefined;
  const address = ended.address(id);
  const body = confirmForm({
    action: address,
    name: what,
    csrfToken: visit.csrf(what),
    fields: [["of", id]],
    button: ended.title,
    text: `${ended.effect} It is done to ${strange(found.target, 500)}, ${strange(found.of, 500)}.`,
    asksReason: true,
    back: address,
  });
  return { title: ended.title, body };
}
