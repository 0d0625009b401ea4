import { formatBytes, formatClock } from './format.ts';
import { type Io, isAnimated } from './io.ts';
import { fitText } from './table.ts';

/** The progress bar of a long command. It is drawn on stderr, only on a terminal, at most ten times a second. */
export type Progress = {
  update(done: number, bytes: number): void;
  /** Removes the bar, so that what is printed next is on a clean line. */
  clear(): void;
};

export type ProgressOptions = {
  label: string;
  /** The total; 0 when it is unknown: then only what is done is shown, without a bar. */
  total: number;
  /** Describes what is done, such as "364,120 of 512,991 rows". */
  describe: (done: number) => string;
  /** Describes the speed, from the rate of what `update` calls bytes; by default in MB/s. */
  speed?: (perSecond: number) => string;
  /** Replaces speed and time left, for instance when the service knows them better. */
  pace?: () => string;
  /** The bytes that were done before this run, of a total of bytes: they count neither for the speed nor for the time left. */
  doneBefore?: number;
};

const redrawMillis = 100;
const barCells = 20;
const eraseLine = '\r\u001b[2K';

export function createProgress(io: Io, options: ProgressOptions): Progress {
  if (!isAnimated(io)) return { update: () => {}, clear: () => {} };
  const startedAt = io.now();
  let drawnAt = startedAt;
  let isDrawn = false;
  return {
    update(done, bytes) {
      const now = io.now();
      if (now - drawnAt < redrawMillis) return;
      drawnAt = now;
      isDrawn = true;
      const text = progressLine(options, { done, bytes, elapsedMillis: now - startedAt });
      io.stderr.write(eraseLine + fitText(text, (io.stderr.columns ?? 80) - 1));
    },
    clear() {
      if (isDrawn) io.stderr.write(eraseLine);
      isDrawn = false;
    },
  };
}

type ProgressState = { done: number; bytes: number; elapsedMillis: number };

/** `tx-q1.csv  ███████████████░░░░░  71 %   364,120 of 512,991 rows   92 MB/s   0:01 left` */
export function progressLine(options: ProgressOptions, state: ProgressState): string {
  const { speed = (perSecond) => `${formatBytes(perSecond)}/s`, doneBefore = 0 } = options;
  const bytes = state.bytes - doneBefore;
  const perSecond = Math.round((bytes * 1000) / Math.max(1, state.elapsedMillis));
  const pace = options.pace?.();
  const counted = `${options.describe(state.done)}   ${pace ?? speed(perSecond)}`.trimEnd();
  if (options.total === 0) return `${options.label}  ${counted}`;
  const share = Math.min(1, state.done / options.total);
  const full = Math.round(share * barCells);
  const bar = '█'.repeat(full) + '░'.repeat(barCells - full);
  const percent = `${String(Math.floor(share * 100)).padStart(3)} %`;
  const shareNow = share - doneBefore / options.total;
  const left =
    shareNow <= 0 || pace !== undefined
      ? ''
      : `   ${formatClock((state.elapsedMillis * (1 - share)) / shareNow)} left`;
  return `${options.label}  ${bar} ${percent}   ${counted}${left}`;
}
