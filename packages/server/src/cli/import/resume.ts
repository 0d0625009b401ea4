import { appendFile, readFile } from 'node:fs/promises';
import { AppError } from '../../kernel/errors.ts';
import { usage } from '../help.ts';
import { unreadable } from '../upload.ts';
import type { FoundFile } from './find-files.ts';

/** How far earlier runs of an import came, as a file says it. */
export type Resume = {
  /** How many rows of a file were stored or rejected before; 0 when it is another file by now. */
  rowsOf(file: FoundFile): number;
  /** Notes that as many rows of a file were answered. */
  note(file: FoundFile, rows: number): Promise<void>;
};

/** A line of the file: rows of one that had this identity. */
type Line = { file: string; identity: string; rows: number };

/**
 * Reads the file that `--resume` names, which is made when it is not there. Its first line says how columns were mapped:
 * with another mapping the rows would be other records. A line that is not whole is what a kill left of it; what it told
 * is sent again. Throws `usage_invalid`, `file_unreadable`.
 */
export async function openResume(path: string, mapping: object): Promise<Resume> {
  const head = JSON.stringify(mapping);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw unreadable(path, error);
  });
  const append = async (line: string) => {
    await appendFile(path, line, { mode: 0o600 }).catch((error: unknown) => {
      throw new AppError('file_unreadable', {
        detail: `${path} cannot be written: ${(error as Error).message}.`,
        cause: error,
      });
    });
  };
  const [first = '', ...lines] = text.split('\n');
  if (text === '') await append(`${head}\n`);
  else if (first !== head) {
    throw usage(`--resume: ${path} is of an import with other options. Give another file.`);
  }
  // A line that was cut off ends here, so that the next one is whole.
  else if (!text.endsWith('\n')) await append('\n');
  const known = new Map<string, Line>();
  for (const line of lines) {
    const read = parseLine(line);
    if (read !== null) known.set(read.file, read);
  }
  return {
    rowsOf({ path: file, source }) {
      const line = known.get(file);
      return line?.identity === source.identity ? line.rows : 0;
    },
    note: ({ path: file, source: { identity } }, rows) =>
      append(`${JSON.stringify({ file, identity, rows } satisfies Line)}\n`),
  };
}

function parseLine(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Line>;
    return typeof line.file === 'string' && Number.isSafeInteger(line.rows) ? (line as Line) : null;
  } catch {
    return null;
  }
}
