/** Cookie headers: what is taken out is gone, and what stands twice is believed by nobody. */
import { parseCookies, readCookie, withoutCookies } from "../../../runtime/http/cookies.ts";
import type { Exchange } from "../../../runtime/http/exchange.ts";
import { must, mustEqual, partsOf } from "../oracle.ts";

const NAMES = ["__Host-gateway", "a", "b"];

export function fuzz(data: Uint8Array): void {
  const values = partsOf(data);
  const exchangeOf = (headers: readonly string[]): Exchange =>
    ({ headerValues: (name: string) => (name === "cookie" ? headers : []) }) as unknown as Exchange;
  const all = parseCookies(exchangeOf(values));
  for (const name of NAMES) {
    mustEqual(readCookie(exchangeOf(values), name) ?? null, all.get(name) ?? null, `two readers of ${name}`);
    const left = values
      .map((value) => withoutCookies(value, (each) => each === name))
      .filter((each) => each !== undefined);
    must(!parseCookies(exchangeOf(left)).has(name), "what was taken out is still there", left);
    must(!left.some((value) => hasName(value, name)), "an upstream would find it", left);
    for (const [other, value] of parseCookies(exchangeOf(left))) {
      mustEqual(value, all.get(other) ?? value, `taking ${name} out changed ${other}`);
    }
  }
}

const hasName = (header: string, name: string): boolean =>
  header.split(";").some((pair) => (pair.split("=")[0] ?? "").trim() === name);
