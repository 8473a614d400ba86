/** Errors for SCIM clients, and their wire form (RFC 7644 §3.12). */

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

/**
 * Thrown while a request is parsed or executed, and sent as the response. The text goes to the client, so it must not
 * contain other resources' values.
 */
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

/** `status` is a text in the wire form. */
export function errorBody({ status, scimType, message }: Pick<ScimRefusal, "status" | "scimType" | "message">): object {
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: message,
  };
}
