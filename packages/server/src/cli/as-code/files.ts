import { readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { readStdin } from '../confirm.ts';
import type { Context } from '../context.ts';
import { usage } from '../help.ts';
import { readText, unreadable } from '../upload.ts';
import { filledDelivery, secretsOf } from './delivery.ts';
import { type Kind, kinds, nameOf, type Row } from './kinds.ts';
import type { Resolve, Wanted } from './plan.ts';

const mostBytes = 32 * 1024 * 1024;

/** What files say, and a function that fills in what stands outside of them. */
export type Read = { readonly wanted: Wanted; readonly resolve: Resolve };

/**
 * Reads a file, all YAML files of a folder, or stdin (`-`). Throws `usage_invalid` for what is not as it should be, and
 * for a secret that stands in a file.
 */
export async function readFiles(context: Context, place: string): Promise<Read> {
  const { parseAllDocuments } = await import('yaml');
  const wanted = new Map<Kind, Row[]>();
  for (const { path, text } of await textsOf(context, place)) {
    for (const document of parseAllDocuments(text, { intAsBigInt: true })) {
      if (!('errors' in document)) continue;
      const [error] = document.errors;
      if (error !== undefined) throw usage(`${path}: ${error.message}`);
      const sections: unknown = document.toJS({ maxAliasCount: 100, reviver: asNumber }) ?? {};
      for (const [kind, row] of rowsOf(path, sections)) {
        const rows = wanted.get(kind) ?? [];
        if (rows.some((other) => nameOf(kind, other) === nameOf(kind, row))) {
          throw usage(`${path}: ${kind.one} ${nameOf(kind, row)} stands there twice`);
        }
        wanted.set(kind, [...rows, row]);
      }
      for (const kind of kinds.filter(({ section }) =>
        Object.hasOwn(sections as object, section),
      )) {
        wanted.set(kind, wanted.get(kind) ?? []);
      }
    }
  }
  const folder = place === '-' ? context.io.cwd : resolve(context.io.cwd, place);
  const isFolder = place !== '-' && (await stat(folder)).isDirectory();
  const base = place === '-' || isFolder ? folder : dirname(folder);
  const inOrder = kinds.flatMap((kind) => {
    const rows = wanted.get(kind);
    return rows === undefined ? [] : [[kind, rows] as const];
  });
  return {
    wanted: new Map(inOrder),
    resolve: (kind, row) => filledIn(context, base, { secret: kind.secret, row }),
  };
}

/** Integers are numbers, but for those that JavaScript's numbers cannot represent. */
function asNumber(_name: unknown, value: unknown): unknown {
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

async function textsOf(context: Context, place: string): Promise<{ path: string; text: string }[]> {
  if (place === '-') return [{ path: 'stdin', text: await readStdin(context, mostBytes) }];
  const path = resolve(context.io.cwd, place);
  try {
    if (!(await stat(path)).isDirectory()) return [{ path, text: await readText(path) }];
    const names = (await readdir(path)).filter((name) => /\.ya?ml$/.test(name)).sort();
    if (names.length === 0) throw usage(`${path} holds no file that ends in .yaml or .yml`);
    return await Promise.all(
      names.map(async (name) => ({
        path: join(path, name),
        text: await readText(join(path, name)),
      })),
    );
  } catch (cause) {
    throw cause instanceof AppError ? cause : unreadable(path, cause);
  }
}

function* rowsOf(path: string, sections: unknown): Generator<[Kind, Row]> {
  if (typeof sections !== 'object' || sections === null || Array.isArray(sections)) {
    throw usage(
      `${path}: it must have sections: ${kinds.map(({ section }) => section).join(', ')}`,
    );
  }
  for (const [section, rows] of Object.entries(sections)) {
    const kind = kinds.find((one) => one.section === section);
    if (kind === undefined) {
      const known = kinds.map((one) => one.section).join(', ');
      throw usage(`${path}: there is no section ${section}; there are ${known}`);
    }
    if (rows === null) continue;
    if (!Array.isArray(rows)) throw usage(`${path}: ${section} must be a list`);
    for (const [index, row] of rows.entries())
      yield [kind, readRow(kind, `${path}: ${section}[${index}]`, row)];
  }
}

function readRow(kind: Kind, at: string, given: unknown): Row {
  if (typeof given !== 'object' || given === null) throw usage(`${at} must be an object`);
  const row = kind.spell?.(given as Row) ?? (given as Row);
  const { key, fields, secret = [] } = kind;
  const known = [...key, ...Object.keys(fields), ...secret];
  const missing = key.find((name) => typeof row[name] !== 'string');
  if (missing !== undefined) throw usage(`${at}: ${missing} is missing, or is no text`);
  const unknown = Object.keys(row).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw usage(`${at}: there is no member ${unknown}; there are ${known.join(', ')}`);
  }
  const hidden = [
    ...secret.map((name) => row[name]),
    ...Object.values(row.headers ?? {}),
    ...secretsOf(row.delivery),
  ];
  if (hidden.some((value) => value !== undefined && !isReference(value))) {
    const where = '"@FILE" or "$' + '{NAME}" of the environment';
    throw usage(`${at}: secrets and values of headers do not stand in files, but as ${where}`);
  }
  return row;
}

const variable = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

function isReference(value: unknown): value is string {
  return typeof value === 'string' && (variable.test(value) || /^@./.test(value));
}

/** A row with the secrets filled in that stand in files of their own and in the environment. */
async function filledIn(
  context: Context,
  base: string,
  { secret = [], row }: { secret?: readonly string[] | undefined; row: Row },
): Promise<Row> {
  const members = Object.entries(row).map(async ([name, value]) => {
    if (secret.includes(name)) return [name, await textBehind(context, base, value)];
    const fill = (part: unknown) => textBehind(context, base, part);
    if (name === 'delivery') return [name, await filledDelivery(value, fill)];
    if (name !== 'headers') return [name, value];
    const headers = Object.entries((value ?? {}) as Row).map(
      async ([header, text]) => [header, await textBehind(context, base, text)] as const,
    );
    return [name, Object.fromEntries(await Promise.all(headers))];
  });
  return Object.fromEntries(await Promise.all(members));
}

async function textBehind({ io }: Context, base: string, value: unknown): Promise<unknown> {
  if (!isReference(value)) return value;
  const [, name] = variable.exec(value) ?? [];
  if (name !== undefined) {
    const found = io.env[name];
    if (found === undefined || found === '') throw usage(`${name} is not set in the environment.`);
    return found;
  }
  return (await readText(resolve(base, value.slice(1)))).trim();
}
