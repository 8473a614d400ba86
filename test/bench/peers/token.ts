/** The token that proxies with a key of their own verify: HS256, as large as one of the gateway's own. */
import { randomBytes } from "node:crypto";

import { secretJwt } from "../common/jwt.ts";

/** Shared with the proxies; 32 printable characters, since each writes it into its configuration. */
export const AUDIENCE_SECRET = randomBytes(16).toString("hex");

const claims = {
  iss: "https://gateway.example.com",
  sub: "01890a5d-ac96-774b-bcce-b302099a8057",
  aud: "https://mcp.example.com",
  email: "alice@example.com",
  groups: ["engineering"],
  jti: randomBytes(12).toString("hex"),
};

/** The whole value of `Authorization`, for a day. */
export function audienceBearer(): string {
  return `Bearer ${secretJwt(AUDIENCE_SECRET, claims)}`;
}
