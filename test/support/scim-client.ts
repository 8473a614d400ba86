/** A SCIM client as providers are: JSON in and out, a bearer token. */
import { type Answer, createSend } from "./browser.ts";

export interface ScimClient {
  /** @param body an object, or the bytes of a body as text */
  send(
    method: string,
    path: string,
    body?: object | string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** @returns id of what was made */
  create(path: string, body: object): Promise<string>;
}

/**
 * @param base address of the directory
 * @param via port of the replica; absent: the address's own
 */
export function createScimClient(base: string, token: string | undefined, via?: number): ScimClient {
  const request = createSend(via === undefined ? {} : { via });
  const send: ScimClient["send"] = (method, path, body, headers = {}) =>
    request({
      method,
      url: base + path,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/scim+json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  return {
    send,
    async create(path, body) {
      const answer = await send("POST", path, body);
      if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return String(answer.json()["id"]);
    },
  };
}

/** A body of PATCH. */
export function patchOf(...operations: readonly object[]): object {
  return { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: operations };
}

/** A new user in Okta's form. */
export function oktaUser(userName: string, externalId: string): object {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    userName,
    name: { givenName: "Given", familyName: "Family" },
    emails: [{ primary: true, value: userName, type: "work" }],
    displayName: "Given Family",
    locale: "en-US",
    externalId,
    groups: [],
    password: "a-password-sentinel",
    active: true,
  };
}
