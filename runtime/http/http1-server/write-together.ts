/** Writes bytes of a response with text before and after them. */
import type { Socket } from "node:net";

/** Uses one write to the system, without copying the bytes. @returns false if the caller should wait for "drain" */
export function writeTogether(socket: Socket, before: string, bytes: Buffer, after: string): boolean {
  if (before === "" && after === "") return socket.write(bytes);
  socket.cork();
  if (before !== "") socket.write(before, "latin1");
  let takesMore = socket.write(bytes);
  if (after !== "") takesMore = socket.write(after, "latin1");
  socket.uncork();
  return takesMore;
}
