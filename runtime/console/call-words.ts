/** What a recorded request asked for, in few words. */
import type { KeptRecord } from "../record-store/record-reader.ts";
import { showUntrusted } from "./show-untrusted.ts";

/** "tool merge", "tools/list", "GET /a". */
export function callWords({ tool, value }: Pick<KeptRecord, "tool" | "value">): string {
  if (tool !== undefined) return `tool ${showUntrusted(tool)}`;
  const mcpMethod = value["mcp-method"];
  if (typeof mcpMethod === "string" && mcpMethod !== "") return showUntrusted(mcpMethod);
  return showUntrusted([value["method"], value["path"]].filter((each) => typeof each === "string").join(" "));
}
