import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import type { Context } from '../context.ts';
import { JsonText } from '../parse-answer.ts';

/**
 * The service takes at most 256 KiB by default. This limit only keeps a file that was named by mistake out of memory.
 */
const maxDataBytes = 32 * 1024 * 1024;

/** The JSON of an option. Throws `usage_invalid` unless it is JSON. */
export async function readJson(context: Context, option: string, data: string): Promise<JsonText> {
  const text = await readText(context, data);
  try {
    JSON.parse(text);
    return new JsonText(text);
  } catch (cause) {
    const hint = data.startsWith('@') || data === '-' ? '' : ' A file is named as @file.';
    throw new AppError('usage_invalid', {
      detail: `${option}: it is not JSON (${(cause as Error).message}).${hint}`,
    });
  }
}

/** The value of an option: `@file` reads a file, `-` reads stdin, anything else is the text itself. */
async function readText(context: Context, data: string): Promise<string> {
  if (data.startsWith('@')) {
    const path = resolve(context.io.cwd, data.slice(1));
    try {
      return await readFile(path, 'utf8');
    } catch (cause) {
      const detail = `${path} cannot be read: ${(cause as Error).message}.`;
      throw new AppError('file_unreadable', { detail, cause });
    }
  }
  if (data !== '-') return data;
  const { readStdin } = await import('../confirm.ts');
  return readStdin(context, maxDataBytes);
}
