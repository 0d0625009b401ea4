import type { ExportFormat } from '../../exports/types.ts';
import type { ExportTarget } from './export-run.ts';

// The File System Access API: Chromium has it, in secure contexts; TypeScript's DOM types do not.
type FileHandle = {
  readonly name: string;
  createWritable(): Promise<{
    write(chunk: Uint8Array): Promise<void>;
    close(): Promise<void>;
    abort(): Promise<void>;
  }>;
  remove?(): Promise<void>;
};
type Picker = (options: {
  suggestedName: string;
  types: { description: string; accept: Record<string, string[]> }[];
}) => Promise<FileHandle>;

export type PickedFile = { name: string; open(): Promise<ExportTarget> };

export function canPickFile(): boolean {
  return 'showSaveFilePicker' in window;
}

const types = {
  csv: { description: 'CSV', accept: { 'text/csv': ['.csv'] } },
  ndjson: { description: 'NDJSON', accept: { 'application/x-ndjson': ['.ndjson'] } },
  parquet: { description: 'Parquet', accept: { 'application/vnd.apache.parquet': ['.parquet'] } },
};
const zipped = {
  '.gz': { description: 'gzip', accept: { 'application/gzip': ['.gz'] } },
  '.zst': { description: 'zstd', accept: { 'application/zstd': ['.zst'] } },
};

/** Asks where to save; null when nobody chose. Only in answer to a click. */
export async function pickFile(
  suggestedName: string,
  format: ExportFormat,
): Promise<PickedFile | null> {
  const { showSaveFilePicker } = window as unknown as { showSaveFilePicker: Picker };
  try {
    const handle = await showSaveFilePicker({
      suggestedName,
      types: [typeOf(suggestedName, format)],
    });
    return { name: handle.name, open: () => openFile(handle) };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return null;
    throw error;
  }
}

/** By the last ending of the name, which the browser would put behind another one otherwise. */
function typeOf(name: string, format: ExportFormat) {
  if (name.endsWith('.gz')) return zipped['.gz'];
  return name.endsWith('.zst') ? zipped['.zst'] : types[format];
}

async function openFile(handle: FileHandle): Promise<ExportTarget> {
  // Writes go to a swap file; what the name holds changes with `close` only.
  const stream = await handle.createWritable();
  return {
    write: (chunk) => stream.write(chunk),
    close: () => stream.close(),
    async discard() {
      try {
        await stream.abort();
        // The picker made an empty file, which must not look like a finished export.
        await handle.remove?.();
      } catch {
        // Already closed, or the folder is gone: nothing half-written can be left under the name.
      }
    },
  };
}
