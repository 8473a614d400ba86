/** Listener for events that carry no new information: without a listener an "error" would end the process. */
export function ignore(): void {}
