import { findDocs, readRelease } from '../../config/release.ts';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { type App, openApp } from '../own-app.ts';
import { command } from '../verb.ts';

/** How the schema of the database stands to this release. */
type State = Awaited<ReturnType<App['checkOwnSchema']>>;

export const version = command({
  description:
    'Prints the version of this release, of Node, the schema that it makes (its last migration), and the folder of the documents that messages name as docs/…. With --check-schema also how the database of the settings stands to it. Nothing is changed.\n\nExit codes with --check-schema: 0 the database is as this release needs it, or of a newer release beside which this one works; 7 a start would migrate it; 6 this release cannot start on it.',
  examples: [
    'svcctl version',
    'svcctl version --check-schema',
    'DATABASE_URL=postgresql://svcctl@db/svcctl svcctl version --check-schema --json',
  ],
  options: [
    ['--check-schema', 'compare the database of the settings with this release'],
    ['--json', 'print JSON'],
  ],
  async act(context, { checkSchema, json }) {
    const app = await import('../../app.ts');
    const release = {
      version: readRelease(),
      node: process.version,
      schema: await app.newestMigration(),
      docs: findDocs(),
    };
    let state: State | null = null;
    if (checkSchema) {
      const { settings, log } = await openApp(context);
      state = await app.checkOwnSchema(settings, log);
    }
    if (json) {
      const told = state === null ? release : { ...release, database: state };
      await context.out.write(`${JSON.stringify(told, null, 2)}\n`);
    } else {
      const lines = [
        `svcctl ${release.version}`,
        `node ${release.node}`,
        `schema ${release.schema}`,
        `docs ${release.docs}`,
      ];
      if (state !== null)
        lines.push(`database ${state.database ?? 'none yet'}: ${describe(state)}`);
      await context.out.write(`${lines.join('\n')}\n`);
    }
    if (state !== null && state.problem !== null) {
      throw new AppError('schema_refused', { detail: state.problem });
    }
    if (state !== null && state.missing.length > 0) {
      throw new AppError('schema_older', { detail: describe(state) });
    }
  },
});

function describe({ missing, newer, problem }: State): string {
  if (problem !== null) return 'this release cannot start on it';
  if (newer.length > 0) return `of a newer release (${newer.join(', ')}), beside which this works`;
  if (missing.length === 0) return 'as this release needs it';
  return `a start would apply ${numberOf(missing.length, 'migration')}`;
}
