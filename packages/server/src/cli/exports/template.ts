import { resolve } from 'node:path';
import { type TemplateName, templateNames } from '../../exports/values.ts';
import type { Context } from '../context.ts';
import { usage } from '../help.ts';

/** What `--template` takes, in words. */
export const templateWords = `${templateNames.join(', ')}, or @FILE with a JSON object (docs/templates.md)`;

/** A template by its name, or out of a file. */
export async function templateOf(
  { io }: Context,
  word: string | undefined,
): Promise<TemplateName | object | undefined> {
  if (word === undefined) return undefined;
  const name = templateNames.find((known) => known === word);
  if (name !== undefined) return name;
  if (!word.startsWith('@')) {
    throw usage(`There is no template ${word}. There are ${templateNames.join(', ')}, and @FILE.`);
  }
  const { readFile } = await import('node:fs/promises');
  const path = resolve(io.cwd, word.slice(1));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw usage(`The template cannot be read: ${error instanceof Error ? error.message : path}`);
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usage(`${path} is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw usage(`${path} has no JSON object.`);
}
