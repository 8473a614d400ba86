/**
 * Detects request loops: an upstream that leads back to this gateway would send each request round endlessly.
 *
 * The counter stores how often a request has passed each gateway. Untrusted input: the counter, which a client may set to
 * anything; that can only get its own request rejected. Upstreams may lead here on purpose, through another route, so a few
 * passes are allowed.
 */

/** Makes the counter of requests to upstreams: "a1b2c3d4e5f6=1", one for each gateway on the way. */
export interface HopCounter {
  /** Value for a request without a counter. */
  readonly first: string;
  /** @param value of the request. @throws RequestLoop */
  next(value: string): string;
}

/** The response is 508 (RFC 5842 §7.2). */
export class RequestLoop extends Error {
  override readonly name = "RequestLoop";
}

const MAX_HOPS = 3;
const MAX_GATEWAYS = 8;

/** @param id the same in all processes of one gateway, and different for other gateways */
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
