/** Strategies to choose among several usable upstreams. */
import type { Balancing } from "./compiled.ts";
import type { Upstream } from "../connection/compiled.ts";
import type { UpstreamState } from "./apply-state.ts";

export interface Peer {
  readonly upstream: Upstream;
  readonly state: UpstreamState;
  /** Smooth weighted round-robin: increases by the weight each turn, decreases by the total when chosen. */
  current: number;
}

/** Identity of the caller, for upstreams that should see the same users again. */
export interface Caller {
  readonly principal: { readonly user: { readonly id: string } } | undefined;
  readonly exchange: { readonly remoteAddress: string };
}

/** @param peers at least one */
export type Choose = (peers: readonly Peer[], caller: Caller) => Peer;

export function chooserOf(policy: Balancing["policy"], random: () => number = Math.random): Choose {
  switch (policy) {
    case "round_robin":
      return inTurns;
    case "random":
      return (peers) => byChance(peers, random);
    case "least_request":
      return leastBusy;
    // Accepted for users of other gateways: same effect, without its tables.
    case "maglev":
    case "ring_hash":
      return sameForCaller;
    default:
      policy satisfies never;
      return inTurns;
  }
}

function inTurns(peers: readonly Peer[]): Peer {
  let best = peers[0] as Peer;
  let total = 0;
  for (const peer of peers) {
    peer.current += peer.upstream.weight;
    total += peer.upstream.weight;
    if (peer.current > best.current) best = peer;
  }
  best.current -= total;
  return best;
}

function byChance(peers: readonly Peer[], random: () => number): Peer {
  let total = 0;
  for (const { upstream } of peers) total += upstream.weight;
  let left = random() * total;
  for (const peer of peers) {
    left -= peer.upstream.weight;
    if (left < 0) return peer;
  }
  return peers.at(-1) as Peer;
}

/** By weight; equal ones take turns, so that an idle route does not send everything to the first. */
function leastBusy(peers: readonly Peer[]): Peer {
  const load = ({ state, upstream }: Peer): number => (state.underWay + 1) / upstream.weight;
  let least = Number.POSITIVE_INFINITY;
  for (const peer of peers) least = Math.min(least, load(peer));
  return inTurns(peers.filter((peer) => load(peer) === least));
}

/**
 * Rendezvous hashing by weight: each upstream draws a number for the caller, and the highest wins. If an upstream goes
 * away, only its callers move, and they return with it.
 */
function sameForCaller(peers: readonly Peer[], caller: Caller): Peer {
  const name = nameOf(caller);
  let best = peers[0] as Peer;
  let highest = Number.NEGATIVE_INFINITY;
  for (const peer of peers) {
    const score = -peer.upstream.weight / Math.log(fractionOf(`${peer.state.address} ${name}`));
    if (score <= highest) continue;
    highest = score;
    best = peer;
  }
  return best;
}

/** Between 0 and 1, both excluded. */
function fractionOf(text: string): number {
  return hashText(text) / 2 ** 32 + 2 ** -33;
}

function nameOf({ principal, exchange }: Caller): string {
  return principal?.user.id ?? exchange.remoteAddress;
}

/** FNV-1a with the final mixing of MurmurHash3: unsigned, 32 bits, equal in all processes. Not for secrets. */
function hashText(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
