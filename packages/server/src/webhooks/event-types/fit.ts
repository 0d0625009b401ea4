import vm from 'node:vm';
import type * as schemas from 'typebox/schema';
import { invalidInput } from '../../kernel/errors.ts';
import { isDeeper } from '../../kernel/json-slices.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** What is wrong, and where: a JSON Pointer within the data. */
export type Misfit = { readonly path: string; readonly message: string };

const mostBytes = 32 * 1024;
const mostLevels = 32;
const mostTold = 5;
/** How long it may take to look at one report by its schema. Both come from others, and a `pattern` may take for ever. */
const budgetMillis = 50;

const dialects: Readonly<Record<string, keyof typeof schemas.Meta>> = {
  'https://json-schema.org/draft/2020-12/schema': 'https://json-schema.org/draft/2020-12/schema',
  'https://json-schema.org/draft/2019-09/schema': 'https://json-schema.org/draft/2019-09/schema',
  'http://json-schema.org/draft-07/schema#': 'http://json-schema.org/draft-07/schema#',
  'http://json-schema.org/draft-07/schema': 'http://json-schema.org/draft-07/schema#',
};

/**
 * Throws 400 `request_invalid` for what is no JSON Schema, is larger than any may be, or leads elsewhere by `$ref`, and
 * for a sample that does not fit it. Only the sample is looked at when there is no schema.
 */
export async function assertSchema(schema: JsonSchema | null, sample: unknown): Promise<void> {
  assertSize('/sample', sample ?? null);
  if (schema === null) return;
  assertSize('/schema', schema);
  const { $schema: dialect = 'https://json-schema.org/draft/2020-12/schema' } = schema;
  const known = dialects[String(dialect)];
  if (known === undefined) {
    throw invalidInput('/schema/$schema', `must be one of ${Object.keys(dialects).join(', ')}`);
  }
  for (const { path, name, value } of membersWithin(schema))
    assertMember(schema, path, name, value);
  const { Meta } = await import('typebox/schema');
  // The metaschema itself is ours, and takes longer than most.
  const within = createWithin();
  const meta = { schema: Meta[known] as JsonSchema, data: schema, millis: 20 * budgetMillis };
  const [fault] = (await misfitsOf(within, meta)) ?? [];
  if (fault !== undefined) throw invalidInput(`/schema${fault.path}`, fault.message);
  // Without a sample it shows at least whether the schema comes to an end.
  const misfits = await misfitsOf(within, { schema, data: sample ?? {} });
  if (misfits === null) {
    throw invalidInput('/schema', `takes longer than ${budgetMillis} ms, or has no end`);
  }
  const [misfit] = misfits;
  if (sample != null && misfit !== undefined) {
    throw invalidInput(`/sample${misfit.path}`, `does not fit the schema: ${misfit.message}`);
  }
}

function assertSize(path: string, value: unknown): void {
  const sizeBytes = Buffer.byteLength(JSON.stringify(value));
  if (sizeBytes > mostBytes) throw invalidInput(path, `has ${sizeBytes} bytes of ${mostBytes}`);
  if (isDeeper(value, mostLevels)) throw invalidInput(path, `has more than ${mostLevels} levels`);
}

/** Where a schema may lead is only within itself, and its patterns are patterns. */
function assertMember(schema: JsonSchema, path: string, name: string, value: unknown): void {
  const isAnchor = name === '$dynamicRef' || name === '$recursiveRef' || name === '$id';
  if (typeof value === 'string' && isAnchor) throw invalidInput(path, 'is not taken here');
  if (name === '$ref' && typeof value === 'string' && !isWithin(schema, value)) {
    throw invalidInput(path, 'must lead to a part of this schema, as #/$defs/…');
  }
  if (name === 'pattern' && typeof value === 'string') assertPattern(path, value);
  if (name === 'patternProperties' && typeof value === 'object' && value !== null) {
    for (const pattern of Object.keys(value)) assertPattern(path, pattern);
  }
}

function assertPattern(path: string, pattern: string): void {
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw invalidInput(path, 'is not a regular expression');
  }
}

/** Whether a JSON Pointer, as `#/$defs/place`, leads to something in the schema. */
function isWithin(schema: JsonSchema, reference: string): boolean {
  if (!/^#(\/|$)/.test(reference)) return false;
  let at: unknown = schema;
  for (const part of reference.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false;
    at = (at as Record<string, unknown>)[name];
  }
  return typeof at === 'object' || typeof at === 'boolean';
}

function* membersWithin(
  value: unknown,
  path = '/schema',
): Generator<{ path: string; name: string; value: unknown }> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    yield { path: at, name, value: member };
    yield* membersWithin(member, at);
  }
}

/** The first five misfits of some data; null: nobody knows, because it took too long. No code is made of the schema. */
export async function misfitsOf(
  within: Within,
  { schema, data, millis = budgetMillis }: { schema: JsonSchema; data: unknown; millis?: number },
): Promise<readonly Misfit[] | null> {
  const { Check, Errors } = await import('typebox/schema');
  const look = (): readonly Misfit[] => {
    if (Check(schema, data)) return [];
    const [, faults] = Errors(schema, data);
    return faults
      .filter(({ keyword }) => keyword !== 'boolean')
      .slice(0, mostTold)
      .map(({ instancePath: path, message }) => ({ path, message }));
  };
  try {
    return within(millis, look);
  } catch {
    // A time limit, or a schema that calls itself without an end.
    return null;
  }
}

/** Calls a function, and ends it by an error when its time is up, even within a regular expression. */
export type Within = <T>(millis: number, call: () => T) => T;

/** Makes a limit of time. It is worth keeping: to make it takes longer than to look at a report. */
export function createWithin(): Within {
  const context: { run: () => unknown } = { run: () => undefined };
  vm.createContext(context);
  const script = new vm.Script('run()');
  return <T>(millis: number, call: () => T) => {
    context.run = call;
    return script.runInContext(context, { timeout: millis }) as T;
  };
}
