/**
 * True for the status of an answer. 1xx announces one, and numbers above 599 or below 100 mean nothing (RFC 9110 §15): readers of
 * HTTP disagree on them, and node:http refuses to send them.
 */
export function isFinalStatus(status: number): boolean {
  return status >= 200 && status <= 599;
}
