/** A request that goes to one member, and its cancellation. */
import { requestFor } from "../../mcp/federation/eras.ts";
import type { MessageJson } from "../../mcp/federation/json.ts";
import { ACCESS_DENIED_CODE } from "../../mcp/refuse.ts";
import { bindingOf } from "../announced-address.ts";
import type { RequestContext } from "../request-context.ts";
import { askMember, type RouteMember, type RunMember } from "./ask-member.ts";
import type { AskingClient } from "./collect.ts";
import type { GapReason, Gaps } from "./gaps.ts";
import type { Link, Links } from "./links.ts";
import type { Questions } from "./questions.ts";
import { notConnected, relay, type RelayEnd } from "./relay.ts";
import type { ClientReply } from "./reply.ts";

export interface CallDeps {
  readonly run: RunMember;
  readonly links: Links;
  readonly gaps: Gaps;
  readonly questions: Questions;
}

/** For messages without an awaited response. */
export const TELL_MS = 5_000;

export async function tellMember(
  run: RunMember,
  caller: RequestContext,
  { member, version, session }: Pick<Link, "member" | "version" | "session">,
  message: MessageJson,
): Promise<void> {
  await askMember(run, caller, member, { method: "POST", message, version, session }, TELL_MS);
}

export class MemberCalls {
  readonly #deps: CallDeps;
  /** Those in progress of clients with sessions. */
  readonly #running = new Map<string, () => void>();

  constructor(deps: CallDeps) {
    this.#deps = deps;
  }

  /** Clients with sessions send this; others close the response. */
  cancel(context: RequestContext, requestId: unknown): void {
    this.#running.get(runningKey(context, requestId))?.();
  }

  /** @param body as the member gets it, but for what its revision needs */
  async make(
    context: RequestContext,
    client: AskingClient,
    member: RouteMember,
    body: MessageJson,
    calledAs: string,
    reply: ClientReply,
  ): Promise<void> {
    let { sessions } = client;
    for (;;) {
      const link = await this.#deps.links.open(context, member, sessions, client.legacyCapabilities);
      if (typeof link === "string") return this.#unavailable(context, member, link, reply);
      const end = await this.#exchange(context, client, link, body, calledAs, reply);
      link.close();
      if (end !== "gone") return;
      // The member has lost the session and done nothing: another one, for this request alone.
      if (sessions === undefined) return reply.error(-32603, `${member.prepared.route.name} knows no session`);
      sessions = undefined;
    }
  }

  #exchange(
    context: RequestContext,
    client: AskingClient,
    link: Link,
    body: MessageJson,
    calledAs: string,
    reply: ClientReply,
  ): Promise<RelayEnd> {
    const { member } = link;
    const key = client.isModern ? undefined : runningKey(context, body["id"]);
    return new Promise((resolve) => {
      const message = requestFor(body, link.isModern, client.side);
      const sealId = (id: string): string => this.#deps.questions.seal(context, link, id);
      const options = { run: this.#deps.run, caller: context, link, message, calledAs, sealId } as const;
      const exchange = relay({ ...options, clientIsModern: client.isModern }, reply, (end, isFault) => {
        if (key !== undefined) this.#running.delete(key);
        if (isFault) {
          this.#deps.links.forget(member);
          this.#deps.gaps.tell(context, { member, reason: "invalid" });
        }
        resolve(end);
      });
      if (key === undefined || !exchange.isOpen) return;
      this.#running.set(key, () => {
        if (link.isModern) exchange.abort();
        else void tellMember(this.#deps.run, context, link, cancelled(body["id"]));
      });
    });
  }

  #unavailable(context: RequestContext, member: RouteMember, reason: GapReason, reply: ClientReply): void {
    this.#deps.gaps.tell(context, { member, reason });
    const { route } = member.prepared;
    if (reason === "not-connected") {
      const { code, message, data } = notConnected(member.prefix, route);
      return reply.error(code, message, data);
    }
    if (reason === "denied") return reply.error(ACCESS_DENIED_CODE, `Request denied by policy of ${route.name}`);
    reply.error(-32603, `${route.name} is unavailable at the moment`);
  }
}

/** Two clients, or two sessions of one, can use the same ID. */
function runningKey(context: RequestContext, id: unknown): string {
  const { userId, clientId, route } = bindingOf(context);
  return JSON.stringify([userId, clientId, route, context.exchange.header("mcp-session-id"), id]);
}

function cancelled(requestId: unknown): MessageJson {
  return { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
}
