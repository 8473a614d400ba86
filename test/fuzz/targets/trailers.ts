/** TE, Trailer and Connection, and trailers as lines "name: value": what may go on is harmless behind a body. */
import { connectionTokens, headerTraits, isHeaderText } from "../../../runtime/shared/http/header-traits.ts";
import {
  allowedTrailers,
  announcedTrailers,
  asksForTrailers,
  mayBeTrailer,
} from "../../../runtime/shared/http/trailers.ts";
import { latin1, must } from "../oracle.ts";

const NEVER = [
  "content-length",
  "transfer-encoding",
  "host",
  "authorization",
  "set-cookie",
  "cookie",
  "connection",
  "te",
  "trailer",
];

export function fuzz(data: Uint8Array): void {
  const lines = latin1(data).split("\n");
  const flat = lines.flatMap((line) => {
    const colon = line.indexOf(":");
    return colon === -1 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1)];
  });
  const allowed = allowedTrailers(flat, () => true) ?? [];
  for (let at = 0; at < allowed.length; at += 2) {
    const name = allowed[at] ?? "";
    must(!NEVER.includes(name) && !NEVER.includes(headerTraits(name).folded), "a trailer that means something", name);
    must(isHeaderText(allowed[at + 1] ?? "") && mayBeTrailer(name), "a trailer that is no text", name);
  }
  for (const line of lines) {
    const announced = announcedTrailers([line], () => true);
    must(announced === "" || announced.split(", ").every(mayBeTrailer), "announced, but may not come", announced);
    if (asksForTrailers(line)) must(/trailers/i.test(line), "nobody asked for trailers", line);
    must(!connectionTokens(line).some((each) => each.includes(",")), "two tokens as one", line);
  }
}
