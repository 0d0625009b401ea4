import { resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import type { Context } from '../context.ts';
import { JsonText } from '../parse-answer.ts';
import { readText } from '../upload.ts';

/**
 * The service takes at most 256 KiB by default. This limit only keeps a file that was named by mistake out of memory.
 */
const maxDataBytes = 32 * 1024 * 1024;

/** The JSON of an option. Throws `usage_invalid` unless it is JSON. */
export async function readJson(context: Context, option: string, data: string): Promise<JsonText> {
  const text = await textOf(context, data);
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
async function textOf(context: Context, data: string): Promise<string> {
  if (data.startsWith('@')) return readText(resolve(context.io.cwd, data.slice(1)));
  if (data !== '-') return data;
  const { readStdin } = await import('../confirm.ts');
  return readStdin(context, maxDataBytes);
}
