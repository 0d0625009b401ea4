import type { Client } from './client.ts';
import type { Connection } from './connection.ts';
import { createWriter, type Io, styled, type Writer } from './io.ts';

/** What every command is given. */
export type Context = {
  readonly io: Io;
  /** Writes to stdout, which gets data only. */
  readonly out: Writer;
  /** Whether a person reads stdout. */
  readonly isTerminal: boolean;
  /** Prints a line on stderr. */
  note(line: string): void;
  /** Prints a line on stderr, but only at a terminal: it is for people. */
  hint(line: string): void;
  /** The value of the global option --profile. */
  profile(): string | undefined;
  /** Finds the service and makes its client. Throws `token_missing`, `usage_invalid`. */
  connect(): Promise<Client>;
  /** The connection in use; undefined before `connect`. */
  connection(): Connection | undefined;
};

export function createContext(io: Io, profile: () => string | undefined): Context {
  // stderr may be closed, too. Then nobody is left to be told.
  io.stderr.on('error', () => {});
  let connection: Connection | undefined;
  const note = (line: string) => {
    io.stderr.write(`${line}\n`);
  };
  return {
    io,
    out: createWriter(io.stdout),
    isTerminal: io.stdout.isTTY === true,
    note,
    hint(line) {
      if (io.stderr.isTTY === true) note(styled(io, io.stderr, 'dim', line));
    },
    profile,
    connection: () => connection,
    async connect() {
      const flag = profile();
      if (flag !== undefined && io.env.SVC_TOKEN) {
        note(`note: SVC_TOKEN is set and goes before --profile ${flag}`);
      }
      // Loaded only here, so that --help and --version start faster.
      const [{ findConnection }, { createClient }] = await Promise.all([
        import('./connection.ts'),
        import('./client.ts'),
      ]);
      connection = await findConnection(io, flag);
      return createClient(io, connection);
    },
  };
}
