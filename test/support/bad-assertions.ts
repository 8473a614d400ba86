/** Values of `X-Gateway-Assertion` that an upstream must reject: empty, nonsense, and signed by others. */
import { generateKeyPair, SignJWT } from "jose";

/** @param origin of the gateway, whose key's name the forged one has */
export async function badAssertions(origin: string): Promise<readonly (string | undefined)[]> {
  const host = new URL(origin).hostname;
  const { privateKey } = await generateKeyPair("ES256");
  const { keys } = (await (await fetch(`${origin}/.well-known/gateway/jwks.json`)).json()) as {
    readonly keys: readonly { readonly kid: string }[];
  };
  const forged = await new SignJWT({ email: "alice@example.com", groups: [] })
    .setProtectedHeader({ alg: "ES256", kid: keys[0]?.kid ?? "" })
    .setSubject("u")
    .setIssuer(host)
    .setAudience(host)
    .setIssuedAt()
    .setExpirationTime("1m")
    .sign(privateKey);
  const none = [{ alg: "none" }, { sub: "u", iss: host, aud: host, iat: 1, exp: 9_999_999_999 }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  return [undefined, "forged", forged, `${none.join(".")}.`];
}
