/** Time comes in as an argument, so that tests can move it. Milliseconds since 1970. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
