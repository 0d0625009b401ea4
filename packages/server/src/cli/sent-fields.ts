import { Option } from 'commander';
import { asDefault } from './help.ts';
import { flagsOf, type OptionRow } from './verb.ts';

/** The options that say what a command does with an answer, and nothing to the service, which takes the days of a quarter. */
const ownOptions: readonly string[] = [
  'json',
  'output',
  'header',
  'yes',
  'wait',
  'dryRun',
  'quarter',
  'local',
];

/** What options say to the service, by its names. */
export function fieldsSent(rows: readonly OptionRow[], given: object): Record<string, unknown> {
  const named = fieldNames(rows);
  const sent = Object.entries(given).filter(([name]) => !ownOptions.includes(name));
  return Object.fromEntries(
    sent.map(([name, value]) => [named[name] ?? name, value === asDefault ? null : value]),
  );
}

/** The names that the options have in the API, by those that commander gives them. */
export function fieldNames(rows: readonly OptionRow[]): Record<string, string> {
  const names = rows.map((row) => {
    const name = new Option(flagsOf(row)).attributeName();
    const field = row instanceof Option ? undefined : row[3];
    return [name, field ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
  });
  return Object.fromEntries(names.filter(([name = '']) => !ownOptions.includes(name)));
}
