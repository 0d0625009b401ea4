import type {
  Compression,
  DatasetName,
  ExportFormat,
  ExportRequest,
  Profile,
  SplitName,
} from '../../exports/types.ts';
import type { SliceParams } from '../search.ts';

/** All that the export panel lets choose. */
export type ExportChoice = {
  slice: SliceParams;
  kind?: string | undefined;
  dataset?: DatasetName | undefined;
  /** Takes the place of store, days, kind and dataset: a version is of a whole tenant. */
  version?: { id: string; name: string } | undefined;
  split?: SplitName | undefined;
  format: ExportFormat;
  /** Not of Parquet, which compresses by itself. */
  compression: Compression;
  /** Undefined: those by default. */
  columns?: readonly string[] | undefined;
  /** CSV only, as `header`. */
  profile: Profile;
  header: boolean;
};

/** Which records, in the words of the API: for the estimate and for the export alike. */
export function selectionOf(
  choice: ExportChoice,
): Pick<
  ExportRequest,
  'tenant' | 'store' | 'month' | 'from' | 'to' | 'kind' | 'dataset' | 'version' | 'split'
> {
  const { slice, kind, dataset, version, split } = choice;
  if (version !== undefined) {
    return { tenant: slice.tenant, version: version.id, ...(split !== undefined && { split }) };
  }
  return {
    ...slice,
    ...(kind !== undefined && { kind }),
    ...(dataset !== undefined && { dataset }),
  };
}

/** The body of the request: nothing in it that its format does not know. */
export function bodyOf(choice: ExportChoice): ExportRequest {
  const { format, compression, columns, profile, header } = choice;
  return {
    ...selectionOf(choice),
    ...(columns !== undefined && { columns: [...columns] }),
    ...(format !== 'parquet' && compression !== 'none' && { compression }),
    ...(format === 'csv' && { profile, header }),
  };
}

const endings = { none: '', gzip: '.gz', zstd: '.zst' } as const;

/** Such as `TX_DFW_2001-03.csv.gz`, with nothing in it that a file system could refuse. */
export function fileName(choice: ExportChoice): string {
  const { format, compression, version, split, dataset, kind, slice } = choice;
  const { tenant, store, month, from, to } = slice;
  const parts =
    version === undefined
      ? [tenant, store, month, from, to, kind, dataset]
      : [tenant, version.name, split];
  const name = parts.filter((part) => part !== undefined).join('_');
  const ending = format === 'parquet' ? '' : endings[compression];
  return `${name.replace(/[^\p{L}\p{N}._-]/gu, '-')}.${format}${ending}`;
}

/** Above this many rows a job is the better way. */
const manyRows = 500_000;

export type Way = 'now' | 'job';

/** Which way is better for so many rows; none while they are not known. */
export function betterWay(rows: number | undefined): Way {
  return rows !== undefined && rows > manyRows ? 'job' : 'now';
}
