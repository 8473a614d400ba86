/**
 * What waits for its turn: first in, first out for each client, and one of each client in turn. Whoever has a thousand waiting
 * delays itself. What is taken or leaves is forgotten at once, wherever it stands: an attacker's old ones keep nothing alive.
 */
export interface Queued<T> {
  /** Undefined once it was taken, or has left. */
  item: T | undefined;
  readonly client: ClientQueue<T>;
  readonly arrivedMs: number;
}

interface Waiting<T> extends Queued<T> {
  readonly inClient: Link<Waiting<T>>;
  readonly inAge: Link<Waiting<T>>;
}

interface ClientQueue<T> {
  readonly key: string;
  /** Those that were not passed over. */
  readonly queue: List<Waiting<T>>;
  readonly inTurns: Link<ClientQueue<T>>;
  waiting: number;
}

export interface FairQueue<T> {
  /** All that wait. */
  readonly size: number;
  /** When the one that has waited longest came; Infinity: nothing waits. */
  oldestMs(): number;
  /** Clients that have something waiting. */
  clients(): number;
  waitingOf(client: string): number;
  add(client: string, item: T, nowMs: number): Queued<T>;
  /** It waits no longer; taken or removed before is nothing to do. */
  remove(queued: Queued<T>): void;
  /** The next one in turn that came after `sinceMs`; those before it are passed over for good. */
  take(sinceMs: number): T | undefined;
  /** The one that has waited longest, where that came at `untilMs` or before. */
  takeOldest(untilMs: number): T | undefined;
}

export function createFairQueue<T>(): FairQueue<T> {
  const clients = new Map<string, ClientQueue<T>>();
  /** In the order of their turns; a client is in it once, as long as its own queue has anything. */
  const turns = createList<ClientQueue<T>>((client) => client.inTurns);
  const byAge = createList<Waiting<T>>((queued) => queued.inAge);

  const leaveClient = (queued: Waiting<T>): void => {
    const { client } = queued;
    client.queue.remove(queued);
    if (client.queue.first() === undefined) turns.remove(client);
  };

  const remove = (queued: Waiting<T>): void => {
    if (queued.item === undefined) return;
    queued.item = undefined;
    leaveClient(queued);
    byAge.remove(queued);
    queue.size -= 1;
    queued.client.waiting -= 1;
    if (queued.client.waiting === 0) clients.delete(queued.client.key);
  };

  const queue: FairQueue<T> & { size: number } = {
    size: 0,
    oldestMs: () => byAge.first()?.arrivedMs ?? Infinity,
    clients: () => clients.size,
    waitingOf: (key) => clients.get(key)?.waiting ?? 0,
    add(key, item, arrivedMs) {
      let client = clients.get(key);
      if (!client) {
        client = { key, queue: createList((each) => each.inClient), inTurns: createLink(), waiting: 0 };
        clients.set(key, client);
      }
      const queued: Waiting<T> = { item, client, arrivedMs, inClient: createLink(), inAge: createLink() };
      client.queue.push(queued);
      turns.push(client);
      byAge.push(queued);
      client.waiting += 1;
      queue.size += 1;
      return queued;
    },
    // Made above, all of them.
    remove: (queued) => remove(queued as Waiting<T>),
    take(sinceMs) {
      for (let client = turns.first(); client !== undefined; client = turns.first()) {
        turns.remove(client);
        let queued = client.queue.first();
        while (queued !== undefined && queued.arrivedMs <= sinceMs) {
          client.queue.remove(queued);
          queued = client.queue.first();
        }
        if (queued === undefined) continue;
        const { item } = queued;
        remove(queued);
        if (client.queue.first() !== undefined) turns.push(client);
        return item;
      }
      return undefined;
    },
    takeOldest(untilMs) {
      const queued = byAge.first();
      if (queued === undefined || queued.arrivedMs > untilMs) return undefined;
      const { item } = queued;
      remove(queued);
      return item;
    },
  };
  return queue;
}

/** Where something stands in a list; undefined neighbours are the ends. */
interface Link<T> {
  isIn: boolean;
  before: T | undefined;
  after: T | undefined;
}

interface List<T> {
  first(): T | undefined;
  /** Nothing to do for what is in it. */
  push(item: T): void;
  /** Nothing to do for what is not in it. */
  remove(item: T): void;
}

function createLink<T>(): Link<T> {
  return { isIn: false, before: undefined, after: undefined };
}

function createList<T>(linkOf: (item: T) => Link<T>): List<T> {
  let first: T | undefined;
  let last: T | undefined;
  return {
    first: () => first,
    push(item) {
      const link = linkOf(item);
      if (link.isIn) return;
      link.isIn = true;
      link.before = last;
      if (last === undefined) first = item;
      else linkOf(last).after = item;
      last = item;
    },
    remove(item) {
      const link = linkOf(item);
      if (!link.isIn) return;
      link.isIn = false;
      const { before, after } = link;
      if (before === undefined) first = after;
      else linkOf(before).after = after;
      if (after === undefined) last = before;
      else linkOf(after).before = before;
      link.before = undefined;
      link.after = undefined;
    },
  };
}
