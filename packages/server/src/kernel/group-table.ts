import { type Preset, presets, type Scope, scopes } from './values.ts';

/** What the members of a group may do. `tenants` null means in all tenants. */
export type GroupRow = {
  readonly group: string;
  readonly scopes: readonly Scope[];
  readonly tenants: readonly string[] | null;
};

/**
 * Reads the table from groups to what their members may do, in its order. Throws an Error that says which row does not
 * fit: a mistyped one must not silently let in nobody, or more than was meant.
 */
export function readGroupTable(text: string): readonly GroupRow[] {
  const table = parseTable(text);
  if (Object.keys(table).length === 0) throw new Error('names no group');
  return Object.entries(table).map(([group, row]) => {
    const given = typeof row === 'string' ? { preset: row } : row;
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw new Error(`"${group}" is neither a preset nor an object with one`);
    }
    const { preset, scopes: named, tenants = null, ...others } = given as Record<string, unknown>;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) throw new Error(`"${group}" has ${unknown}, which means nothing`);
    if ((preset === undefined) === (named === undefined)) {
      throw new Error(`"${group}" must have either preset or scopes`);
    }
    return {
      group,
      scopes: named === undefined ? scopesOfPreset(group, preset) : knownScopes(group, named),
      tenants: tenants === null ? null : textsOf(tenants, `tenants of "${group}"`),
    };
  });
}

function parseTable(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('is not JSON such as {"ops":"admin"}');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('is not an object such as {"ops":"admin"}');
  }
  return value as Record<string, unknown>;
}

function scopesOfPreset(group: string, preset: unknown): readonly Scope[] {
  const names = Object.keys(presets) as Preset[];
  const found = names.find((name) => name === preset);
  if (found !== undefined) return presets[found];
  throw new Error(`"${group}": ${JSON.stringify(preset)} is not one of ${names.join(', ')}`);
}

function knownScopes(group: string, named: unknown): readonly Scope[] {
  return textsOf(named, `scopes of "${group}"`).map((name) => {
    const found = scopes.find((scope) => scope === name);
    if (found !== undefined) return found;
    throw new Error(`"${group}": "${name}" is not one of ${scopes.join(', ')}`);
  });
}

function textsOf(value: unknown, what: string): readonly string[] {
  const isList = Array.isArray(value) && value.length > 0;
  if (isList && value.every((each): each is string => typeof each === 'string' && each !== '')) {
    return [...new Set(value)];
  }
  throw new Error(`the ${what} are no list of texts`);
}
