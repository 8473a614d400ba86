/** The ways to choose one of several upstreams that may all be used. */
import type { Balancing } from "./compiled.ts";
import type { Upstream } from "../connection/compiled.ts";
import { hashText } from "./apply-hash.ts";
import type { RouteMaglev } from "./apply-maglev-tables.ts";
import type { UpstreamState } from "./apply-state.ts";

export interface Peer {
  readonly upstream: Upstream;
  readonly state: UpstreamState;
  /** Smooth weighted round-robin: grows by the weight each turn, falls by the total when chosen. */
  current: number;
}

/** Who asks, for upstreams that are to see the same users again. */
export interface Caller {
  readonly principal: { readonly user: { readonly id: string } } | undefined;
  readonly exchange: { readonly remoteAddress: string };
}

/** @param peers at least one */
export type Choose = (peers: readonly Peer[], caller: Caller) => Peer;

export function chooserOf(policy: Exclude<Balancing["policy"], "maglev">, random: () => number = Math.random): Choose {
  switch (policy) {
    case "round_robin":
      return inTurns;
    case "random":
      return (peers) => byChance(peers, random);
    case "least_request":
      return leastBusy;
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

/** By weight; among equals in turns, so that an idle route does not send everything to the first. */
function leastBusy(peers: readonly Peer[]): Peer {
  const load = ({ state, upstream }: Peer): number => (state.underWay + 1) / upstream.weight;
  let least = Number.POSITIVE_INFINITY;
  for (const peer of peers) least = Math.min(least, load(peer));
  return inTurns(peers.filter((peer) => load(peer) === least));
}

/**
 * Rendezvous hashing by weight: each upstream draws a number for the caller, and the highest wins. Only the callers of an
 * upstream that goes away meet another one, and they come back when it does.
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

/** Beyond that so few upstreams are left that weighing each of them is faster. */
const MAX_PLACES = 32;

/**
 * By a Maglev table of all upstreams. A caller whose upstream may not be used is hashed anew until a place belongs to one
 * that may: the table stays as it is, so that nobody else is moved, and those who were come back.
 *
 * @param all in the order of `to`
 */
export function byMaglev(all: readonly Peer[], { table, order }: RouteMaglev): Choose {
  const owner = (text: string): Peer => all[order[table.at(hashText(text))] as number] as Peer;
  return (peers, caller) => {
    const name = nameOf(caller);
    let peer = owner(name);
    if (peers.length === all.length) return peer;
    for (let turn = 1; turn < MAX_PLACES; turn += 1) {
      if (peers.includes(peer)) return peer;
      peer = owner(`${turn} ${name}`);
    }
    return sameForCaller(peers, caller);
  };
}

function nameOf({ principal, exchange }: Caller): string {
  return principal?.user.id ?? exchange.remoteAddress;
}
