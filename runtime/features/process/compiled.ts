/** Settings of the process as it reads them. */

/** A token with which owners publish. */
export interface PublishToken {
  /** Of `owners`: a name, or a beginning with ".*" that covers several. */
  readonly entry: string;
  readonly token: string;
}
