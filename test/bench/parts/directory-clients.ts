/** A provider that fills a directory for the first time, by several clients at once; they can be told to pause. */
import { Agent, request as send } from "node:http";

import { patchOf } from "../../support/scim-client.ts";

export interface DirectoryClients {
  /** Before each of its requests a client waits until it may go on. */
  pause(): Promise<void>;
  resume(): void;
  /** Requests so far. */
  count(): number;
  /** @returns id by number of the user */
  addUsers(users: readonly object[]): Promise<readonly string[]>;
  /** Made empty, then filled: one PATCH each for so many members. @returns ids of the groups */
  addGroups(groups: readonly NewGroup[], membersAtOnce: number): Promise<readonly string[]>;
  /** Pages one after the other, as providers ask. @returns how many resources there were */
  listAll(path: string, pageSize: number): Promise<number>;
  countMembers(group: string): Promise<number>;
  close(): void;
}

export interface NewGroup {
  readonly name: string;
  readonly members: readonly string[];
}

export interface ClientsOptions {
  readonly port: number;
  /** Path of the directory. */
  readonly base: string;
  readonly token: string;
  readonly clients: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

export function createDirectoryClients({ port, base, token, clients }: ClientsOptions): DirectoryClients {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  let count = 0;
  let underWay = 0;
  let resumed = Promise.resolve();
  let resume = (): void => {};
  let nobodyLeft: (() => void) | undefined;

  const exchange = (method: string, path: string, body?: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const bytes = body && Buffer.from(JSON.stringify(body));
      const headers = {
        host: `localhost:${port}`,
        authorization: `Bearer ${token}`,
        ...(bytes && { "content-type": "application/scim+json", "content-length": bytes.length }),
      };
      const sent = send({ port, host: "127.0.0.1", method, path: base + path, headers, agent }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      });
      sent.on("error", reject);
      sent.end(bytes);
    });

  const ask = async (method: string, path: string, status: number, body?: object): Promise<string> => {
    await resumed;
    underWay += 1;
    try {
      const answer = await exchange(method, path, body);
      count += 1;
      if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 200)}`);
      return answer.text;
    } finally {
      underWay -= 1;
      if (underWay === 0) nobodyLeft?.();
    }
  };
  const get = async (path: string): Promise<Readonly<Record<string, unknown>>> =>
    JSON.parse(await ask("GET", path, 200)) as Record<string, unknown>;
  /** Looks whether it is there, as every provider does, then makes it. */
  const create = async (path: string, filter: string, body: object): Promise<string> => {
    const more = path === "/Groups" ? "&excludedAttributes=members" : "&startIndex=1&count=100";
    const { totalResults } = await get(`${path}?filter=${encodeURIComponent(filter)}${more}`);
    if (totalResults !== 0) throw new Error(`${filter} is there already`);
    return (JSON.parse(await ask("POST", path, 201, body)) as { readonly id: string }).id;
  };
  const byAllClients = async <T>(
    items: readonly T[],
    work: (item: T) => Promise<string>,
  ): Promise<readonly string[]> => {
    const made: string[] = [];
    let next = 0;
    const run = async (): Promise<void> => {
      for (let at = next++; at < items.length; at = next++) made[at] = await work(items[at] as T);
    };
    await Promise.all(Array.from({ length: clients }, run));
    return made;
  };

  return {
    pause() {
      resumed = new Promise((resolve) => (resume = resolve));
      return underWay === 0 ? Promise.resolve() : new Promise((resolve) => (nobodyLeft = resolve));
    },
    resume() {
      nobodyLeft = undefined;
      resume();
    },
    count: () => count,
    addUsers: (users) =>
      byAllClients(users, (user) =>
        create("/Users", `userName eq "${(user as { readonly userName: string }).userName}"`, user),
      ),
    addGroups: (groups, membersAtOnce) =>
      byAllClients(groups, async ({ name, members }) => {
        const id = await create("/Groups", `displayName eq "${name}"`, { displayName: name, members: [] });
        for (let at = 0; at < members.length; at += membersAtOnce) {
          const value = members.slice(at, at + membersAtOnce).map((each) => ({ $ref: null, value: each }));
          await ask("PATCH", `/Groups/${id}`, 204, patchOf({ op: "Add", path: "members", value }));
        }
        return id;
      }),
    async listAll(path, pageSize) {
      for (let found = 0; ;) {
        const page = await get(`${path}?startIndex=${found + 1}&count=${pageSize}`);
        const { length } = page["Resources"] as readonly unknown[];
        found += length;
        if (length === 0 || found >= Number(page["totalResults"])) return found;
      }
    },
    countMembers: async (group) => ((await get(`/Groups/${group}`))["members"] as readonly unknown[]).length,
    close: () => agent.destroy(),
  };
}
