/** Writes bytes of a message with text around them, in one write to the system. */
import type { Socket } from "node:net";

/** Does not copy the bytes. @returns false if the caller should wait for "drain" */
export function writeTogether(socket: Socket, before: string, bytes: Buffer, after: string): boolean {
  if (before === "" && after === "") return socket.write(bytes);
  socket.cork();
  if (before !== "") socket.write(before, "latin1");
  let takesMore = socket.write(bytes);
  if (after !== "") takesMore = socket.write(after, "latin1");
  socket.uncork();
  return takesMore;
}

/** Fewer bytes cost no less as a buffer than as text. */
const FEW_BYTES = 512;
/** Room for a short body and its head. */
const JOINED_BYTES = 24_576;
let joined = Buffer.allocUnsafeSlow(JOINED_BYTES);

/**
 * Copies bytes behind the text before them, into memory that all plain-text connections share: the system nearly always takes
 * everything immediately. As text, 4 KiB would be copied three times, into new memory each time.
 */
export function writeJoined(socket: Socket, text: string, bytes: Buffer): void {
  const length = text.length + bytes.length;
  if (bytes.length < FEW_BYTES || length > JOINED_BYTES) {
    socket.write(text + bytes.toString("latin1"), "latin1");
    return;
  }
  joined.write(text, 0, "latin1");
  joined.set(bytes, text.length);
  socket.write(joined.subarray(0, length));
  // The rest of it waits in this memory.
  if (socket.writableLength > 0) joined = Buffer.allocUnsafeSlow(JOINED_BYTES);
}
