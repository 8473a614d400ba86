/** The company's provider as a SCIM client, with Okta's requests: it tells the gateway who there is, and who leaves. */
import { createScimClient, oktaUser, patchOf } from "../../test/support/scim-client.ts";
import type { DemoUser } from "../demo/identity-provider.ts";

export interface Directory {
  /** Looks for a user by name, and creates the one that is not there. */
  push(user: DemoUser): Promise<void>;
  pushGroup(name: string, members: readonly DemoUser[]): Promise<void>;
  addMember(group: string, user: DemoUser): Promise<void>;
  /** Deactivates and activates. @returns what the gateway says of the user */
  setActive(user: DemoUser, active: boolean): Promise<Readonly<Record<string, unknown>>>;
}

/** @param base address of the directory at the gateway, @param token what the gateway wants to see there */
export function createDirectory(base: string, token: string): Directory {
  const client = createScimClient(base, token);
  /** Of what the gateway has made: users by their id at the provider, groups by name. */
  const ids = new Map<string, string>();
  const idOf = (what: string): string => {
    const id = ids.get(what);
    if (id === undefined) throw new Error(`"${what}" was not pushed`);
    return id;
  };
  const send = async (method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await client.send(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.text === "" ? {} : answer.json();
  };
  const member = ({ id, email }: DemoUser) => ({ value: idOf(id), display: email });
  return {
    async push({ id, email }) {
      const filter = encodeURIComponent(`userName eq "${email}"`);
      const found = await send("GET", `/Users?filter=${filter}&startIndex=1&count=100`);
      if (found["totalResults"] === 0) ids.set(id, await client.create("/Users", oktaUser(email, id)));
    },
    async pushGroup(name, members) {
      ids.set(name, await client.create("/Groups", { displayName: name, members: members.map(member) }));
    },
    async addMember(group, user) {
      const change = { op: "add", path: "members", value: [member(user)] };
      await send("PATCH", `/Groups/${idOf(group)}`, patchOf(change));
    },
    setActive: (user, active) =>
      send("PATCH", `/Users/${idOf(user.id)}`, patchOf({ op: "replace", value: { active } })),
  };
}
