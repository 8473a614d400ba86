/** For events that say nothing new to whoever listens: without a listener an "error" would end the process. */
export function ignore(): void {}
