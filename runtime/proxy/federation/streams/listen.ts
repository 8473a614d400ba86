/**
 * `subscriptions/listen` of a client of revision 2026-07-28: one stream for the changes at all members, of both revisions.
 *
 * Untrusted input: the client's message, the members' streams. Promises: the acknowledgement names only what some member
 * really tells; a member that cannot tell anything ends nothing; every message has the client's own subscription ID.
 */
import { isTaskNotification, outwardMessage } from "../../../mcp/federation/carry.ts";
import { withoutHopMeta } from "../../../mcp/federation/eras.ts";
import { recordOf, type MessageJson } from "../../../mcp/federation/json.ts";
import { advertiseTask, advertiseUri, readAppUri, readTask } from "../../../mcp/federation/names.ts";
import { SUBSCRIPTION, UPDATED, mayHearOf } from "../../lists/stream-reader.ts";
import type { ChangedList } from "../../lists/list-changes.ts";
import type { RequestContext } from "../../request-context.ts";
import { answerTo, askMember } from "../ask-member.ts";
import { changedList, changeOf, forgetList } from "../lists/changed-lists.ts";
import { ClientStream, LISTS } from "./client-stream.ts";
import { OPEN_MS, openAll, type AskingClient } from "../lists/collect.ts";
import type { Link, Links } from "../links.ts";
import { membersOf } from "../members.ts";
import { MemberStream } from "./member-stream.ts";
import type { ClientReply } from "../reply.ts";
import type { MergedStreamDeps } from "./stream.ts";

const MAX_NAMED = 1_000;
/** Time for members to say what they will tell. */
const ACKNOWLEDGE_MS = 2_000;
/** Messages of faster members before that. */
const MAX_EARLY = 100;
const SUBSCRIBE_MS = 5_000;

export interface ListenDeps extends MergedStreamDeps {
  readonly links: Links;
}

/** Subscriptions of the client at one member, in the member's own words. */
interface Wanted {
  readonly uris: string[];
  readonly tasks: string[];
}

export async function listen(
  deps: ListenDeps,
  context: RequestContext,
  client: AskingClient,
  body: MessageJson,
  reply: ClientReply,
): Promise<void> {
  const requested = recordOf(recordOf(body["params"])["notifications"]);
  const uris = textsOf(requested["resourceSubscriptions"]);
  const tasks = textsOf(requested["taskIds"]);
  if (uris === undefined || tasks === undefined)
    return reply.error(-32602, `Must be lists of at most ${MAX_NAMED} texts: resourceSubscriptions, taskIds`);
  const lists = LISTS.filter((list) => requested[`${list}ListChanged`] === true);
  const wanted = await byMember(deps, context, client, uris, tasks);
  const members = membersOf(context).filter(({ prefix }) => lists.length > 0 || wanted.has(prefix));
  const { links, gaps } = await openAll(deps.links, context, members, client, OPEN_MS);
  deps.gaps.tellAll(context, gaps);
  const stream = ClientStream.open(deps, context);
  if (stream === undefined) {
    for (const link of links) link.close();
    return;
  }
  const listening = new Listening(deps, context, stream, body["id"], lists);
  await listening.open(links, wanted);
}

class Listening {
  readonly #deps: ListenDeps;
  readonly #context: RequestContext;
  readonly #stream: ClientStream;
  readonly #id: unknown;
  readonly #lists: readonly ChangedList[];
  /** With the member that reports them. */
  readonly #uris = new Map<string, string>();
  readonly #tasks = new Set<string>();
  /** Until the acknowledgement. */
  #early: MessageJson[] | undefined = [];

  constructor(
    deps: ListenDeps,
    context: RequestContext,
    stream: ClientStream,
    id: unknown,
    lists: readonly ChangedList[],
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#stream = stream;
    this.#id = id;
    this.#lists = lists;
  }

  async open(links: readonly Link[], wanted: ReadonlyMap<string, Wanted>): Promise<void> {
    const { route } = this.#context.prepared;
    this.#followLists(route.key);
    const acknowledged = links.map((link) => {
      const own = wanted.get(link.member.prefix) ?? { uris: [], tasks: [] };
      return link.isModern ? this.#listen(link, own) : this.#subscribe(link, own);
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, ACKNOWLEDGE_MS)));
    await Promise.race([Promise.all(acknowledged), late]);
    clearTimeout(timer);
    const notifications = {
      ...Object.fromEntries(this.#lists.map((list) => [`${list}ListChanged`, true])),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris.keys()] }),
      ...(this.#tasks.size > 0 && { taskIds: [...this.#tasks] }),
    };
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#write({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: { notifications } });
    for (const message of early) this.#write(message);
  }

  /** A member of the same revision. @returns when it has acknowledged */
  #listen(link: Link, { uris, tasks }: Wanted): Promise<void> {
    const { prefix } = link.member;
    const notifications = {
      ...Object.fromEntries(this.#lists.map((list) => [`${list}ListChanged`, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
      ...(tasks.length > 0 && { taskIds: tasks }),
    };
    return new Promise((resolve) => {
      const options = { context: this.#context, link, notifications };
      new MemberStream(this.#deps, options, {
        take: (message) => {
          if (message === "none") return true;
          if (message["method"] !== "notifications/subscriptions/acknowledged") return this.#pass(link, message);
          const granted = recordOf(recordOf(message["params"])["notifications"]);
          for (const uri of textsOf(granted["resourceSubscriptions"]) ?? [])
            if (uris.includes(uri)) this.#uris.set(advertiseUri(prefix, uri), prefix);
          for (const task of textsOf(granted["taskIds"]) ?? [])
            if (tasks.includes(task)) this.#tasks.add(advertiseTask(prefix, task));
          resolve();
          return true;
        },
        alive: () => this.#stream.keepAlive(),
        none: () => {
          this.#followLists(link.member.prepared.route.key);
          resolve();
        },
        gone: () => {
          this.#gone(prefix);
          resolve();
        },
      }).open();
    });
  }

  /** A member with sessions: one for this stream. @returns when it has acknowledged */
  async #subscribe(link: Link, { uris }: Wanted): Promise<void> {
    const { run } = this.#deps;
    const { member, version, session, greeting } = link;
    const own = this.#lists.some(
      (list) => recordOf(recordOf(greeting?.["capabilities"])[list])["listChanged"] === true,
    );
    if (session === undefined || this.#stream.isClosed || (!own && uris.length === 0)) {
      link.close();
      return this.#followLists(member.prepared.route.key);
    }
    this.#context.exchange.onClose(() => link.close());
    const options = { context: this.#context, link, notifications: {} };
    new MemberStream(this.#deps, options, {
      take: (message) => message === "none" || this.#pass(link, message),
      alive: () => this.#stream.keepAlive(),
      none: () => this.#followLists(member.prepared.route.key),
      gone: () => this.#gone(member.prefix),
    }).open();
    await Promise.all(
      uris.map(async (uri, index) => {
        const id = `gateform-${index}`;
        const message = { jsonrpc: "2.0", id, method: "resources/subscribe", params: { uri } };
        const outgoing = { method: "POST", message, version, session } as const;
        const answer = await askMember(run, this.#context, member, outgoing, SUBSCRIBE_MS);
        if (typeof answer !== "string" && answerTo(answer, id)?.["result"] !== undefined)
          this.#uris.set(advertiseUri(member.prefix, uri), member.prefix);
      }),
    );
  }

  #pass({ member }: Link, message: MessageJson): boolean {
    const { method } = message;
    const own = outwardMessage(member.prefix, message);
    const { uri, taskId } = recordOf(own["params"]);
    const list = changedList(method);
    if (list !== undefined) {
      forgetList(this.#deps.cache, this.#context, member, list);
      return !this.#lists.includes(list) || this.#write(own);
    }
    if (method === UPDATED && typeof uri === "string" && this.#uris.has(uri) && this.#uris.get(uri) !== member.prefix)
      this.#deps.gaps.tellForeign(this.#context, member);
    const isWanted =
      method === UPDATED
        ? typeof uri === "string" && this.#uris.get(uri) === member.prefix && mayHearOf(this.#context, uri)
        : isTaskNotification(method) && this.#tasks.has(String(taskId));
    return !isWanted || this.#write(own);
  }

  /** A reload has removed the member. */
  #gone(prefix: string): void {
    for (const [uri, owner] of this.#uris) if (owner === prefix) this.#uris.delete(uri);
    for (const list of this.#lists) this.#write(changeOf(list));
  }

  #followLists(routeKey: string): void {
    this.#stream.follow(this.#deps, routeKey, (list) => {
      if (this.#lists.includes(list)) this.#write(changeOf(list));
    });
  }

  #write(message: MessageJson): boolean {
    if (this.#early !== undefined) {
      if (this.#early.length < MAX_EARLY) this.#early.push(message);
      return true;
    }
    const { params } = withoutHopMeta(message);
    const meta = { ...recordOf(recordOf(params)["_meta"]), [SUBSCRIPTION]: this.#id };
    return this.#stream.write({ ...message, params: { ...recordOf(params), _meta: meta } });
  }
}

async function byMember(
  { owners }: ListenDeps,
  context: RequestContext,
  client: AskingClient,
  uris: readonly string[],
  tasks: readonly string[],
): Promise<ReadonlyMap<string, Wanted>> {
  const wanted = new Map<string, Wanted>();
  const of = (prefix: string): Wanted => {
    const own = wanted.get(prefix) ?? { uris: [], tasks: [] };
    wanted.set(prefix, own);
    return own;
  };
  for (const uri of uris) {
    const owner = await owners.find(context, client, uri);
    if (typeof owner !== "string") of(owner.prefix).uris.push(readAppUri(uri)?.name ?? uri);
  }
  for (const sealed of tasks) {
    const task = readTask(sealed);
    if (task) of(task.prefix).tasks.push(task.name);
  }
  return wanted;
}

/** @returns undefined for anything but texts, and for too many */
function textsOf(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return [];
  const isList = Array.isArray(value) && value.length <= MAX_NAMED;
  return isList && value.every((each) => typeof each === "string") ? value : undefined;
}
