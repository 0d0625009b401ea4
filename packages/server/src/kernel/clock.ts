/** Tells the time in milliseconds since 1970. Code takes a clock as an argument, so that tests can move the time. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
