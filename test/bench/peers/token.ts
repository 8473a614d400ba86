/** The token that proxies with a key of their own verify: HS256, as large as one of the gateway's own. */
import { createHmac, randomBytes } from "node:crypto";

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
  const now = Math.floor(Date.now() / 1000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ ...claims, iat: now, exp: now + 86_400 })}`;
  return `Bearer ${signed}.${createHmac("sha256", AUDIENCE_SECRET).update(signed).digest("base64url")}`;
}
