import { describe, expect, it } from 'vitest';
import { defaultColumns, exportColumns, recordColumns } from '../../api/values.ts';
import { parsePaths } from './choice.ts';

describe('defaultColumns', () => {
  it('has the split only where there are splits, and of NDJSON the record as it was sent', () => {
    expect(defaultColumns('csv', true)).toEqual(exportColumns);
    expect(defaultColumns('parquet', false)).not.toContain('split');
    expect(defaultColumns('ndjson', true)).toEqual(recordColumns);
  });
});

describe('parsePaths', () => {
  it('takes paths with and without their first name, once each', () => {
    expect(parsePaths('origin.iata, enrichment.score\nscore,,').paths).toEqual([
      'enrichment.origin.iata',
      'enrichment.score',
    ]);
  });

  it('says what is no path', () => {
    expect(parsePaths('a..b').fault).toContain('a..b');
    expect(parsePaths('')).toEqual({ paths: [], fault: null });
  });
});
