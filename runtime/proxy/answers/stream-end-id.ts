/**
 * The event ID with which the gateway ends an MCP stream of GET, in an event without data. Clients send it as `Last-Event-ID`
 * when they reopen the stream. The Go SDK treats a stream without a new ID as one that made no progress and drops the whole
 * session after six of them: with tokens of 15 minutes after an hour and a half without events (D358).
 *
 * It contains the upstream's own last ID, with which the upstream continues. Untrusted input: IDs from clients in its form.
 */
import { randomBytes } from "node:crypto";

import { isHeaderText } from "../../shared/http/header-traits.ts";

export interface EndedStream {
  /** The upstream's last ID, "" for none; undefined if this is not such a stream. */
  lastEventId: string | undefined;
}

const PREFIX = "gateway-end.";
const MAX_LENGTH = 1024;

/** @returns undefined if the stream does not end this way */
export function lastIdOf({ lastEventId }: EndedStream): string | undefined {
  if (lastEventId === undefined) return undefined;
  // Different each time: otherwise it would not be new.
  return `${PREFIX}${randomBytes(6).toString("base64url")}.${Buffer.from(lastEventId, "latin1").toString("base64url")}`;
}

/** Converts the ID that a client sends to the upstream's ID. */
export function upstreamEventId(sent: string): string | undefined {
  if (!sent.startsWith(PREFIX)) return sent;
  const own = Buffer.from(sent.slice(PREFIX.length).split(".")[1] ?? "", "base64url").toString("latin1");
  return own !== "" && isHeaderText(own) ? own : undefined;
}

/** Reads the event IDs of a stream on its way. */
export class EventIds {
  readonly #stream: EndedStream;
  /** Start of an incomplete line, as long as it can be an ID. */
  #line = "";

  constructor(stream: EndedStream) {
    this.#stream = stream;
    stream.lastEventId = "";
  }

  see(chunk: Buffer): void {
    const lines = (this.#line + chunk.toString("latin1")).split(/[\r\n]+/);
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      const id = /^id: ?([^\0]*)$/.exec(line)?.[1];
      if (id !== undefined && id.length <= MAX_LENGTH) this.#stream.lastEventId = id;
    }
    // For other lines, only their existence matters.
    this.#line = "id:".startsWith(rest.slice(0, 3)) && rest.length <= MAX_LENGTH ? rest : "-";
  }
}
