/**
 * Requests that come back: an upstream that leads to this gateway again would send each of them round without end.
 *
 * The mark counts how often a request has come through each gateway. Untrusted input: the mark, which a client may write
 * as it likes; all it can reach is that its own request is refused. Upstreams may lead here on purpose, through another
 * route, so a few times are fine.
 */

/** Makes the mark of requests to upstreams: "a1b2c3d4e5f6=1", one for each gateway on the way. */
export interface HopCounter {
  /** Value for a request that comes for the first time. */
  readonly first: string;
  /** @param value what came with the request. @throws RequestLoop */
  next(value: string): string;
}

/** Answered 508 (RFC 5842 §7.2). */
export class RequestLoop extends Error {
  override readonly name = "RequestLoop";
}

const MAX_HOPS = 3;
const MAX_GATEWAYS = 8;

/** @param id the same in all processes of one gateway, and in no other */
export function createHopCounter(id: string): HopCounter {
  return {
    first: `${id}=1`,
    next(value) {
      const marks = value.split(",").map((mark) => mark.trim());
      const others = marks.filter((mark) => /^[0-9a-f]{12}=[1-9]$/.test(mark) && !mark.startsWith(`${id}=`));
      const own = marks.find((mark) => mark.startsWith(`${id}=`));
      const hops = Number(own?.slice(id.length + 1) ?? 0);
      if (hops >= MAX_HOPS || others.length >= MAX_GATEWAYS) throw new RequestLoop("it was here before");
      return [...others, `${id}=${(Number.isInteger(hops) && hops > 0 ? hops : 0) + 1}`].join(", ");
    },
  };
}
