/** Bytes of an answer between the text around them. */
import type { Socket } from "node:net";

/** In one write to the system, without copying the bytes. @returns false when "drain" is to be waited for */
export function writeTogether(socket: Socket, before: string, bytes: Buffer, after: string): boolean {
  if (before === "" && after === "") return socket.write(bytes);
  socket.cork();
  if (before !== "") socket.write(before, "latin1");
  let takesMore = socket.write(bytes);
  if (after !== "") takesMore = socket.write(after, "latin1");
  socket.uncork();
  return takesMore;
}
