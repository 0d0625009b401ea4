import pino, { type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

/**
 * A log of JSON lines on stderr, written synchronously so that a crash loses none. It never shows a token, and of an error
 * of PostgreSQL not what quotes a row: `detail` ("Failing row contains …") and `where`.
 */
export function createLog(
  level: string,
  to: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: ['req.headers.authorization', 'authorization', 'token'],
      serializers: { err: tellError },
    },
    to,
  );
}

function tellError(error: Error): object {
  const told = pino.stdSerializers.err(error);
  return 'severity' in error ? { ...told, detail: undefined, where: undefined } : told;
}
