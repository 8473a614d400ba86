/** All kinds of stored objects that administrators see. Made by `npm run pages`. */
import type { Kind } from "./kind.ts";
import { BLOCK } from "./kinds/block.ts";
import { CLIENT } from "./kinds/client.ts";
import { CONNECTION } from "./kinds/connection.ts";
import { CONSENT } from "./kinds/consent.ts";
import { DEVICE } from "./kinds/device.ts";
import { DIRECTORY_USER } from "./kinds/directory-user.ts";
import { GRANT } from "./kinds/grant.ts";
import { PENDING_CALL } from "./kinds/pending-call.ts";
import { PUBLISH_TOKEN } from "./kinds/publish-token.ts";
import { RUN } from "./kinds/run.ts";
import { SERVICE_ACCOUNT } from "./kinds/service-account.ts";
import { SESSION } from "./kinds/session.ts";
import { TOOL_DRIFT } from "./kinds/tool-drift.ts";

export const KINDS: readonly Kind[] = [
  BLOCK,
  CLIENT,
  CONNECTION,
  CONSENT,
  DEVICE,
  DIRECTORY_USER,
  GRANT,
  PENDING_CALL,
  PUBLISH_TOKEN,
  RUN,
  SERVICE_ACCOUNT,
  SESSION,
  TOOL_DRIFT,
] as readonly Kind[];
