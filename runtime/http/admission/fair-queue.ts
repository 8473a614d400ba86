/**
 * Queue that is first in, first out for each client and takes one item of each client in turn. A client with a thousand items
 * delays only itself. Items that are taken or removed are released immediately, wherever they are in the queue: an attacker's
 * old items keep nothing alive.
 */
export interface Queued<T> {
  /** Undefined once it was taken or removed. */
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
  /** Items that were not passed over. */
  readonly queue: List<Waiting<T>>;
  readonly inTurns: Link<ClientQueue<T>>;
  waiting: number;
}

export interface FairQueue<T> {
  readonly size: number;
  /** Arrival time of the oldest item; Infinity: the queue is empty. */
  oldestMs(): number;
  /** Clients with at least one item. */
  clients(): number;
  waitingOf(client: string): number;
  add(client: string, item: T, nowMs: number): Queued<T>;
  /** Does nothing if it was taken or removed already. */
  remove(queued: Queued<T>): void;
  /** Takes the next item in turn that came after `sinceMs`. Earlier items are passed over for good. */
  take(sinceMs: number): T | undefined;
  /** Takes the oldest item if it came at `untilMs` or before. */
  takeOldest(untilMs: number): T | undefined;
}

export function createFairQueue<T>(): FairQueue<T> {
  const clients = new Map<string, ClientQueue<T>>();
  /** In the order of their turns. A client is in it once, while its own queue has items. */
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
    // The cast is safe: `add()` made all of them.
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

/** Position of an item in a list; an undefined neighbor means the end. */
interface Link<T> {
  isIn: boolean;
  before: T | undefined;
  after: T | undefined;
}

interface List<T> {
  first(): T | undefined;
  /** Does nothing if the item is in it. */
  push(item: T): void;
  /** Does nothing if the item is not in it. */
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
