/** What a SCIM client is told when something cannot be done, and its wire form (RFC 7644 §3.12). */

/** @see RFC 7644 §3.12, table 9 */
export type ScimType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue";

export type RefusedStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;

/** Thrown where a request is read or carried out; the endpoints answer it. Its text goes to the client: no values of others. */
export class ScimRefusal extends Error {
  readonly status: RefusedStatus;
  readonly scimType: ScimType | undefined;

  constructor(status: RefusedStatus, detail: string, scimType?: ScimType) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
  }
}

export const ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";

/** `status` is text there. */
export function errorBody({ status, scimType, message }: Pick<ScimRefusal, "status" | "scimType" | "message">): object {
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: message,
  };
}
