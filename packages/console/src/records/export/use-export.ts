import { useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Compression, ExportFormat, ExportRequest } from '../../api/types.ts';
import { type ExportResult, type ExportTarget, runExport } from './export-run.ts';

export type ExportState =
  | { step: 'ready' }
  | { step: 'starting' }
  | {
      step: 'running';
      file: string;
      rows: number | null;
      bytes: number;
      expectedRows: number;
      since: number;
    }
  | { step: 'done'; file: string; result: ExportResult; millis: number }
  | { step: 'downloading'; rowCount: number }
  | { step: 'cancelled' }
  | { step: 'failed'; error: Error };

type ExportOrder = {
  format: ExportFormat;
  compression: Compression;
  hasHeader: boolean;
  body: ExportRequest;
  fileName: string;
};

/** One export at a time. It ends with the page that started it. */
export function useExport(): {
  state: ExportState;
  start: (order: ExportOrder) => Promise<void>;
  cancel: () => void;
  reset: () => void;
} {
  const [state, setState] = useState<ExportState>({ step: 'ready' });
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  useWarningBeforeLeaving(state.step === 'running');
  const start = async (order: ExportOrder) => {
    const control = new AbortController();
    abort.current = control;
    try {
      if (canPickFile()) await toFile(order, control.signal, setState);
      else await byLink(order, control.signal, setState);
    } catch (error) {
      if (control.signal.aborted) setState({ step: 'cancelled' });
      else
        setState({
          step: 'failed',
          error: error instanceof Error ? error : new Error(String(error)),
        });
    }
  };
  return {
    state,
    start,
    cancel: () => abort.current?.abort(),
    reset: () => setState({ step: 'ready' }),
  };
}

type SetState = (state: ExportState) => void;

async function toFile(order: ExportOrder, signal: AbortSignal, setState: SetState): Promise<void> {
  const file = await pickFile(order.fileName, order.format);
  if (file === null) return;
  setState({ step: 'starting' });
  const since = performance.now();
  const result = await runExport({
    format: order.format,
    compression: order.compression,
    hasHeader: order.hasHeader,
    body: order.body,
    target: await file.open(),
    signal,
    now: () => performance.now(),
    onProgress: (progress) => setState({ step: 'running', file: file.name, since, ...progress }),
  });
  setState({ step: 'done', file: file.name, result, millis: performance.now() - since });
}

/** The browser downloads by itself, at any size, by a link that works once. */
async function byLink(order: ExportOrder, signal: AbortSignal, setState: SetState): Promise<void> {
  setState({ step: 'starting' });
  const link = await api.post<{ url: string; row_count: number }>(
    `/exports/${order.format}`,
    { ...order.body, delivery: 'link' },
    { signal },
  );
  const anchor = document.createElement('a');
  anchor.href = link.url;
  anchor.download = order.fileName;
  anchor.click();
  setState({ step: 'downloading', rowCount: link.row_count });
}

function useWarningBeforeLeaving(isRunning: boolean): void {
  useEffect(() => {
    if (!isRunning) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isRunning]);
}

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

type PickedFile = { name: string; open(): Promise<ExportTarget> };

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
async function pickFile(suggestedName: string, format: ExportFormat): Promise<PickedFile | null> {
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
