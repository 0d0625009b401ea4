import pino, { type Logger } from 'pino';

export type Log = Logger;

/** A log of JSON lines on stderr, written synchronously so that a crash loses none. It never shows a token. */
export function createLog(level: string): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: ['req.headers.authorization', 'authorization', 'token'],
    },
    pino.destination({ fd: 2, sync: true }),
  );
}
