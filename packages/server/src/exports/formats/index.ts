import { createCsvFormat } from './csv.ts';
import type { FileFormat, FileOptions } from './format.ts';
import { createNdjsonFormat } from './ndjson.ts';
import { createParquetFormat } from './parquet/parquet.ts';

/** The format of a file; see `FileFormat`. */
export function createFormat(options: FileOptions): FileFormat {
  switch (options.format) {
    case 'csv':
      return createCsvFormat(options);
    case 'ndjson':
      return createNdjsonFormat(options);
    case 'parquet':
      return createParquetFormat(options);
  }
}
