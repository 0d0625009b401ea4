import { isOwnColumn, jsonKinds } from '../columns.ts';
import { readRows } from '../encode/both-tiers.ts';
import type { Cell } from '../encode/csv-cells.ts';
import { pickJson } from '../encode/field-path.ts';
import { createReEncoder, planColumns, reEncodeRows } from '../encode/re-encode.ts';
import { compressedName, type FileFormat, type FileOptions } from './format.ts';
import { proofOf, proveNdjson } from './prove.ts';
import { startBody } from './start-body.ts';

/**
 * NDJSON: one JSON object a line, without the members that have no value. With the columns of a record, in their order,
 * each line is the record as it was sent, which ingest accepts again.
 */
export function createNdjsonFormat(options: FileOptions): FileFormat {
  const { columns, compression } = options;
  const plan = planColumns(columns, pickJson);
  return {
    ...compressedName('application/x-ndjson', 'ndjson', compression),
    head: Buffer.alloc(0),
    tail: () => Buffer.alloc(0),
    startBody: (source, slice, bodyOptions) =>
      startBody(source, slice, {
        ...bodyOptions,
        form: {
          async openRows(snapshot, isHot) {
            if (!plan.hasPaths) {
              return readRows(snapshot, { kind: 'json', columns: plan.source }, isHot);
            }
            const rows = await readRows(snapshot, { kind: 'csv', columns: plan.source }, isHot);
            return reEncodeRows(rows, createReEncoder(plan, lineEncoder(columns)));
          },
          layout: () => null,
        },
      }),
    proof: proofOf(options),
    prove: (duckdb, written) => proveNdjson(duckdb, written, options),
  };
}

function lineEncoder(columns: readonly string[]): (cells: readonly Cell[]) => string {
  const members = columns.map((name) => ({
    key: `${JSON.stringify(name)}:`,
    // The value of a field path is JSON text already, as it is spelled in the source.
    isRaw: !isOwnColumn(name) || jsonKinds[name] === 'raw',
  }));
  return (cells) => {
    let text = '';
    members.forEach(({ key, isRaw }, at) => {
      const cell = cells[at] ?? null;
      if (cell === null) return;
      text += `${text === '' ? '' : ','}${key}${isRaw ? cell.text : JSON.stringify(cell.text)}`;
    });
    return `{${text}}\n`;
  };
}
