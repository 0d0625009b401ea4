import { describe, expect, it } from 'vitest';
import {
  exportColumns as serverColumns,
  recordColumns as serverRecordColumns,
} from '../../../../server/src/exports/contract.ts';
import { defaultColumns, exportColumns, parsePaths, recordColumns } from './choice.ts';

describe('exportColumns', () => {
  it('are those of the service', () => {
    expect(exportColumns).toEqual(serverColumns);
    expect(recordColumns).toEqual(serverRecordColumns);
  });
});

describe('defaultColumns', () => {
  it('has the split only where there are splits, and of NDJSON the record as it was sent', () => {
    expect(defaultColumns('csv', true)).toEqual(serverColumns);
    expect(defaultColumns('parquet', false)).not.toContain('split');
    expect(defaultColumns('ndjson', true)).toEqual(serverRecordColumns);
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
