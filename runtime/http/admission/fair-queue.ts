/**
 * What waits for its turn: first in, first out for each client, and one of each client in turn. Whoever has a thousand waiting
 * delays itself.
 */
export interface Queued<T> {
  /** Undefined once it was taken, or has left. */
  item: T | undefined;
  readonly client: ClientQueue<T>;
  readonly arrivedMs: number;
}

interface ClientQueue<T> {
  readonly key: string;
  readonly queue: Fifo<Queued<T>>;
  /** Of those in `queue` that have not left. */
  waiting: number;
}

export interface FairQueue<T> {
  /** All that wait. */
  readonly size: number;
  /** Clients that have something waiting. */
  readonly clients: number;
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
  /** Clients in the order of their turns; one is in it once, as long as its own queue has anything. */
  const turns = createFifo<ClientQueue<T>>();
  const byAge = createFifo<Queued<T>>();
  let size = 0;

  const remove = (queued: Queued<T>): void => {
    if (queued.item === undefined) return;
    queued.item = undefined;
    size -= 1;
    queued.client.waiting -= 1;
    if (queued.client.waiting === 0) clients.delete(queued.client.key);
  };

  return {
    get size() {
      return size;
    },
    get clients() {
      return clients.size;
    },
    waitingOf: (key) => clients.get(key)?.waiting ?? 0,
    add(key, item, arrivedMs) {
      let client = clients.get(key);
      if (!client) {
        client = { key, queue: createFifo(), waiting: 0 };
        clients.set(key, client);
      }
      if (client.queue.size === 0) turns.push(client);
      const queued: Queued<T> = { item, client, arrivedMs };
      client.queue.push(queued);
      byAge.push(queued);
      client.waiting += 1;
      size += 1;
      return queued;
    },
    remove,
    take(sinceMs) {
      for (let client = turns.shift(); client !== undefined; client = turns.shift()) {
        let queued = client.queue.shift();
        while (queued !== undefined && (queued.item === undefined || queued.arrivedMs <= sinceMs)) {
          queued = client.queue.shift();
        }
        if (client.queue.size > 0) turns.push(client);
        if (queued === undefined) continue;
        const { item } = queued;
        remove(queued);
        return item;
      }
      return undefined;
    },
    takeOldest(untilMs) {
      for (let queued = byAge.peek(); queued !== undefined; queued = byAge.peek()) {
        const { item } = queued;
        if (item !== undefined && queued.arrivedMs > untilMs) return undefined;
        byAge.shift();
        if (item === undefined) continue;
        remove(queued);
        return item;
      }
      return undefined;
    },
  };
}

interface Fifo<T> {
  readonly size: number;
  push(item: T): void;
  peek(): T | undefined;
  shift(): T | undefined;
}

/** An array whose shift() moved everything would cost more than the requests at some ten thousand of them. */
function createFifo<T>(): Fifo<T> {
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    get size() {
      return items.length - head;
    },
    push: (item) => void items.push(item),
    peek: () => items[head],
    shift() {
      if (head === items.length) return undefined;
      const item = items[head];
      items[head] = undefined;
      head += 1;
      if (head === items.length) {
        items = [];
        head = 0;
      } else if (head > 1_024 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
}
