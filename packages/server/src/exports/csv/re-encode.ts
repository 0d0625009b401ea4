import { StringDecoder } from 'node:string_decoder';
import { type ExportColumn, exportColumns, type Profile } from '../contract.ts';
import { dialects } from './encode-row.ts';
import { pickField } from './field-path.ts';
import { type Cell, MachineCsvReader } from './machine-csv.ts';

/** How to make the columns asked for out of columns that a tier can write. */
export type ColumnPlan = {
  /** What the tier writes, as machine CSV. */
  readonly source: readonly ExportColumn[];
  /** What the file shows, in order. */
  readonly names: readonly string[];
  /** Whether the tier's bytes are the file's bytes. */
  readonly isPlain: boolean;
  pick(row: readonly Cell[]): Cell[];
};

export function planColumns(names: readonly string[], profile: Profile): ColumnPlan {
  const own = names.filter(isOwnColumn);
  const hasPaths = own.length < names.length;
  const source = hasPaths && !own.includes('enrichment') ? [...own, 'enrichment' as const] : own;
  const enrichmentAt = source.indexOf('enrichment');
  const picks = names.map((name) => {
    if (isOwnColumn(name)) {
      const at = source.indexOf(name);
      return (row: readonly Cell[]) => row[at] ?? null;
    }
    const path = name.split('.').slice(1);
    return (row: readonly Cell[]) => pickField(row[enrichmentAt]?.text ?? '{}', path);
  });
  return {
    source,
    names,
    isPlain: profile === 'machine' && !hasPaths,
    pick: (row) => picks.map((pick) => pick(row)),
  };
}

/** Turns pieces of machine CSV without header, whatever tier wrote them, into the file asked for. */
export type ReEncoder = {
  /** What comes before the rows. */
  readonly head: Buffer;
  /** The rows that are whole after this piece, which may end anywhere. */
  encode(piece: Buffer): Buffer;
};

/** One implementation for all tiers: it reads what they write alike. */
export function createReEncoder(
  plan: ColumnPlan,
  options: { profile: Profile; header: boolean },
): ReEncoder {
  const dialect = dialects[options.profile];
  const header = plan.names
    .map((name) => dialect.encode({ text: name, isText: /[",\r\n]/.test(name) }))
    .join(',');
  const head = Buffer.from(dialect.start + (options.header ? header + dialect.lineEnd : ''));
  if (plan.isPlain) return { head, encode: (piece) => piece };
  const decoder = new StringDecoder('utf8');
  const reader = new MachineCsvReader();
  return {
    head,
    encode(piece) {
      let text = '';
      for (const row of reader.read(decoder.write(piece))) {
        text += plan.pick(row).map(dialect.encode).join(',') + dialect.lineEnd;
      }
      return Buffer.from(text);
    },
  };
}

function isOwnColumn(name: string): name is ExportColumn {
  return exportColumns.some((column) => column === name);
}
