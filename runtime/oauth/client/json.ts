/** JSON that somebody else wrote. */
import { parseForeignJson } from "../../shared/json/foreign-json.ts";

/** @returns undefined when the bytes are no JSON text */
export function parseJson(bytes: Buffer): unknown {
  try {
    return parseForeignJson(bytes);
  } catch {
    return undefined;
  }
}
