import { openMadeApp } from '../own-app.ts';
import { command } from '../verb.ts';

export const migrate = command({
  description:
    'Brings the schema of the database of the settings to this release, as a start of the service does, and ends: for installations where that is a step of its own, before the processes are replaced. It waits up to ten minutes for a database that does not answer. Processes of the previous release go on meanwhile; where one could not, it is named and nothing is changed.',
  examples: [
    'svcctl version --check-schema',
    'svcctl migrate',
    'DATABASE_URL=postgresql://svcctl@db/svcctl svcctl migrate',
  ],
  async act(context) {
    const { settings, app, log } = await openMadeApp(context);
    const { applied, schema } = await app.migrateOwnDatabase(settings, log, context.io.signal);
    const lines = [...applied.map((name) => `applied ${name}`), `schema ${schema}`];
    await context.out.write(`${lines.join('\n')}\n`);
  },
});
