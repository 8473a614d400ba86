/** Records of answers that clients gave to another process than the one that waits for them. */
import { firstFormats } from "../../store/formats.ts";

export const MCP_ANSWER_FORMATS = firstFormats(["mcp-answer"]);

export interface AnswerRecord {
  /** The client's response, sealed with the key of its record. */
  readonly sealed: string;
}

export function answerKey(id: string): string {
  return `mcp-answer:${id}`;
}
