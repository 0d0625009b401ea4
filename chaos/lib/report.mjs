import { formatCount, goal, markdownTable } from '../../bench/lib/table.mjs';

/**
 * How what a suite counted is shown and judged. Each fact and violation is a text and the name of its count; a violation
 * must be nothing, and a fact that stands in `bounds` not more than the count named there.
 *
 * @param {{ facts: string[][], violations: string[][], bounds?: Record<string, { name: string, text: string }> }} counts
 */
export function makeReport({ facts, violations, bounds = {} }) {
  const isWithin = (found, name) =>
    bounds[name] === undefined || found[name] <= found[bounds[name].name];
  const mustBe = (found, name) =>
    bounds[name] === undefined ? '' : goal(`≤ ${bounds[name].text}`, isWithin(found, name));
  return {
    reportTable: (found) =>
      markdownTable(
        ['counted', 'times:', 'must be'],
        [
          ...facts.map(([text, name]) => [text, formatCount(found[name]), mustBe(found, name)]),
          ...violations.map(([text, name]) => [
            text,
            formatCount(found[name]),
            goal('0', found[name] === 0),
          ]),
        ],
      ),
    isKept: (found) =>
      violations.every(([, name]) => found[name] === 0) &&
      Object.keys(bounds).every((name) => isWithin(found, name)),
  };
}
