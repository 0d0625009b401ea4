import { databaseFigures } from '../platform/postgres/figures.ts';
import { countUncopied } from './copy-queries.ts';

/** What the copies of the audit log tell in the metrics. */
export const accessFigures = databaseFigures({
  name: 'access',
  gauges: {
    svcctl_audit_uncopied: {
      help: 'Entries of the audit log that are yet to be copied or sent, for each place that they go to.',
      label: 'location',
    },
  },
  async read(db) {
    const rows = await countUncopied(db);
    return {
      svcctl_audit_uncopied: Object.fromEntries(rows.map((row) => [row.location, row.count])),
    };
  },
});
