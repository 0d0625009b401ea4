import { recordColumns } from '../../contract.ts';
import type { FileOptions } from '../format.ts';

/**
 * Whether a file holds all that the digest is made of, to the letter: a spreadsheet's cells are guarded
 * and know no NULL. In JSON the enrichment is found by standing last.
 */
export function proofOf({ format, columns, profile }: FileOptions): 'content' | 'rows' {
  const hasAll = recordColumns.every((name) => columns.includes(name));
  if (!hasAll || (format === 'csv' && profile !== 'machine')) return 'rows';
  if (format === 'ndjson' && columns.at(-1) !== 'enrichment') return 'rows';
  return 'content';
}
