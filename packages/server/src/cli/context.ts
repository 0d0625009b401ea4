import type { Client } from './client.ts';
import type { Connection } from './connection.ts';
import { createWriter, type Io, styled, type Writer } from './io.ts';

/** What every command is given. */
export type Context = {
  readonly io: Io;
  /** stdout: data only. */
  readonly out: Writer;
  /** Whether a person reads stdout. */
  readonly isTerminal: boolean;
  /** A line on stderr. */
  note(line: string): void;
  /** A line on stderr that only a person at a terminal wants. */
  hint(line: string): void;
  /** The global option --profile. */
  profile(): string | undefined;
  /** The service to talk to. Throws `token_missing`, `usage_invalid`. */
  connect(): Promise<Client>;
  /** The connection in use, once there is one. */
  connection(): Connection | undefined;
};

export function createContext(io: Io, profile: () => string | undefined): Context {
  // stderr may be closed too; there is nobody left to tell.
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
      // Loaded here, so that --help and --version do not pay for them.
      const [{ findConnection }, { createClient }] = await Promise.all([
        import('./connection.ts'),
        import('./client.ts'),
      ]);
      connection = await findConnection(io, flag);
      return createClient(io, connection);
    },
  };
}
