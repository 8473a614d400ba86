/** All kinds of stored objects that administrators see, in the order of the API's document. A new one: a line here. */
import { BLOCK } from "./block.ts";
import { CLIENT } from "./client.ts";
import { CONNECTION } from "./connection.ts";
import { CONSENT } from "./consent.ts";
import { DEVICE } from "./device.ts";
import { GRANT } from "./grant.ts";
import type { Kind } from "./kind.ts";
import { PENDING_CALL } from "./pending-call.ts";
import { PUBLISH_TOKEN } from "./publish-token.ts";
import { SERVICE_ACCOUNT } from "./service-account.ts";
import { SESSION } from "./session.ts";
import { TOOL_DRIFT } from "./tool-drift.ts";

export const KINDS: readonly Kind[] = [
  SESSION,
  GRANT,
  CONSENT,
  CONNECTION,
  DEVICE,
  CLIENT,
  SERVICE_ACCOUNT,
  PUBLISH_TOKEN,
  PENDING_CALL,
  TOOL_DRIFT,
  BLOCK,
] as readonly Kind[];
