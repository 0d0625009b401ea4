import { useEffect, useRef, useState } from 'react';
import { ApiError, api, errorOf, reportSessionEnd } from '../../api/client.ts';
import type { ExportRequest } from '../../api/types.ts';
import { basePath, type Compression, type ExportFormat } from '../../api/values.ts';

/** Where an export is; `rows` is null where none can be counted. Of `downloading` the page does not see the end. */
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

/** Whether an export is on its way. */
export function isUnderWay({ step }: ExportState): boolean {
  return step === 'running' || step === 'starting';
}

/** Whether an export has come to its good end, as far as this page sees it. */
export function hasEnded({ step }: ExportState): boolean {
  return step === 'done' || step === 'downloading';
}

/** What its bytes are. */
type FileKind = { format: ExportFormat; compression: Compression; hasHeader: boolean };

/** What to export, and under which name. */
type ExportOrder = FileKind & { body: ExportRequest; fileName: string };

/** Runs exports, one at a time. A running export ends when its page does. */
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

/** Streams the export into a file that the person picks. */
async function toFile(order: ExportOrder, signal: AbortSignal, setState: SetState): Promise<void> {
  const file = await pickFile(order.fileName, order.format);
  if (file === null) return;
  setState({ step: 'starting' });
  const since = performance.now();
  const result = await runExport(order, await file.open(), signal, (progress) =>
    setState({ step: 'running', file: file.name, since, ...progress }),
  );
  setState({ step: 'done', file: file.name, result, millis: performance.now() - since });
}

/** Lets the browser download by itself, through a link that is valid once. This works for any size. */
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

/** Makes the browser ask before it leaves the page while an export runs. */
function useWarningBeforeLeaving(isRunning: boolean): void {
  useEffect(() => {
    if (!isRunning) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isRunning]);
}

// The part of the File System Access API that is used here. Chromium has it in secure contexts; TypeScript's DOM types
// lack it.
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

/** Whether this browser can ask where to save a file. If not, it downloads through a link. */
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

/** Asks where to save the file; null when the person cancels. Browsers allow this only in answer to a click. */
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

/** The file type for the picker, by the last ending of the name: otherwise the browser would append another ending. */
function typeOf(name: string, format: ExportFormat) {
  if (name.endsWith('.gz')) return zipped['.gz'];
  return name.endsWith('.zst') ? zipped['.zst'] : types[format];
}

/** Opens the picked file for writing. */
async function openFile(handle: FileHandle): Promise<ExportTarget> {
  // The browser writes to a temporary file, and replaces the file of that name only at `close`.
  const stream = await handle.createWritable();
  return {
    write: (chunk) => stream.write(chunk),
    close: () => stream.close(),
    async discard() {
      try {
        await stream.abort();
        // The picker has made an empty file, which must not be mistaken for a finished export.
        await handle.remove?.();
      } catch {
        // The file is closed already or its folder is gone; either way nothing half-written has this name.
      }
    },
  };
}

/** The file to which an export is written. `discard` removes what was written so far. */
type ExportTarget = {
  write: (chunk: Uint8Array) => Promise<void>;
  close: () => Promise<void>;
  discard: () => Promise<void>;
};

/** How far an export is. `rows` is null when they cannot be counted in the bytes. */
type ExportProgress = { rows: number | null; bytes: number };

type ExportResult = ExportProgress & {
  /** The number of rows that the service announced (X-Record-Count). */
  expectedRows: number;
};

/** After this long without bytes the export has failed. The service resets slow readers after 60 s, too. */
const stallMillis = 60_000;
const reportMillis = 100;

/**
 * Streams an export from the service into a file, holding only one chunk in memory. Resolves only if as many records
 * were written as the service announced, where they can be counted; otherwise it discards the file and throws. It tells
 * how far it is at most every 100 ms, and once before the first byte, when the number of rows is known.
 */
async function runExport(
  order: ExportOrder,
  target: ExportTarget,
  signal: AbortSignal,
  onProgress: (progress: ExportResult) => void,
): Promise<ExportResult> {
  const stall = new AbortController();
  let timer = setTimeout(() => stall.abort(), stallMillis);
  try {
    const response = await request(order, AbortSignal.any([signal, stall.signal]));
    const expectedRows = Number(response.headers.get('x-record-count') ?? Number.NaN);
    const counter = createCounter(order);
    let reportedAt = performance.now();
    onProgress({ rows: counter.rows(), bytes: 0, expectedRows });
    const reader = response.body?.getReader();
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      clearTimeout(timer);
      counter.add(part.value);
      await target.write(part.value);
      // If everything has arrived already, there is no request left that the abort could end.
      signal.throwIfAborted();
      timer = setTimeout(() => stall.abort(), stallMillis);
      if (performance.now() - reportedAt < reportMillis) continue;
      reportedAt = performance.now();
      onProgress({ rows: counter.rows(), bytes: counter.bytes(), expectedRows });
    }
    const rows = counter.end();
    if (rows !== null && rows !== expectedRows) throw rowsDiffer(rows, expectedRows);
    await target.close();
    return { rows, bytes: counter.bytes(), expectedRows };
  } catch (cause) {
    await target.discard();
    if (signal.aborted || cause instanceof ApiError) throw cause;
    throw new ApiError(
      {
        status: 0,
        code: stall.signal.aborted ? 'timeout' : 'connection_lost',
        detail: stall.signal.aborted
          ? `No data for ${stallMillis / 1000} s. The unfinished file was removed.`
          : `The export broke off: ${cause instanceof Error ? cause.message : String(cause)}. The unfinished file was removed.`,
      },
      { cause },
    );
  } finally {
    clearTimeout(timer);
  }
}

/** Asks for the export. Throws an ApiError when the service refuses it. */
async function request(order: ExportOrder, signal: AbortSignal): Promise<Response> {
  const response = await fetch(`${basePath}/exports/${order.format}`, {
    method: 'POST',
    credentials: 'same-origin',
    cache: 'no-store',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(order.body),
    signal,
  });
  if (response.ok) return response;
  if (response.status === 401) reportSessionEnd();
  throw errorOf(response.status, response.headers, await response.text());
}

function rowsDiffer(rows: number, expectedRows: number): ApiError {
  return new ApiError({
    status: 0,
    code: 'rows_differ',
    detail: `The file got ${rows} rows, but the service announced ${expectedRows}. It was removed: export again.`,
  });
}

const quote = 0x22;
const lineFeed = 0x0a;

/** Counts the bytes of a file while it streams by, and its records where they can be counted. */
type Counter = {
  add(chunk: Uint8Array): void;
  /** Records so far; one counts once its line break has come. Null when they cannot be counted. */
  rows(): number | null;
  /** Records in all, to be asked after the last chunk: it includes a last record without a line break. */
  end(): number | null;
  bytes(): number;
};

/**
 * Makes a counter for a file. It counts the line breaks of plain text: those inside the quotes of a CSV belong to a cell,
 * and NDJSON has none inside its lines. In compressed files and Parquet it sees no records.
 */
export function createCounter({ format, compression, hasHeader }: FileKind): Counter {
  const isCounted = format !== 'parquet' && compression === 'none';
  const isCsv = format === 'csv';
  let records = isCsv && hasHeader ? -1 : 0;
  let sizeBytes = 0;
  let isQuoted = false;
  let isAtStart = true;
  const rows = () => (isCounted ? Math.max(0, records) : null);
  return {
    add(chunk) {
      sizeBytes += chunk.length;
      if (!isCounted || chunk.length === 0) return;
      // A doubled quote inside a cell toggles twice, which leaves the state as it was.
      for (let index = 0; index < chunk.length; index += 1) {
        const byte = chunk[index];
        if (byte === quote && isCsv) isQuoted = !isQuoted;
        else if (byte === lineFeed && !isQuoted) records += 1;
      }
      isAtStart = !isQuoted && chunk[chunk.length - 1] === lineFeed;
    },
    rows,
    end() {
      if (!isAtStart) records += 1;
      return rows();
    },
    bytes: () => sizeBytes,
  };
}
