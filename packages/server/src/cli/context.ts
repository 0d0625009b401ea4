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
    out: io.stdout.isTTY === true ? escaping(createWriter(io.stdout)) : createWriter(io.stdout),
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
      const { profile: name, url, passedBy } = connection;
      if (passedBy) {
        note(
          `note: this goes to ${url}, the default profile ${name}, and not to the service of ./data at ${passedBy}; for that one: SVC_DATA_DIR=data`,
        );
      }
      return createClient(io, connection);
    },
  };
}

/**
 * Writes characters that show nothing, break a line, steer the terminal or turn the direction of writing as JSON escapes
 * them. JSON means the same by it. Joiners and selectors of glyphs stay, without which emoji and some
 * scripts fall apart.
 */
function escaping(out: Writer): Writer {
  const hidden =
    /[\u007f-\u009f\u2028\u2029]|(?!\u200c|\u200d|[\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/gu;
  const spell = (character: string) =>
    Array.from({ length: character.length }, (_, unit) => {
      return `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`;
    }).join('');
  return {
    write: (chunk) => out.write(typeof chunk === 'string' ? chunk.replace(hidden, spell) : chunk),
    flush: () => out.flush(),
  };
}
