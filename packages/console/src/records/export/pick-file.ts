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

/** Asks where to save; null when nobody chose. Only in answer to a click. */
export async function pickFile(suggestedName: string): Promise<PickedFile | null> {
  const { showSaveFilePicker } = window as unknown as { showSaveFilePicker: Picker };
  try {
    const handle = await showSaveFilePicker({
      suggestedName,
      types: [{ description: 'CSV', accept: { 'text/csv': ['.csv'] } }],
    });
    return { name: handle.name, open: () => openFile(handle) };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return null;
    throw error;
  }
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
