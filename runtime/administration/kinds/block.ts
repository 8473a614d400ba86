/** Blocks by administrators, created and lifted by the rules of `blocking.ts`. */
import { blockTarget, readReason, readTarget, readUntil, textOf, unblockTarget } from "../blocking.ts";
import { blockId, readBlock, readBlocks } from "../../identity/block-records.ts";
import { consoleTime, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { BLOCK_KINDS, type Block, type BlockTarget } from "../../policy/blocks.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { ownerOfRoute } from "../../shared/route-key.ts";
import { isNamedByEmail } from "../../shared/user-id.ts";
import { textField, timeField, type KindDeps, type OwnScreen, type ShownKind, timeColumn } from "../kind.ts";

type Deps = Pick<KindDeps, "store" | "clock">;

const CREATE_INPUTS = [
  { name: "kind", label: "Type", values: BLOCK_KINDS, isRequired: true },
  { name: "name", label: "Name: user ID or email, client ID, grant ID, run ID, route key, or tool", isRequired: true },
  { name: "route", label: "Route, owner/name (tool blocks only)" },
  {
    name: "until",
    label: "Expires: 2h or 2026-11-20T18:00:00Z; empty: never",
  },
] as const;

export const BLOCK: ShownKind<Block, Deps> & { readonly screen: OwnScreen } = {
  name: "block",
  plural: "blocks",
  command: "blocks",
  doc: "Active blocks. A block denies all matching requests, whatever policies say",
  none: "no blocks",
  wrong: "commands.block",
  needsReason: "Cannot create block: a reason must be given",
  fields: [
    textField("kind", "What kind of thing is blocked", ({ kind }) => kind, BLOCK_KINDS),
    textField(
      "name",
      "User ID or email address, client ID, grant ID, run ID, route key or tool name",
      ({ name }) => name,
    ),
    textField("route", "Key of the only route on which a tool is blocked", ({ route }) => route ?? ""),
    timeField("until", "End of the block", ({ until }) => until ?? ""),
    textField("reason", "The administrator's reason", ({ reason }) => reason),
    timeField("since", "Start of the block", ({ since }) => since),
    textField("by", "The administrator", ({ by }) => by),
    textField("email", "Email address of a blocked user", ({ kind, name }, emails) =>
      kind === "user" ? (isNamedByEmail(name) ? name : (emails.get(name) ?? "")) : "",
    ),
  ],
  filters: ["kind"],
  table: {
    id: "blocks",
    caption: (rows, isCut) => `Blocks, newest first (${rows}${isCut ? " of more" : ""})`,
    columns: [
      { name: "What", cell: ({ kind }) => kind },
      {
        name: "Name",
        isHead: true,
        cell({ kind, name, email = "" }, { emails }) {
          const address = kind === "user" && !isNamedByEmail(name) ? foreignText(emails.get(name) || email) : "";
          return html`<bdi>${foreignText(name)}</bdi
            >${address !== "" && html` <span class="dim"><bdi>${address}</bdi></span>`}`;
        },
      },
      {
        name: "Route",
        cell: ({ kind, route }) =>
          route === undefined ? (kind === "tool" ? "every route" : "") : html`<bdi>${foreignText(route)}</bdi>`,
      },
      timeColumn("Since", ({ since }) => since),
      {
        name: "Expires",
        kind: "short",
        cell: ({ until }) => (until === undefined ? "no expiry" : consoleTime(until * 1000, "minute")),
      },
      { name: "Reason", kind: "wide", cell: ({ reason }) => html`<bdi>${foreignText(reason, 500)}</bdi>` },
      { name: "By", cell: ({ by }) => html`<bdi>${foreignText(by)}</bdi>` },
      {
        name: "Unblock",
        isQuiet: true,
        cell: (block, { link }) =>
          link("unblock", block, "Unblock", `the block of ${block.kind} ${foreignText(block.name)}`),
      },
    ],
    empty: emptyState("No blocks", "A block denies all matching requests until it expires or is removed."),
  },
  screen: {
    name: "Blocks",
    group: "Policy",
    icon: "blocks",
    filter: { kind: ["Type", "All"], search: "Search name, route, reason" },
    emptyFiltered: emptyState("No matching blocks", "Clear the filter to see all blocks."),
    more: "There are more blocks. Use the filter.",
  },
  idOf: blockId,
  userOf: ({ kind, name }) => (kind === "user" && !isNamedByEmail(name) ? name : undefined),
  ownerOf,
  byForm: {
    fieldsOf: ({ kind, name, route }) => [
      ["kind", kind],
      ["name", name],
      ...(route === undefined ? [] : [["route", route] as const]),
    ],
    named(read) {
      const target = targetOf(read);
      const gone = `Nothing was done: ${foreignText(textOf(target))} is no longer blocked.`;
      return { id: blockId(target), owner: ownerOf(target), gone };
    },
  },
  texts: ({ name, email, route, reason }) => [name, email, route, reason],
  isPlace: (after) => /^[0-9]{1,12}\.[A-Za-z0-9_-]{43}$/.test(after),
  inTable: (a, b) => a.since - b.since,
  /** Every process reads all blocks all the time: there are never enough of them for paging to save a read. */
  async page({ store, clock }, { after, limit, filters }) {
    const { blocks } = await readBlocks(store);
    const kind = filters.get("kind");
    const [since = Infinity, id = ""] = after === undefined ? [] : [Number(after.split(".")[0]), after.split(".")[1]];
    const rest = blocks
      .filter((block) => isActive(block, clock) && (kind === undefined || block.kind === kind))
      .map((block) => ({ block, id: blockId(block) }))
      .toSorted((a, b) => b.block.since - a.block.since || (a.id < b.id ? -1 : 1))
      .filter((each) => each.block.since < since || (each.block.since === since && each.id > id));
    const found = rest.slice(0, limit);
    const last = rest.length > limit ? found.at(-1) : undefined;
    return { found: found.map(({ block }) => block), ...(last && { next: `${last.block.since}.${last.id}` }) };
  },
  async find({ store, clock }, id) {
    const block = await readBlock(store, id);
    return block && isActive(block, clock) ? block : undefined;
  },
  creation: {
    name: "block",
    path: "new",
    title: "New block",
    button: "Block",
    effect: "Denies all matching requests within 2 seconds. Revokes nothing.",
    role: "operator",
    isSensitive: true,
    inputs: CREATE_INPUTS,
    ownerOf: (values) => ownerOf(targetOf((name) => values.get(name) ?? "")),
    async run(deps, values, { by, reason, record }) {
      const read = (name: string): string => values.get(name) ?? "";
      const target = readTarget(read("kind"), read("name"), read("route") === "" ? undefined : read("route"));
      const until = read("until") === "" ? undefined : readUntil(read("until"), deps.clock);
      const all = await blockTarget({ ...deps, record }, target, { reason: readReason(reason), by, until });
      return { ids: all.map(blockId), told: `Blocked: ${all.map((each) => foreignText(textOf(each))).join(", ")}.` };
    },
  },
  actions: [
    {
      name: "unblock",
      path: "lift",
      title: "Remove a block",
      button: "Unblock",
      effect: "Requests are no longer denied by this block, within 2 seconds.",
      role: "operator",
      isSensitive: true,
      target: textOf,
      heading: ({ kind, name }) => `Unblock of ${kind} ${foreignText(name)}`,
      text: (block) => html`<bdi>${foreignText(textOf(block), 400)}</bdi> is no longer denied, within 2 seconds.`,
      async run(deps, { kind, name, route }, { record }) {
        const target = { kind, name, ...(route === undefined ? {} : { route }) };
        const lifted = await unblockTarget({ ...deps, record }, target);
        if (lifted.length === 0) return undefined;
        return `No longer blocked: ${lifted.map((each) => foreignText(textOf(each))).join(", ")}.`;
      },
    },
  ],
};

function isActive({ until }: Block, clock: Clock): boolean {
  return until === undefined || until > epochSeconds(clock);
}

/** A block of a route, or of a tool on one route, belongs to the route's owner; all others belong to no owner. */
function ownerOf({ kind, name, route }: BlockTarget): string | undefined {
  const key = kind === "route" ? name : kind === "tool" ? route : undefined;
  return key?.includes("/") ? ownerOfRoute(key) : undefined;
}

function targetOf(read: (name: string) => string): BlockTarget {
  const kind = BLOCK_KINDS.find((each) => each === read("kind")) ?? "user";
  const route = read("route");
  return { kind, name: read("name"), ...(kind === "tool" && route !== "" ? { route } : {}) };
}
