import { dayKey, isSameTriple, type SegmentDay, sumTriples } from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import type { CataloguedDay, LiveSegment } from './queries.ts';
import { counterAdvice, describeTriple, number, segmentProblem } from './report.ts';

/** Compares the days that the catalogue has of a segment with those that its object holds. */
export function compareDays(
  segment: LiveSegment,
  catalogued: readonly CataloguedDay[],
  held: readonly SegmentDay[],
): VerifyProblem[] {
  const problems: VerifyProblem[] = [];
  const found = new Map(held.map((day) => [dayKey(day), day]));
  for (const day of catalogued) {
    const key = dayKey(day);
    problems.push(...compareDay(segment, day, found.get(key)));
    found.delete(key);
  }
  for (const day of found.values()) problems.push(...compareDay(segment, undefined, day));
  problems.push(...compareSums(segment, catalogued));
  return problems;
}

const emptyTriple = sumTriples([]);

function compareDay(
  segment: LiveSegment,
  said: CataloguedDay | undefined,
  found: SegmentDay | undefined,
): VerifyProblem[] {
  const { store, day } = said ?? found ?? { store: null, day: null };
  const problem = (kind: VerifyProblem['kind'], message: string): VerifyProblem => ({
    ...segmentProblem(kind, segment, `${store} ${day}: ${message} ${counterAdvice}`),
    store,
    first_day: day,
    last_day: day,
  });
  if (!isSameTriple(said ?? emptyTriple, found ?? emptyTriple)) {
    const message = `the catalogue says ${describeTriple(said ?? emptyTriple)}; the object holds ${describeTriple(found ?? emptyTriple)}.`;
    return [problem('triple_mismatch', message)];
  }
  if (said !== undefined && found !== undefined && said.first_row !== found.first_row) {
    const message = `the catalogue says that its rows begin at ${number(said.first_row)}; in the object they begin at ${number(found.first_row)}.`;
    return [problem('order_mismatch', message)];
  }
  return [];
}

/** Checks that the days of a segment in the catalogue add up to the segment. */
function compareSums(segment: LiveSegment, days: readonly CataloguedDay[]): VerifyProblem[] {
  const sum = sumTriples(days);
  const storedBytes = days.reduce((total, day) => total + day.stored_bytes, 0);
  const problems: VerifyProblem[] = [];
  if (!isSameTriple(segment, sum)) {
    const message = `The catalogue says of the segment ${describeTriple(segment)}; its days there add up to ${describeTriple(sum)}. ${counterAdvice}`;
    problems.push(segmentProblem('triple_mismatch', segment, message));
  }
  if (storedBytes !== segment.size_bytes) {
    const message = `The object has ${number(segment.size_bytes)} bytes; the shares of its days in the catalogue add up to ${number(storedBytes)}. ${counterAdvice}`;
    problems.push(segmentProblem('counter_mismatch', segment, message));
  }
  return problems;
}
