/**
 * The identifier with which an MCP stream of GET ends when the gateway ends it, in an event without data. Clients send it
 * as `Last-Event-ID` when they open the stream again. The Go SDK takes a stream without a new identifier for one that brings nothing
 * and gives the whole session up after six of them: with tokens of 15 minutes after an hour and a half without events (D358).
 *
 * It carries the upstream's own last identifier, with which the upstream continues. Untrusted input: what clients send in its form.
 */
import { randomBytes } from "node:crypto";

import { isHeaderText } from "../../shared/http/header-traits.ts";

export interface EndedStream {
  /** The upstream's last one, "" for none; undefined where this is not such a stream. */
  lastEventId: string | undefined;
}

const PREFIX = "gateway-end.";
const MAX_LENGTH = 1024;

/** @returns undefined where the stream is not one that ends so */
export function lastIdOf({ lastEventId }: EndedStream): string | undefined {
  if (lastEventId === undefined) return undefined;
  // Another one each time, or it would not be new.
  return `${PREFIX}${randomBytes(6).toString("base64url")}.${Buffer.from(lastEventId, "latin1").toString("base64url")}`;
}

/** What the upstream gets of the identifier that a client sends. */
export function upstreamEventId(sent: string): string | undefined {
  if (!sent.startsWith(PREFIX)) return sent;
  const own = Buffer.from(sent.slice(PREFIX.length).split(".")[1] ?? "", "base64url").toString("latin1");
  return own !== "" && isHeaderText(own) ? own : undefined;
}

/** Reads the identifiers of a stream on its way. */
export class EventIds {
  readonly #stream: EndedStream;
  /** What has come of a line, as far as it can be one of interest. */
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
    // Of other lines only their being there is of interest.
    this.#line = "id:".startsWith(rest.slice(0, 3)) && rest.length <= MAX_LENGTH ? rest : "-";
  }
}
