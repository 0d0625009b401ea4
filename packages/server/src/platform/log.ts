import pino, { type DestinationStream, type LogFn, type Logger } from 'pino';
import { AppError, type ErrorCode } from '../kernel/errors.ts';
import { translateDatabaseError } from './postgres/errors.ts';

export type Log = Logger;

/** Faults that meet whatever is under way, again and again until they are over. */
const outages: readonly unknown[] = [
  ...(['database_unavailable', 'read_only', 'database_full', 'query_timeout'] as const),
  ...(['not_ready', 'overloaded', 'connections_full'] as const),
];
const usualQuietMillis = 60_000;

/**
 * A log of JSON lines on stderr, written synchronously so that a crash loses none. It never shows a token, and of an error
 * of PostgreSQL not what quotes a row: `detail` ("Failing row contains …") and `where`. Of an outage each kind of line is
 * written once in `quietMillis`, the next time, or when the process exits, with how many it stands for (`lines`).
 */
export function createLog(
  level: string,
  to: DestinationStream = pino.destination({ fd: 2, sync: true }),
  quietMillis = usualQuietMillis,
): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: ['req.headers.authorization', 'authorization', 'token'],
      serializers: { err: tellError },
      hooks: { logMethod: createQuieting(quietMillis) },
    },
    to,
  );
}

/** Lines of one kind that were not written yet, and what writes the last of them. */
type Held = { lines: number; tell: (lines: number) => void };

/** Without it an outage of 75 s, with eight callers, wrote 1.3 MB: hundreds of lines that say the same. */
function createQuieting(quietMillis: number) {
  const kinds = new Map<string, Held>();
  const tellAll = () => {
    for (const { lines, tell } of kinds.values()) if (lines > 0) tell(lines);
  };
  function begin(kind: string): void {
    const held: Held = { lines: 0, tell: () => {} };
    if (kinds.size === 0) process.on('exit', tellAll);
    kinds.set(kind, held);
    setTimeout(() => {
      kinds.delete(kind);
      if (kinds.size === 0) process.off('exit', tellAll);
      if (held.lines === 0) return;
      begin(kind);
      held.tell(held.lines);
    }, quietMillis).unref();
  }
  return function write(this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const [fields, text] = args as unknown as [unknown, unknown];
    const code = level >= warnLevel ? codeOf(fields) : undefined;
    const kind = `${level} ${String(code)} ${String(text)} ${subjectOf(fields)}`;
    const held = outages.includes(code) ? kinds.get(kind) : undefined;
    if (held !== undefined) {
      held.lines += 1;
      held.tell = (lines) =>
        method.apply(this, [{ ...(fields as object), lines }, text] as unknown as typeof args);
      return;
    }
    if (outages.includes(code)) begin(kind);
    method.apply(this, args);
  };
}

const warnLevel = 40;

/** The code of the fault that a line tells of, also where it is told by an error of PostgreSQL. */
function codeOf(fields: unknown): ErrorCode | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  const { err, code } = fields as { err?: unknown; code?: ErrorCode };
  if (code !== undefined) return code;
  const fault = translateDatabaseError(err);
  return fault instanceof AppError ? fault.code : undefined;
}

/** What a line is about: lines about different things are not of one kind. */
function subjectOf(fields: unknown): string {
  const { tenant, target, source, job } = Object(fields) as Record<string, unknown>;
  return JSON.stringify([tenant, target, source, job]);
}

function tellError(error: Error): object {
  const told = pino.stdSerializers.err(error);
  return 'severity' in error ? { ...told, detail: undefined, where: undefined } : told;
}
