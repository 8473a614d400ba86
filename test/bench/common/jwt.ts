/** JWTs that are valid for a day. */
import { createHmac } from "node:crypto";

/** @param sign makes the signature of this text */
export function dayJwt(
  header: { readonly alg: string; readonly kid?: string },
  claims: object,
  sign: (text: string) => Buffer,
): string {
  const now = Math.floor(Date.now() / 1000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ ...header, typ: "JWT" })}.${part({ ...claims, iat: now, exp: now + 86_400 })}`;
  return `${text}.${sign(text).toString("base64url")}`;
}

/** HS256. */
export function secretJwt(secret: string, claims: object): string {
  return dayJwt({ alg: "HS256" }, claims, (text) => createHmac("sha256", secret).update(text).digest());
}
