/**
 * True for the status of a final response. 1xx announces one, and numbers above 599 or below 100 have no meaning
 * (RFC 9110 §15): readers of HTTP disagree on them, and node:http rejects them.
 */
export function isFinalStatus(status: number): boolean {
  return status >= 200 && status <= 599;
}
