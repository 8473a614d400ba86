import { Pieces } from "../../shared/http/pieces.ts";

/** The whole body of a response. The rest of a longer one is cancelled. @returns undefined when it is longer */
export async function readAnswer(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  const pieces = new Pieces();
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    pieces.add(chunk);
  }
  return pieces.whole();
}
