import { useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Compression, ExportFormat, ExportRequest } from '../../exports/types.ts';
import type { ExportResult } from './export-run.ts';
import { runExport } from './export-run.ts';
import { canPickFile, pickFile } from './pick-file.ts';

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

export type ExportOrder = {
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
