import pino, { type Logger } from 'pino';

export type Log = Logger;

/** JSON lines on stderr: stdout belongs to the command's own output. */
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
