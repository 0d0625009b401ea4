import { describe, expect, it } from 'vitest';
import { exportColumns as serverColumns } from '../../../../server/src/exports/contract.ts';
import { exportColumns, parsePaths } from './export-columns.ts';

describe('exportColumns', () => {
  it('are those of the service', () => {
    expect(exportColumns).toEqual(serverColumns);
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
