import { raw, type Sql } from 'sql-template-tag';
import { answerBounds } from './values.ts';

/** The places of a histogram, from 1: one for each bound, and one for what took longer. */
const places = Array.from({ length: answerBounds.length + 1 }, (_, at) => at + 1);

const eachPlace = (expression: (place: number) => string): string =>
  `array[${places.map(expression).join(', ')}]`;

/** An aggregate: the histogram of the times in `millis`, a column; rows without a time are left out. */
export function timesOf(millis: string): Sql {
  const within = (place: number) => {
    const least = answerBounds[place - 2];
    const most = answerBounds[place - 1];
    const conditions = [
      ...(least === undefined ? [] : [`${millis} > ${least}`]),
      ...(most === undefined ? [] : [`${millis} <= ${most}`]),
    ];
    return `count(*) filter (where ${conditions.join(' and ')})`;
  };
  return raw(`${eachPlace(within)}::integer[]`);
}

/** The sum of two histograms, each of which may be missing. */
export function addedTimes(one: string, other: string): Sql {
  const sum = (place: number) => `coalesce(${one}[${place}], 0) + coalesce(${other}[${place}], 0)`;
  return raw(eachPlace(sum));
}

export function summedTimes(column: string): Sql {
  const sum = (place: number) => `coalesce(sum(${column}[${place}]), 0)`;
  return raw(`${eachPlace(sum)}::float8[]`);
}
