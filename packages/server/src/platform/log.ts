import pino, { type Logger } from 'pino';

export type Log = Logger;

/**
 * Makes a log that writes JSON lines to stderr, because stdout belongs to the command's own output. It writes
 * synchronously, so that the last lines before a crash are not lost, and never shows a token.
 */
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
