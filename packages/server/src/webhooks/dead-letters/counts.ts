/** For everything that moves rows into or out of `pending` and `abandoned`. */
export { type CountDelta, shiftCounts } from './queries.ts';
