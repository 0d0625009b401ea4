import { compileWhere } from '../../../kernel/where/evaluate.ts';
import { JsonTree } from '../../../kernel/where/json-tree.ts';
import { numberKey } from '../../../kernel/where/number-key.ts';
import type { RecordRow } from '../../queries.ts';
import { type Column, columnTypes, type Where } from '../where.ts';

/** Says whether a record fits, by the evaluator that knows no SQL. */
export function evaluate(where: Where, record: RecordRow): boolean {
  const columns = Object.fromEntries(
    Object.keys(columnTypes).map((name) => [name, columnOf(record, name as Column)]),
  ) as Record<Column, JsonTree | undefined>;
  const subject = { object: new JsonTree(record.enrichment), columns };
  const holds = compileWhere(where)(subject, { steps: Number.POSITIVE_INFINITY });
  if (holds === null) throw new Error('a budget without an end was spent');
  return holds;
}

/** A column as JSON; undefined where the record has none. */
function columnOf(record: RecordRow, column: Column): JsonTree | undefined {
  const value = record[column];
  if (value === null) return undefined;
  return new JsonTree(columnTypes[column] === 'number' ? String(value) : JSON.stringify(value));
}

/**
 * The text by which records are grouped that have this value, JSON text as it was sent; null for one that is a group by
 * itself.
 */
export function groupKey(record: RecordRow, path: readonly string[]): string | null {
  const found = path.reduce<JsonTree | undefined>(
    (at, step) => at?.at(step),
    new JsonTree(record.enrichment),
  );
  const json = found?.text ?? '{}';
  if (json.startsWith('"')) return `"${JSON.parse(json) as string}`;
  if (/^[-0-9]/.test(json)) return numberKey(json);
  return /^[tfn]/.test(json) ? json : null;
}
