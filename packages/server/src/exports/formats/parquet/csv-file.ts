import { open } from 'node:fs/promises';

/** A file for DuckDB to read. */
export type CsvFile = {
  readonly path: string;
  /** In bytes. */
  longestRow: number;
  write(rows: Buffer): Promise<void>;
  close(): Promise<void>;
};

export async function openCsvFile(path: string): Promise<CsvFile> {
  const file = await open(path, 'wx', 0o600);
  return {
    path,
    longestRow: 0,
    async write(rows) {
      await file.writeFile(rows);
    },
    close: () => file.close(),
  };
}
